"""Data sets by name, or from a user's file. A data set is one file of this folder: all of them are imported."""

from importlib import import_module
from pkgutil import iter_modules

from mase_hw.datasets.load import load_dataset
from mase_hw.datasets.registry import DataRequest, Dataset, Statistics, dataset_names, register

for _module in sorted(info.name for info in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")

__all__ = ["DataRequest", "Dataset", "Statistics", "dataset_names", "load_dataset", "register"]
