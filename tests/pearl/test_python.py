"""Versions of Python that PEARL does not run on."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import pearl

ROOT = Path(__file__).parents[2]
AS_ANOTHER = "import sys; sys.version_info = {version}; "


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 15, 0)])
def test_it_names_the_versions_it_needs(version):
    program = AS_ANOTHER.format(version=version) + "import pearl"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"pearl: PEARL needs Python 3.11 to 3.14; this is Python 3.{version[1]}.\n"


def test_the_package_says_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = SpecifierSet(project["requires-python"])
    good = [f"3.{minor}" for minor in range(20) if asked.contains(f"3.{minor}")]
    assert (good[0], good[-1]) == tuple(".".join(map(str, version)) for version in (pearl.OLDEST, pearl.NEWEST))
    assert [f"Programming Language :: Python :: {version}" for version in good] == project["classifiers"]


def test_make_stops_at_once(tmp_path):
    other = tmp_path / "python"
    other.write_text(f"""#!/bin/sh\nexec {sys.executable} -c "{AS_ANOTHER.format(version=(3, 9, 2))}$2"\n""")
    other.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    stamp = tmp_path / "venv" / "python.stamp"
    done = subprocess.run(
        ["make", f"PYTHON={other}", f"VENV={tmp_path / 'venv'}", stamp],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "PEARL needs Python 3.11 to 3.14; this is Python 3.9." in done.stderr
    assert "PYTHON=/usr/bin/python3." in done.stderr
    assert not stamp.exists()
