"""OpenVINO without its telemetry: as it comes, importing it reports to Google Analytics and writes to ~/intel."""

from __future__ import annotations

import sys
from typing import Any

absent: dict[str, Any] = sys.modules
absent.setdefault("openvino_telemetry", None)  # to OpenVINO as if it were not installed; it needs it for nothing

from openvino import Core, Model  # noqa: E402
from openvino import opset15 as ops  # noqa: E402

__all__ = ["Core", "Model", "ops"]
