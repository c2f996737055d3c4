"""OpenVINO without its telemetry, which on import reports to Google Analytics and writes to ~/intel.

Its converter of other libraries' models is left out as well, for loading it takes half as long as all the rest.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

absent: dict[str, Any] = sys.modules
# to OpenVINO as if they were not installed; it needs them for nothing
for module in ("openvino_telemetry", "openvino.tools.ovc"):
    absent.setdefault(module, None)

from openvino import Core, Model  # noqa: E402
from openvino import opset15 as ops  # noqa: E402

__all__ = ["Core", "Model", "integers", "ops"]


def integers(values: Any) -> Any:
    """Make an OpenVINO constant of 32-bit integers, such as indices, sizes and axes."""
    return ops.constant(np.asarray(values, np.int32))
