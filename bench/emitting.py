"""Start-up, and the stages of `mase-hw emit`."""

from __future__ import annotations

import sys
from pathlib import Path

from measure import REPEATS, Group, best, median, python, seconds
from models import DIGITS, JSC, LARGE, Model

COMMAND = "import sys; from mase_hw.cli import main; main(sys.argv[1:])"


def start_up() -> Group:
    """What a command costs before it does anything."""
    group = Group("start-up", "python -c 'import torch'", python("-c", "import torch"))
    group.add("python -c pass", python("-c", "pass"))
    for arguments in (["--help"], ["sim", "--help"], ["emit", "--help"]):
        group.add(f"mase-hw {' '.join(arguments)}", python("-c", COMMAND, *arguments))
    group.add("import mase_hw.simulate.check", python("-c", "import mase_hw.simulate.check"))
    group.add("import mase_hw.flow (with torch)", python("-c", "import mase_hw.flow"))
    return group


def emit(model: Model, folder: Path) -> Group:
    """The stages of one emit, against what plain torch does with the same model: make it, fill it, call it once."""
    path = model.write(folder)
    runs = [_stages(path, folder / "out") for _ in range(REPEATS + 1)][1:]  # the first warms torch up
    stages = median(runs)
    group = Group(f"emit: {model.name}", "torch: load and one forward pass", _torch(path))
    for name, taken in stages.items():
        group.add(name, taken)
    group.add("all stages", sum(stages.values()))
    group.add("whole process, `mase-hw emit`", python("-c", COMMAND, "emit", str(path), "--out", str(folder / "cli")))
    return group


def _stages(path: Path, out: Path) -> dict[str, float]:
    """`flow.emit`, stage by stage."""
    from mase_hw import flow
    from mase_hw.config_file import load_config
    from mase_hw.datasets import load_dataset
    from mase_hw.emit import write_build
    from mase_hw.models import input_shape
    from mase_hw.samples import run_samples

    taken: dict[str, float] = {}
    with seconds(taken, "config, data set, weights"):
        config = load_config(path)
        dataset = None
        if config.dataset is not None:
            dataset = load_dataset(config.dataset, config.base, config.seed, config.where("dataset"))
        module, _ = flow.load_weights(config)
    with seconds(taken, "graph, passes, hardware"):
        compiled = flow.compile_model(
            module,
            input_shape(module, dataset),
            quantize={**config.raw["passes"]["quantize"], "places": config.places},
            hardware={"config": config.hardware, "quantize": config.quantize},
            target_interval=config.target.target_interval,
            top=config.target.top,
        )
    samples = None
    if dataset is not None:
        with seconds(taken, "test split through software"):
            samples = run_samples(compiled.model, compiled.graph, compiled.layers, compiled.design, dataset)
    with seconds(taken, "templates and files"):
        write_build(out, compiled.design, dict(config.raw), samples)
    return taken


def _torch(path: Path) -> float:
    import torch

    from mase_hw import flow
    from mase_hw.config_file import load_config
    from mase_hw.models import input_shape, load_model

    config = load_config(path)
    state = {name: value.clone() for name, value in flow.load_weights(config)[0].state_dict().items()}

    def call() -> None:
        module = load_model(config.model, config.base).eval()
        module.load_state_dict(state)
        with torch.inference_mode():
            module(torch.zeros(1, *input_shape(module)))

    call()
    return best(call, loops=20)


def groups(folder: Path) -> list[Group]:
    """Every measurement of this file. Start-up comes first, while this process has not imported torch."""
    assert "torch" not in sys.modules
    return [start_up(), *(emit(model, folder / model.project) for model in (DIGITS, JSC, LARGE))]
