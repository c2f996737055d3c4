from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from pearl.cli.options import bundled, check_outputs, check_writable, write_json, write_text
from pearl.errors import InputError


def test_json_of_texts_that_no_json_can_hold(tmp_path):
    write_json(str(tmp_path / "r.json"), {"command": "a\udcff", "models": [{"model\ud800": ("b\udc00", None, 1.5)}]})
    assert json.loads((tmp_path / "r.json").read_text()) == {"command": "a?", "models": [{"model?": ["b?", None, 1.5]}]}


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(InputError, match="Is a directory"):
        write_json(str(tmp_path), {})
    for target, complaint in ((tmp_path / "no" / "r.json", "there is no folder"), (tmp_path, "that is a folder")):
        with pytest.raises(InputError, match=complaint):
            check_writable("--json", target)


def test_a_file_that_is_read_is_not_written(tmp_path):
    read, link = tmp_path / "read.jsonl", tmp_path / "link.jsonl"
    read.touch()
    link.symlink_to(read)
    for target in (read, link):
        with pytest.raises(InputError, match="is a file that is read; name another one"):
            check_writable("--out", target, [tmp_path / "none", read])
    check_writable("--out", tmp_path / "none", [tmp_path / "none", read])


def test_two_options_do_not_write_one_file(tmp_path):
    target, link = tmp_path / "r.json", tmp_path / "link.json"
    link.symlink_to(target)
    for pair in (("-", "-"), (str(target), target), (link, target)):
        with pytest.raises(InputError, match=r"^--json .*: is the file of --out; name another one\.$"):
            check_outputs({"--out": pair[0], "--page": None, "--json": pair[1]})
    check_outputs({"--out": target, "--json": "-", "--page": os.devnull, "--notes": os.devnull})


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path, text: write_json(str(path), {"n": text}), r"r\.html: File too large"),
        (lambda path, text: write_text("--html", path, text), r"--html .*r\.html: File too large"),
    ],
)
def test_a_file_that_cannot_be_finished_leaves_the_one_before(files_of_at_most, tmp_path, write, said):
    target = tmp_path / "r.html"
    write(target, "<p>süß</p>")
    before = target.read_text(encoding="utf-8")
    assert "süß" in before
    with files_of_at_most(100), pytest.raises(InputError, match=said):
        write(target, "2" * 1000)
    assert target.read_text(encoding="utf-8") == before
    assert list(tmp_path.iterdir()) == [target]


def test_what_holds_no_other_value_stands_on_one_line(tmp_path):
    value = {
        "n": 2,
        "rows": [{"gain": {"value": 1.5, "low": 1.0, "high": 2.0}, "bins": [1, 2, 3]}],
        "none": {},
        "é": [],
    }
    write_json(str(tmp_path / "result.json"), value)
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == (
        '{\n  "n": 2,\n  "rows": [\n    {\n      "gain": {"value":1.5,"low":1.0,"high":2.0},\n'
        '      "bins": [1,2,3]\n    }\n  ],\n  "none": {},\n  "é": []\n}\n'
    )


@dataclass(frozen=True)
class Brew:
    leaf: Annotated[str, typer.Option(help="Leaf to brew.")]
    minutes: Annotated[float, typer.Option(min=1.0, help="Minutes to wait.")] = 3.0
    milk: Annotated[bool, typer.Option("--milk", help="With milk.")] = False


@bundled
def pour(
    cup: str = typer.Option(..., help="Cup to fill."),
    brew: Brew = Brew("none"),
    times: int = typer.Option(1, help="Cups in all."),
) -> None:
    """Fill a cup."""
    typer.echo(f"{cup} {brew.leaf} {brew.minutes} {brew.milk} {times}")


def test_the_fields_of_a_record_are_options_of_a_command():
    app = typer.Typer()
    app.command()(pour)
    for words, said in (
        (["--cup", "blue", "--leaf", "mint"], "blue mint 3.0 False 1\n"),
        (["--minutes", "4", "--milk", "--leaf", "mint", "--cup", "red", "--times", "2"], "red mint 4.0 True 2\n"),
    ):
        ran = CliRunner().invoke(app, words)
        assert (ran.exit_code, ran.stdout) == (0, said)
    for words, complaint in (
        (["--cup", "blue"], "Missing option '--leaf'"),
        (["--cup", "blue", "--leaf", "mint", "--minutes", "0"], "--minutes"),
        (["--cup", "blue", "--leaf", "mint", "--brew", "x"], "No such option"),
    ):
        ran = CliRunner().invoke(app, words)
        assert ran.exit_code == 2
        assert complaint in ran.output
    text = CliRunner().invoke(app, ["--help"]).stdout
    assert [text.index(name) for name in ("--cup", "--leaf", "--minutes", "--milk", "--times")] == sorted(
        text.index(name) for name in ("--cup", "--leaf", "--minutes", "--milk", "--times")
    )
    assert "Fill a cup." in text
