from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pearl.errors import InputError
from service.hook.staged import staged_request


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text("[user]\nname = Ann Lee\nemail = ann@example.org\n")
    git(tmp_path, "init", "-q", "-b", "main", "kettle")
    return tmp_path / "kettle"


def git(repository, *arguments):
    subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True)


def stage(repository, **contents):
    for name, content in contents.items():
        path = repository / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(repository, "add", ".")


def test_the_facts_of_a_change(repository):
    stage(repository, pot="def pour(cup):\n    fill(cup)\n    wait(5)\n", lid="shut\n", gone="a\n", logo=b"\0\1")
    git(repository, "commit", "-q", "-m", "First")
    git(repository, "switch", "-q", "-c", "less-water")
    stage(
        repository,
        pot="def pour(cup):\n    fill(cup)\n    wait(2)\n",
        logo=b"\0\2",
        src__cup="",
        tea="Caf\xe9\n".encode("latin-1"),
    )
    (repository / "gone").unlink()
    (repository / "lid").chmod(0o755)
    git(repository, "add", ".")
    (repository / "pot").write_text("not staged\n")
    assert staged_request(repository) == (
        "gone, lid, logo, pot, src/cup, tea\n\n"
        "branch less-water\n"
        "gone: deleted, 1 line removed\n"
        "lid: changed\n"
        "logo: binary\n"
        "pot: 1 line added, 1 line removed\n"
        "src/cup: new file\n"
        "tea: new file, 1 line added\n\n"
        "gone\n@@\n-a\n\n"
        "pot\n@@ def pour(cup):\n     fill(cup)\n-    wait(5)\n+    wait(2)\n\n"
        "tea\n@@\n+Caf\N{REPLACEMENT CHARACTER}"
    )


def test_the_first_commit_and_one_on_no_branch(repository):
    stage(repository, pot="cups\n")
    assert staged_request(repository).startswith("pot\n\nbranch main\npot: new file")
    git(repository, "commit", "-q", "-m", "First")
    git(repository, "switch", "-q", "--detach")
    stage(repository, pot="two cups\n")
    assert staged_request(repository).startswith("pot\n\npot: 1 line added")


def test_a_huge_change_is_told_in_part_and_files_share_the_room(repository):
    stage(
        repository,
        lock="token = 1\n" * 100_000,
        minified="x" * 500_000,
        pot="two cups\n",
        **{f"z{n}": "" for n in range(20)},
    )
    request = staged_request(repository)
    assert request.startswith("lock, minified, pot, z0, z1, ")
    assert "lock: new file, 100,000 lines added\n" in request
    assert len(request) < 4_500
    assert "\n…\n\nminified\n" in request
    assert "z9" not in request
    assert request.count(" more\n") == 1


def test_names_and_contents_that_are_no_plain_text(repository):
    stage(repository, **{"odd\nname": "a\x00b", "b\ttab": "--- a\n+++ b\ndiff --git a/x b/x\n@@ -1 +1 @@\n"})
    request = staged_request(repository)
    assert "b\ttab: new file, 4 lines added\nodd\nname: new file, binary" in request
    assert request.endswith("b\ttab\n@@\n+--- a\n++++ b\n+diff --git a/x b/x\n+@@ -1 +1 @@")


def test_what_is_staged_nowhere_else_counts(repository):
    """Settings of the person's git that change what a diff looks like, or start programs, do not matter."""
    stage(repository, pot="two\n", **{".gitattributes": "pot diff=odd\n"})
    for key, value in (("diff.external", "false"), ("diff.odd.textconv", "false"), ("diff.noprefix", "true")):
        git(repository, "config", key, value)
    git(repository, "config", "color.diff", "always")
    assert staged_request(repository).endswith("pot\n@@\n+two")


def test_nothing_staged(repository):
    with pytest.raises(InputError, match="nothing is staged"):
        staged_request(repository)
    with pytest.raises(InputError, match="git diff"):
        staged_request(Path("/"))
