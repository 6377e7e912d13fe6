"""Every pass, `(graph, pass_args) -> (graph, info)`: analysis writes metadata, transforms change the graph."""

from mase_hw.passes.analysis.add_common_metadata import add_common_metadata_analysis_pass
from mase_hw.passes.analysis.add_hardware_metadata import add_hardware_metadata_analysis_pass
from mase_hw.passes.analysis.add_software_metadata import add_software_metadata_analysis_pass
from mase_hw.passes.analysis.count_bitops import count_bitops_analysis_pass
from mase_hw.passes.analysis.count_flops import count_flops_analysis_pass
from mase_hw.passes.analysis.init_metadata import init_metadata_analysis_pass
from mase_hw.passes.analysis.profile_statistics import profile_statistics_analysis_pass
from mase_hw.passes.analysis.report_graph import report_graph_analysis_pass
from mase_hw.passes.analysis.report_node_meta_param import report_node_meta_param_analysis_pass
from mase_hw.passes.analysis.summarize_quantization import summarize_quantization_analysis_pass
from mase_hw.passes.transform.calibrate import calibrate_transform_pass
from mase_hw.passes.transform.fuse_batch_norm import fuse_batch_norm_transform_pass
from mase_hw.passes.transform.prune import prune_transform_pass
from mase_hw.passes.transform.quantize import quantize_transform_pass
from mase_hw.passes.transform.redefine import redefine_linear_transform_pass, redefine_vgg_transform_pass
from mase_hw.passes.transform.remove_identity import remove_identity_transform_pass

__all__ = [
    "add_common_metadata_analysis_pass",
    "add_hardware_metadata_analysis_pass",
    "add_software_metadata_analysis_pass",
    "calibrate_transform_pass",
    "count_bitops_analysis_pass",
    "count_flops_analysis_pass",
    "fuse_batch_norm_transform_pass",
    "init_metadata_analysis_pass",
    "profile_statistics_analysis_pass",
    "prune_transform_pass",
    "quantize_transform_pass",
    "redefine_linear_transform_pass",
    "redefine_vgg_transform_pass",
    "remove_identity_transform_pass",
    "report_graph_analysis_pass",
    "report_node_meta_param_analysis_pass",
    "summarize_quantization_analysis_pass",
]
