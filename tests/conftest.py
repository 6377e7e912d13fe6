"""The tests' own modules (`support`, `graphs`) are importable from every folder of tests."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("support", "graphs")

# The same examples in every run: a red run can be run again. Searching for new ones is not what these tests are for.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# A shell starts what runs in its background with Ctrl-C ignored, and children inherit that. The tests that interrupt a
# command must not depend on how they were started.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
