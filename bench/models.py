"""The models that are measured, as a user would write them: a TOML, and a file with a class where it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

MLP = '''"""A network for 28 x 28 pixels."""
from torch import nn


class Mlp(nn.Sequential):
    input_shape = (784,)

    def __init__(self):
        super().__init__(
            nn.Linear(784, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
        )
'''

CONFIG = """model = "{model}"
project = "{project}"
seed = {seed}

[passes.quantize]
by = "type"
[passes.quantize.default.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
weight_width = 8
weight_frac_width = 4
bias_width = 8
bias_frac_width = 4

[hardware]
top = "{project}"
target_interval = {interval}
"""


@dataclass(frozen=True)
class Model:
    """A model to measure; `interval` is what the TOML asks for, or None for the digits example's own choice."""

    name: str
    project: str
    model: str
    interval: int | None
    vectors: int = 0  # of one simulation: some seconds' work

    def write(self, folder: Path, seed: int = 0) -> Path:
        """Its TOML. Another seed is another design of the same shape."""
        if self.interval is None:
            return EXAMPLES / "digits" / "model.toml"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mlp.py").write_text(MLP, encoding="utf-8")
        path = folder / f"{self.project}.toml"
        text = CONFIG.format(model=self.model, project=self.project, seed=seed, interval=self.interval)
        path.write_text(text, encoding="utf-8")
        return path


DIGITS = Model("digits", "digits", "digits-mlp", None, 4_000)
JSC = Model("jsc-s, interval 1", "jsc", "jsc-s", 1, 20_000)
JSC_FOLDED = Model("jsc-s, interval 32", "jsc32", "jsc-s", 32, 4_000)
LARGE = Model("784-128-64-10, interval 784", "mlp", "mlp.py:Mlp", 784)
