from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial

import pytest

from pearl.errors import InputError
from retriever.calibrated.artifact import MANIFEST
from training.files import alone_in, alone_with, check_file, check_place, check_replaceable, replaced

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


def test_one_run_at_a_time_in_a_folder(tmp_path):
    folder = tmp_path / "deep" / "work"
    with alone_in(folder, "work"):
        with pytest.raises(InputError, match=r"another run is computing there") as caught, alone_in(folder, "work"):
            pass
        assert (caught.value.param, caught.value.code) == ("work", "in_use")
    with alone_in(folder, "work"):  # given back
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


def test_one_run_at_a_time_with_a_file(tmp_path):
    file = tmp_path / "deep" / "out.replies"
    with alone_with(file, "out"):
        with pytest.raises(InputError, match=r"--out .*out\.replies: another run"), alone_with(file, "out"):
            pass
        with alone_with(file.with_name("other.replies"), "out"):
            pass
    assert not file.exists()


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


def test_a_folder_that_is_closed_is_refused_before_the_work(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    if os.access(tmp_path / "closed", os.W_OK):
        pytest.skip("whoever runs this may write everywhere")
    for check in (check_place, partial(check_file, inputs=())):
        with pytest.raises(InputError, match="nothing can be written in"):
            check("out", tmp_path / "closed" / "model")
