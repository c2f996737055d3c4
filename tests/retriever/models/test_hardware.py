from __future__ import annotations

from pathlib import Path

from retriever.models.hardware import has_tiles


def test_tiles_are_known_by_the_processors_flags(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("flags\t\t: fpu avx512_bf16 amx_bf16 amx_tile\n")
    assert has_tiles(file)
    file.write_text("flags\t\t: fpu avx512_bf16\n")
    assert not has_tiles(file)
    assert not has_tiles(tmp_path / "absent")
