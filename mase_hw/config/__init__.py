"""TOML to typed, frozen values. No torch is imported here."""

from mase_hw.config.hardware import (
    HardwareConfig,
    HardwareSpec,
    HardwareTarget,
    parse_hardware,
    parse_target,
)
from mase_hw.config.load import Config
from mase_hw.config.options import Option
from mase_hw.config.places import Places
from mase_hw.config.quantize import QuantizeConfig, QuantSpec, parse_quantize
from mase_hw.config.training import TrainingConfig

__all__ = [
    "Config",
    "HardwareConfig",
    "HardwareSpec",
    "HardwareTarget",
    "Option",
    "Places",
    "QuantSpec",
    "QuantizeConfig",
    "TrainingConfig",
    "parse_hardware",
    "parse_quantize",
    "parse_target",
]
