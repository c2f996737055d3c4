from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from service.hook.message import UNATTENDED, nobody_looks

SCRIPTS = {
    "nothing": "#!/bin/sh\n# the message stays as it is\nexit 0\n",
    "hands_on": '#!/bin/sh\ncat "$1" > seen\n',
    "opens": '#!/usr/bin/env bash\nexec vim "$@"\n',
    "program": "#!/usr/bin/env python3\nexit()\n",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_") or name in (*UNATTENDED, "VISUAL", "EDITOR")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name, content in SCRIPTS.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    "editor",
    [
        *(":", "true", "/bin/true", "cat", "cat >/dev/null", "true;", "true #", "touch", "sed -i s/a/b/"),
        *("env true", "LANG=C true", "exec true", "sh -c 'exit 0'", "bash -c : --", "echo hi && true"),
        *("code", "code -n", "subl", "gvim", "xdg-open", "nothing", "sh ~/nothing"),
        *("cat >&2", "ls -l", "vim -es", "vim -c wq", "vi +x", "python3 -c pass", "emacs -batch"),
    ],
)
def test_programs_that_show_a_draft_to_nobody(repository: Path, editor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_EDITOR", editor)
    assert nobody_looks(repository)


@pytest.mark.parametrize(
    "editor",
    [
        *("vi", "nano", "emacs -nw", "code --wait", "code -n -w", "subl -nw", "gvim -f", "'/opt/An Editor/ed' -x"),
        *(
            "stty sane && vim",
            "sh -c 'vim \"$1\"' --",
            "vim 'no end",
            "opens",
            "hands_on",
            "cat >/tmp/seen",
            "vim -c startinsert",
            "python3 editor.py",
            "sh ~/opens",
            "program",
            "no-such-program",
        ),
    ],
)
def test_editors_that_stay_open(repository: Path, editor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_EDITOR", editor)
    assert not nobody_looks(repository)


def test_the_editor_is_the_one_that_git_would_open(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "true")
    assert nobody_looks(repository)
    subprocess.run(["git", "-C", repository, "config", "core.editor", "vim"], check=True)
    assert not nobody_looks(repository)
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.editor'='true'")  # git -c core.editor=true commit
    assert nobody_looks(repository)


@pytest.mark.parametrize(
    ("name", "value", "unattended"), [("CI", "true", True), ("CI", "false", False), ("TF_BUILD", "True", True)]
)
def test_nobody_sits_before_a_service_that_builds(
    repository: Path, name: str, value: str, unattended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_EDITOR", "vim")
    monkeypatch.setenv(name, value)
    assert nobody_looks(repository) is unattended
