#!/bin/sh
# From a file with a model to a Vivado project and a FuseSoC core: sh examples/newcomer/run.sh [FOLDER]
# It needs the extras train, axis and export, and an activated environment. FOLDER (newcomer) must not exist.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-newcomer}
mkdir "$folder"
cp "$here/net.py" "$folder"
cd "$folder"

# 1. A TOML for the model: 8 bits, the digits, a vector every 128 cycles, an AXI4-Stream top.
mase-hw new net.toml --model net.py:Net --data digits --width 8 --interval 128 --interface axis --yes

# 2. Train through the quantizers, and name the result in the TOML: the line is there, as a comment.
mase-hw train --config net.toml --learning-rate 1e-2
sed -i.bak 's/^# load_name/load_name/' net.toml

# 3. RTL, simulated against the software: the design, its components, and the AXI4-Stream ports.
mase-hw emit net.toml
mase-hw sim build/net

# 4. All of it on one page: build/net/report/index.html.
mase-hw report build/net

# 5. To the next tool: a Vivado project, a FuseSoC core, and a model for the host's program.
mase-hw export build/net --to vivado --part xc7z020clg400-1 --clock 100
mase-hw export build/net --to fusesoc --clock 100
mase-hw export build/net --to python
