"""A build for other tools: vendors' projects, a FuseSoC core, an IP-XACT component, models for a host program."""

from mase_hw.export.targets import TARGETS, ExportRequest, export

__all__ = ["TARGETS", "ExportRequest", "export"]
