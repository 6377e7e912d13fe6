"""What a build is and what was found out about it: a document, an HTML page, a picture, a summary in a terminal."""

from mase_hw.report.document import document
from mase_hw.report.page import render_page

__all__ = ["document", "render_page"]
