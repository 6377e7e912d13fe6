"""Trains the 64-32-16-10 network on scikit-learn's digits and writes digits.safetensors beside this file.

Run it as `python examples/digits/train.py`; some ten seconds on one core. Same seed, same weights.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from safetensors.torch import save_file
from torch import Tensor, nn

from mase_hw.datasets import Dataset, load_dataset
from mase_hw.models import get_model

HERE = Path(__file__).resolve().parent


def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """The share of samples whose largest score is at their label."""
    model.eval()
    with torch.no_grad():
        return float((model(x).argmax(dim=1) == y).float().mean())


def train(data: Dataset, epochs: int, batch_size: int, learning_rate: float, seed: int) -> nn.Module:
    """Adam with a one-cycle rate; the images are shifted by up to a pixel, because there are few of them."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    model = get_model("digits-mlp")
    x, y = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)
    x_val, y_val = torch.from_numpy(data.x_val), torch.from_numpy(data.y_val)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=1e-2)
    steps = len(x) // batch_size
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=epochs * steps)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("training", total=epochs)
        for _ in range(epochs):
            model.train()
            for batch in torch.randperm(len(x))[: steps * batch_size].split(batch_size):
                loss = nn.functional.cross_entropy(model(_shifted(x[batch])), y[batch], label_smoothing=0.05)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
            said = f"loss {loss.item():.3f}  validation {accuracy(model, x_val, y_val):.1%}"
            progress.update(bar, advance=1, description=said)
    return model


def _shifted(x: Tensor) -> Tensor:
    """Half of the time, the whole batch one pixel to a side; what moves out is lost, zeros come in."""
    if torch.rand(()) < 0.5:
        return x
    padded = nn.functional.pad(x.view(-1, 8, 8), (1, 1, 1, 1))
    down, right = torch.randint(0, 3, (2,)).tolist()
    return padded[:, down : down + 8, right : right + 8].reshape(-1, 64)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--epochs", type=int, default=150)
    options.add_argument("--batch-size", type=int, default=64)
    options.add_argument("--learning-rate", type=float, default=1e-2)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=HERE / "digits.safetensors")
    chosen = options.parse_args()
    torch.set_num_threads(1)  # sums in one order: the same weights on every run
    data = load_dataset("digits", HERE, chosen.seed)
    model = train(data, chosen.epochs, chosen.batch_size, chosen.learning_rate, chosen.seed)
    tested = accuracy(model, torch.from_numpy(data.x_test), torch.from_numpy(data.y_test))
    print(f"test accuracy {tested:.2%} on {len(data.x_test)} digits")
    save_file(model.state_dict(), chosen.out)
    print(f"wrote {chosen.out}")


if __name__ == "__main__":
    main()
