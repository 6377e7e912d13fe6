"""Constant matrices as shared shift-and-add graphs: found, encoded in exact widths, cut into pipeline stages."""

from mase_hw.adders.encode import Encoding, encode
from mase_hw.adders.graph import Add, AdderGraph, Output
from mase_hw.adders.solve import SOLVER_SECONDS, Solution, solve
from mase_hw.adders.stages import ADDERS_PER_STAGE, Pipeline, pipeline

__all__ = [
    "ADDERS_PER_STAGE",
    "SOLVER_SECONDS",
    "Add",
    "AdderGraph",
    "Encoding",
    "Output",
    "Pipeline",
    "Solution",
    "encode",
    "pipeline",
    "solve",
]
