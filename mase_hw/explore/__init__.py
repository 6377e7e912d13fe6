"""Every design that pays: the Pareto front of size against interval."""

from mase_hw.explore.front import Explored, Point, explore

__all__ = ["Explored", "Point", "explore"]
