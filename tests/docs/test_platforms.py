"""docs/platforms.py: which wheels fit which platform, on made-up packages."""

from __future__ import annotations

from typing import Any

import pytest
from platforms import PLATFORMS, support

ANY = "tea-1.0-py3-none-any.whl"


def package(*wheels: str, **more: Any) -> dict[str, Any]:
    return {"name": "tea", "wheels": [{"url": f"https://files.example/{wheel}"} for wheel in wheels], **more}


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ([package(ANY)], {}),
        ([package()], dict.fromkeys((platform.name for platform in PLATFORMS), "tea")),
        ([package(), package(ANY, name="cup")], dict.fromkeys((platform.name for platform in PLATFORMS), "tea")),
        ([package(marker="sys_platform == 'win32'")], {"Windows x86_64": "tea"}),
        ([package(marker="python_version > '3.14'")], {}),
        (
            [package("tea-1.0-cp311-abi3-manylinux_2_28_x86_64.whl", "tea-1.0-cp39-abi3-win_amd64.whl")],
            {"Linux x86_64": "glibc 2.28", **dict.fromkeys(("Linux aarch64", "macOS arm64", "macOS x86_64"), "tea")},
        ),
        (
            [package("tea-1.0-cp311-abi3-macosx_14_0_universal2.whl", "tea-1.0-py3-none-manylinux2014_aarch64.whl")],
            {"macOS arm64": "macOS 14", "macOS x86_64": "macOS 14", "Linux x86_64": "tea", "Windows x86_64": "tea"},
        ),
    ],
)
def test_what_is_missing_where(packages: list[dict[str, Any]], expected: dict[str, str]) -> None:
    found = {}
    for platform in PLATFORMS:
        first, *others = support(packages, platform)
        assert all(other | {"python": "3.11"} == first for other in others)
        found[platform.name] = ", ".join([*first["missing"], *filter(None, [first["from"]])])
    assert found == {platform.name: expected.get(platform.name, "") for platform in PLATFORMS}


def test_a_wheel_of_one_python() -> None:
    linux = support([package("tea-1.0-cp312-cp312-manylinux2014_x86_64.whl")], PLATFORMS[0])
    assert [each["missing"] for each in linux] == [["tea"], [], ["tea"], ["tea"]]
