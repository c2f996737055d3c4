from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from retriever.calibrated.artifact import MANIFEST
from training.files import alone_in, alone_with, check_file, check_replaceable, replaced

IN_IT = "the command runs in this folder, and replaces it; change to another one."


def test_a_folder_takes_the_others_place(tmp_path):
    target = tmp_path / "deep" / "model"
    for number in (1, 2):
        with replaced(target) as folder:
            (folder / f"file{number}").write_text("new")
        assert [path.name for path in target.iterdir()] == [f"file{number}"]
    assert [path.name for path in target.parent.iterdir()] == ["model"]


def test_a_link_to_a_folder_stays(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "model").symlink_to(tmp_path / "disk" / "model")
    for number in (1, 2):
        with replaced(tmp_path / "model") as folder:
            (folder / f"file{number}").write_text("new")
        assert (tmp_path / "model").is_symlink()
        assert [path.name for path in (tmp_path / "disk" / "model").iterdir()] == [f"file{number}"]
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["model"]


def test_what_was_there_stays_when_something_goes_wrong(tmp_path):
    target = tmp_path / "model"
    with replaced(target) as folder:
        (folder / "file").write_text("before")

    def interrupted() -> None:
        with replaced(target) as folder:
            (folder / "half").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in target.iterdir()] == ["file"]
    with replaced(target) as folder:
        assert list(folder.iterdir()) == []


def test_what_may_be_replaced(tmp_path, make_artifact):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "new", make_artifact()):
        check_replaceable(folder, tmp_path / "work")


def test_a_model_of_another_kind_is_not_replaced(tmp_path, make_artifact):
    retriever, reward = make_artifact(), tmp_path / "reward"
    reward.mkdir()
    (reward / MANIFEST).write_text('{"kind": "reward"}')
    check_replaceable(reward, tmp_path / "work", "reward")
    for folder, kind, held in ((retriever, "reward", "retriever"), (reward, "retriever", "reward")):
        with pytest.raises(InputError, match=rf"holds a model of another kind \({held}\); name another folder"):
            check_replaceable(folder, tmp_path / "work", kind)
    (reward / MANIFEST).write_text("half a mani")
    check_replaceable(reward, tmp_path / "work")


def test_what_may_not(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("Dear Ann,")
    for folder in (tmp_path / "letters", tmp_path / "letters" / "mine.txt"):
        with pytest.raises(InputError, match="name a"):
            check_replaceable(folder, tmp_path / "work")
    for work in (tmp_path / "new", tmp_path / "new" / "work"):
        with pytest.raises(InputError, match="which is replaced"):
            check_replaceable(tmp_path / "new", work)


def test_the_folder_that_the_command_runs_in_is_not_replaced(tmp_path, train, monkeypatch):
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path / "model")
    for out in (".", tmp_path / "model"):
        ran = train("reward", data="none.json", out=out)
        assert (ran.status, ran.err) == (2, f"pearl: {out}: {IN_IT}\n")


@pytest.mark.parametrize("alone", [alone_in, alone_with])
def test_one_run_at_a_time(tmp_path, alone):
    place = tmp_path / "deep" / "work"
    with alone(place, "work"):
        with pytest.raises(InputError, match=r"--work .*work: another run is computing there"):
            alone(place, "work").__enter__()
        with alone(place.with_name("other"), "work"):
            pass
    assert place.exists() == (alone is alone_in)
    with alone(place, "work"):  # given back
        pass


def test_a_run_that_was_killed_holds_nothing(tmp_path):
    program = f"""
import os, signal
from pathlib import Path
from training.files import alone_in
with alone_in(Path({str(tmp_path)!r}), "work"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    with alone_in(tmp_path, "work"):
        pass


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"--work .*: cannot be used"), alone_in(tmp_path / "file", "work"):
        pass


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("in the way")
    check_file("out", tmp_path / "not" / "there" / "yet.parquet", ())
    check_file("out", tmp_path / "file", ())
    for path, said in (
        (tmp_path, "that is a folder"),
        (tmp_path / "file" / "out.parquet", f"{tmp_path / 'file'} is a file"),
        (tmp_path / "file" / "deep" / "out.parquet", f"{tmp_path / 'file'} is a file"),
    ):
        with pytest.raises(InputError, match=said):
            check_file("out", path, ())
    with pytest.raises(InputError, match="is a file that is read"):
        check_file("out", tmp_path / "file", [tmp_path / "file"])
    with pytest.raises(InputError, match=r"--out .*model: .*file is a file"):
        check_replaceable(tmp_path / "file" / "model", tmp_path / "work")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("requests --history h.jsonl --out h.jsonl", "--out h.jsonl: is a file that is read; name another one."),
        ("requests --history none.jsonl --out folder", "--out folder: that is a folder; name a file."),
        ("requests --history none.jsonl --out h.jsonl/out", "--out h.jsonl/out: {}/h.jsonl is a file; name another "),
        ("requests --history h.jsonl --out o --json o", "--json o: is the file of --out; name another one."),
        ("requests --history none.jsonl --out o", "none.jsonl: cannot be read"),
        ("score --history none.jsonl --out folder", "--out folder: that is a folder; name a file."),
        ("score --history none.jsonl --out h.jsonl/out", "--out h.jsonl/out: {}/h.jsonl is a file; name another "),
        ("score --history none.jsonl --out o --gains folder", "--gains folder: that is a folder; name a file."),
        ("score --history none.jsonl --out o --gains ./o", "--gains o: is the file of --out; name another one."),
        ("select --scores h.jsonl --out h.jsonl", "--out h.jsonl: is a file that is read; name another one."),
        ("select --scores h.jsonl --out no/groups", "--out no/groups: there is no folder no."),
        ("select --scores h.jsonl --out o --json folder", "--json folder: that is a folder; name a file."),
        ("select --scores h.jsonl --out o --json o", "--json o: is the file of --out; name another one."),
        ("requests --history h.jsonl --out busy", "--out busy.replies: another run is computing there; wait for its "),
        ("score --history h.jsonl --out busy.parquet", "--out busy.parts: another run is computing there; wait for "),
        ("retriever --history h.jsonl --work busy.work --out o", "--work busy.work: another run is computing there"),
        ("fit --history h.jsonl --work busy.work --out o", "--work busy.work: another run is computing there; wait "),
    ],
)
def test_each_command_refuses_what_it_cannot_write_before_the_work(
    train, writings, write_lines, causal_folder, sentence_folder, tmp_path, monkeypatch, words, said
):
    write_lines(writings(["ann"]), "h.jsonl")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    command, *words = words.split()
    small = ["targets=2"] if command == "score" else ["first_stage_only=yes", f"encoder={sentence_folder}"]
    told: dict[str, Any] = {
        "requests": {"llm": "embedded"},
        "score": {"aux": causal_folder, "choose": small},
        "select": {},
    }.get(command, {"choose": small})
    here = Path()
    with (
        alone_with(here / "busy.replies", "out"),
        alone_in(here / "busy.parts", "out"),
        alone_in(here / "busy.work", "work"),
    ):
        before = {path.name for path in tmp_path.iterdir()}
        ran = train(command, *words, **told)
        assert {path.name for path in tmp_path.iterdir()} == before
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith(f"pearl: {said.format(tmp_path)}")
