"""Every pass, `(graph, pass_args) -> (graph, info)`: analysis writes metadata, transforms change the graph."""

from mase_hw.passes.analysis.add_common_metadata import add_common_metadata_analysis_pass
from mase_hw.passes.analysis.add_hardware_metadata import add_hardware_metadata_analysis_pass
from mase_hw.passes.analysis.add_software_metadata import add_software_metadata_analysis_pass
from mase_hw.passes.analysis.init_metadata import init_metadata_analysis_pass
from mase_hw.passes.analysis.report_graph import report_graph_analysis_pass
from mase_hw.passes.transform.fuse_batch_norm import fuse_batch_norm_transform_pass
from mase_hw.passes.transform.quantize import quantize_transform_pass
from mase_hw.passes.transform.remove_identity import remove_identity_transform_pass

__all__ = [
    "add_common_metadata_analysis_pass",
    "add_hardware_metadata_analysis_pass",
    "add_software_metadata_analysis_pass",
    "fuse_batch_norm_transform_pass",
    "init_metadata_analysis_pass",
    "quantize_transform_pass",
    "remove_identity_transform_pass",
    "report_graph_analysis_pass",
]
