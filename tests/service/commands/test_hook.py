from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pearl.cli.main import main
from pearl.models.weights.table import DEFAULT
from service.hook.message import UNATTENDED

HELP = b"\n# Please enter the commit message for your changes.\n#\n# On branch main\n"
DRAFT = "Boil less water\n\nNobody drinks five, so two cups will do.\n#2 is mended."
NOTE = "# PEARL drafted this message from the staged change. Edit it, or delete it to abort the commit."


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """A folder to copy: Ann's repository, her history of its one commit, and an editor."""
    folder = tmp_path_factory.mktemp("ready")
    (folder / "home").mkdir()
    shutil.copy(sqlite_template, folder / "home" / "pearl.db")
    (folder / ".gitconfig").write_text("[user]\nname = Ann Lee\nemail = ann@example.org\n")
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\ncp "$1" ../seen\n[ -s ../says ] && cat ../says > "$1"\nexit 0\n')
    editor.chmod(0o755)
    repository = folder / "kettle"
    repository.mkdir()
    (repository / "pot.c").write_text("int cups = 5;\n")
    with pytest.MonkeyPatch.context() as patch:
        set_apart(patch, folder)
        git("init", "-q", "-b", "main")
        git("add", ".")
        git("commit", "-q", "-m", "Heat the pot first\n\nA cold pot cools the tea.")
        patch.setattr(sys, "argv", ["pearl", "import", "git", ".", "--user", "ann", "--voice", "commits"])
        with suppress(SystemExit):
            main()
    return folder


def set_apart(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Run in the folder's repository, with its home and no configuration of git but its own."""
    for name in [name for name in os.environ if name.startswith("GIT_") or name in UNATTENDED]:
        patch.delenv(name)
    homes = {"HOME": str(folder), "PEARL_HOME": str(folder / "home")}
    for name, value in {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **homes}.items():  # git in English
        patch.setenv(name, value)
    patch.chdir(folder / "kettle")


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def ann(ready: Path, tmp_path: Path, own_home: Path, endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ann in her repository; a change of pot.c is staged."""
    shutil.copytree(ready, tmp_path, dirs_exist_ok=True, symlinks=True)
    set_apart(monkeypatch, tmp_path)
    monkeypatch.setenv("GIT_EDITOR", str(tmp_path / "editor"))
    endpoint.text = DRAFT
    Path("pot.c").write_text("int cups = 2;\n")
    git("add", ".")


@pytest.fixture
def message() -> Path:
    path = Path(".git/COMMIT_EDITMSG")
    path.write_bytes(HELP)
    return path


def test_git_commit_opens_with_a_draft_above_its_help(command: Any, ann: None, endpoint: Any) -> None:
    ran = command("hook", "install")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.endswith("/kettle/.git/hooks/prepare-commit-msg: drafts for ann from the voice 'commits'.\n")
    git("reset", "-q")
    git("commit", "-a", "--verbose", "--signoff")  # git stages the change in an index of this commit's own
    seen = Path("../seen").read_text()
    signed = "Signed-off-by: Ann Lee <ann@example.org>"
    drafted = DRAFT.replace("\n#2", "\n #2")  # else git takes it for a comment
    assert seen.startswith(f"{drafted}\n\n{signed}\n\n{NOTE}\n#\n# Please enter")
    assert seen.endswith("-int cups = 5;\n+int cups = 2;\n")  # below the cut
    assert git("log", "-1", "--format=%B").strip() == f"{drafted}\n\n{signed}"
    *_, sample, answer, task = endpoint.requests[0]["messages"]
    assert sample["content"] == "Write one of the author's commit messages."
    assert answer["content"] == "<document>\nHeat the pot first\n\nA cold pot cools the tea.\n</document>"
    facts = "pot.c\n\nbranch main\npot.c: 1 line added, 1 line removed\n\npot.c\n@@\n-int cups = 5;\n+int cups = 2;"
    assert f"<request>\n{facts}\n</request>" in task["content"]


def test_the_server_of_the_home_drafts_the_same(
    command: Any, ann: None, endpoint: Any, message: Path, serve_home: Any
) -> None:
    assert command("hook", "run", message).err == ""
    here = message.read_bytes()
    message.write_bytes(HELP)
    serve_home()
    assert command("hook", "run", message).err == ""
    assert message.read_bytes() == here
    assert endpoint.requests[0]["messages"] == endpoint.requests[1]["messages"]


def test_a_draft_that_was_committed_is_no_sample_of_its_author(command: Any, ann: None, message: Path) -> None:
    again = ("import", "git", ".", "--user", "ann", "--subjects", "--voice", "commits", "--json", "-")
    git("commit", "-q", "--date", "2020-01-01T00:00:00Z", "-m", DRAFT)  # the draft may have copied it
    Path("pot.c").write_text("int cups = 1;\n")
    git("add", ".")
    message.write_bytes(HELP)
    assert command(*again).json["left_out"] == {}
    assert command("hook", "run", message).err == ""
    git("commit", "-q", "-m", DRAFT.replace("so two", "and two"))
    git("commit", "-q", "--allow-empty", "-m", "Boil less water")
    git("commit", "-q", "--allow-empty", "-m", DRAFT.replace("Boil less water", "Save some gas"))
    git("commit", "-q", "--allow-empty", "-m", "Boil less water\n\nMy own reasons are quite other ones.")
    summary = command(*again).json
    assert (summary["imported"], summary["already_there"]) == (1, 2)
    assert summary["left_out"] == {"mostly a draft of PEARL's": 3}


def test_git_dates_a_commit_before_its_draft_is_written(command: Any, ann: None, message: Path) -> None:
    Path("pot.c").write_text("int cups = 1;\n")
    git("add", ".")
    message.write_bytes(HELP)
    began = int(time.time())
    assert command("hook", "run", message).err == ""
    git("commit", "-q", "--date", f"@{began - 20}", "-m", DRAFT)
    summary = command("import", "git", ".", "--user", "ann", "--subjects", "--voice", "commits", "--json", "-").json
    assert (summary["imported"], summary["left_out"]) == (0, {"mostly a draft of PEARL's": 1})


def test_a_model_that_does_not_answer_in_time_stops_no_commit(command: Any, ann: None, endpoint: Any) -> None:
    assert command("hook", "install", "--user", "ann", "--time-limit", "1").status == 0
    Path("../says").write_text("Mine\n")
    endpoint.go_on.clear()
    said = git("commit")
    assert "pearl: no draft: it took longer than 1 s; give `pearl hook install` a longer --time-limit.\n" in said
    assert Path("../seen").read_text().startswith("\n# Please enter the commit message")
    assert git("log", "-1", "--format=%B").strip() == "Mine"


def test_commits_that_have_a_message_are_not_drafted(
    command: Any, ann: None, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("hook", "install").status == 0
    Path("../template").write_text("Why:\n")
    Path("../says").write_text("Mine\n")
    git("commit", "-m", "Boil less")
    git("commit", "--amend")
    git("commit", "--allow-empty", "--fixup", "HEAD")
    git("commit", "--allow-empty", "--template", "../template")
    git("switch", "-q", "-c", "side", "HEAD~1")
    git("commit", "--allow-empty", "-m", "Aside")
    git("merge", "--no-ff", "main")
    git("commit", "--allow-empty", "-C", "HEAD~1")
    git("rebase", "-q", "--force-rebase", "HEAD~1")
    monkeypatch.setenv("PEARL_NO_DRAFT", "1")
    git("commit", "--allow-empty")
    assert Path("../seen").read_text().startswith("\n# Please enter")
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        ((), {"GIT_EDITOR": "true"}),
        (("-c", "core.editor=cat >/dev/null"), {}),
        ((), {"VISUAL": "/bin/true"}),
        ((), {"GIT_EDITOR": "code"}),
        ((), {"CI": "true"}),
    ],
)
def test_a_draft_that_nobody_would_see_is_not_committed(
    command: Any, ann: None, endpoint: Any, monkeypatch: pytest.MonkeyPatch, words: Any, environment: dict[str, str]
) -> None:
    assert command("hook", "install").status == 0
    for name in ("GIT_EDITOR", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    Path("../code").write_text("#!/bin/sh\n(sleep 0.1) &\n")  # it leaves its window open
    Path("../code").chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path('..').resolve()}{os.pathsep}{os.environ['PATH']}")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("EDITOR", str(Path("../editor").resolve()))
    monkeypatch.setenv("TERM", "xterm")  # without it git does not look at VISUAL
    before = git("rev-parse", "HEAD")
    done = subprocess.run(["git", *words, "commit"], capture_output=True, text=True, check=False)
    assert (done.returncode, "Aborting commit due to empty commit message" in done.stderr) == (1, True)
    assert git("rev-parse", "HEAD") == before
    no_editor = subprocess.run(["git", "commit", "--no-edit"], capture_output=True, text=True, check=False)
    assert (no_editor.returncode, git("rev-parse", "HEAD")) == (1, before)
    assert endpoint.requests == []


def test_commits_that_a_rebase_makes_are_not_drafted(
    command: Any, ann: None, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("hook", "install").status == 0
    git("commit", "-m", "Boil less")
    monkeypatch.setenv("GIT_SEQUENCE_EDITOR", "sed -i s/^pick/reword/")
    Path("../says").write_text("Boil much less\n")
    git("rebase", "-q", "-i", "HEAD~1")
    assert git("log", "-1", "--format=%B").strip() == "Boil much less"
    assert endpoint.requests == []


@pytest.mark.parametrize("name", ["rebase-merge", "CHERRY_PICK_HEAD"])
def test_no_draft_while_git_makes_commits_by_itself(
    command: Any, ann: None, endpoint: Any, message: Path, name: str
) -> None:
    Path(".git", name).mkdir()
    ran = command("hook", "run", message)
    assert (ran.status, ran.out, ran.err, message.read_bytes()) == (0, "", "", HELP)
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("words", "environment"),
    [(("message",), {}), (("commit", "HEAD"), {}), ((), {"GIT_EDITOR": ":"}), ((), {"PEARL_NO_DRAFT": "1"})],
)
def test_no_draft_where_nobody_wants_one(
    command: Any,
    ann: None,
    endpoint: Any,
    message: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    environment: dict[str, str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ran = command("hook", "run", message, *words)
    assert (ran.status, ran.out, ran.err, message.read_bytes()) == (0, "", "", HELP)
    assert endpoint.requests == []


def test_a_message_that_somebody_wrote_stays(command: Any, ann: None, endpoint: Any, message: Path) -> None:
    message.write_bytes(b"KETTLE-7: \n" + HELP)
    ran = command("hook", "run", message)
    assert (ran.status, ran.err, message.read_bytes()) == (0, "", b"KETTLE-7: \n" + HELP)
    assert endpoint.requests == []


def test_the_comment_mark_of_the_repository_counts(command: Any, ann: None, message: Path) -> None:
    git("config", "core.commentChar", ";")
    message.write_bytes(HELP.replace(b"#", b";"))
    ran = command("hook", "run", message)
    assert (ran.status, ran.err) == (0, "")
    assert message.read_text() == f"{DRAFT}\n\n{NOTE.replace('#', ';')}\n;\n{HELP.decode().lstrip().replace('#', ';')}"


def _nothing_staged(endpoint: Any) -> None:
    git("reset", "-q", "--hard")


def _other_encoding(endpoint: Any) -> None:
    git("config", "i18n.commitEncoding", "ISO-8859-1")


def _refusing(endpoint: Any) -> None:
    endpoint.status = 500


def _silent(endpoint: Any) -> None:
    endpoint.text = " "


def _announcing(endpoint: Any) -> None:
    endpoint.text = "The author's commit message is:"


def _breaking_off(endpoint: Any) -> None:
    endpoint.cut = True


def _damaged(endpoint: Any) -> None:
    Path(".git/index").write_bytes(b"no index")


@pytest.mark.parametrize(
    ("befall", "words", "said"),
    [
        (_nothing_staged, (), "nothing is staged"),
        (_other_encoding, (), "commits are in ISO-8859-1 here"),
        (_refusing, (), "answered"),
        (_silent, (), "answered nothing"),
        (_announcing, (), "the model wrote no message"),
        (_breaking_off, (), "broke off"),
        (_damaged, (), "git diff"),
        (lambda endpoint: None, ("--user", "bob"), "There is no user 'bob'"),
        (lambda endpoint: None, ("--voice", "mail"), "There is no voice 'mail'"),
    ],
)
def test_a_failure_leaves_the_message_and_says_one_line(
    command: Any, ann: None, endpoint: Any, message: Path, befall: Any, words: tuple[str, ...], said: str
) -> None:
    befall(endpoint)
    ran = command("hook", "run", message, *words)
    assert (ran.status, ran.out, message.read_bytes()) == (0, "", HELP)
    assert ran.err.startswith("pearl: no draft: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PEARL_HOME", "", "PEARL_HOME=''"),
        ("PEARL_LLM", "magic", "PEARL_LLM='magic'"),
        ("PEARL_LLM_BASE_URL", "http://127.0.0.1:9/v1", "cannot be reached"),
        ("PEARL_HOME", "/dev/null/home", ""),
    ],
)
def test_settings_that_cannot_be_used_stop_no_commit(
    command: Any, ann: None, message: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    ran = command("hook", "run", message)
    assert (ran.status, ran.out, message.read_bytes()) == (0, "", HELP)
    assert ran.err.startswith("pearl: no draft: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_message_file_that_is_not_there_stops_no_commit(command: Any, ann: None, tmp_path: Path) -> None:
    ran = command("hook", "run", tmp_path / "none")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err == f"pearl: no draft: {tmp_path / 'none'}: No such file or directory.\n"


def test_another_hook_is_never_lost(command: Any, ann: None) -> None:
    hook = Path(".git/hooks/prepare-commit-msg")
    hook.write_text("#!/bin/sh\necho mine\n")
    ran = command("hook", "install", "--time-limit", "9")
    assert (ran.status, ran.out) == (2, "")
    assert "another hook is there and stays as it is; add this line to it: " in ran.err
    assert ran.err.endswith(' hook run --user ann --voice commits --time-limit 9 "$@"\n')
    ran = command("hook", "remove")
    assert (ran.status, hook.read_text()) == (2, "#!/bin/sh\necho mine\n")
    assert "this hook is not PEARL's" in ran.err
    hook.unlink()
    hook.symlink_to("nowhere")
    assert command("hook", "install").status == 2
    assert hook.is_symlink()


def test_the_hook_is_renewed_and_removed(command: Any, ann: None) -> None:
    hook = Path(".git/hooks/prepare-commit-msg")
    assert command("hook", "install", "--voice", "commits").status == 0
    assert command("hook", "install", "--repo", ".git/..", "--time-limit", "9").status == 0
    assert "--voice commits --time-limit 9 " in hook.read_text()
    assert command("hook", "install", "--voice", "pearl").err.splitlines()[0].endswith("from the whole history.")
    assert "--voice" not in hook.read_text()
    assert os.access(hook, os.X_OK)
    assert command("hook", "remove").err.startswith("Removed ")
    assert not hook.exists()
    assert command("hook", "remove").err.startswith("No hook at ")


def test_the_hook_goes_where_git_looks_for_it(command: Any, ann: None, tmp_path: Path) -> None:
    git("worktree", "add", "-q", "-b", "side", "../side tree")
    assert command("hook", "install", "--repo", tmp_path / "side tree").status == 0
    assert Path(".git/hooks/prepare-commit-msg").exists()  # that of all worktrees
    git("config", "core.hooksPath", "tools/hooks")
    assert command("hook", "install").status == 0
    assert Path("tools/hooks/prepare-commit-msg").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--repo", ".."), "is no git repository, nor in one; name one with --repo."),
        (("--user", "bob"), "There is no user 'bob'"),
        (("--voice", "mail"), "There is no voice 'mail'"),
        (("--time-limit", "0"), "--time-limit"),
        (("--time-limit", "601"), "--time-limit"),
    ],
)
def test_what_cannot_be_installed(command: Any, ann: None, words: tuple[str, ...], said: str) -> None:
    ran = command("hook", "install", *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert not Path(".git/hooks/prepare-commit-msg").exists()


def test_the_smallest_model_is_said_to_be_too_small(command: Any, ann: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_LLM", "embedded")
    ran = command("hook", "install")
    assert ran.status == 0
    assert ran.err.endswith(
        f"\nSmolLM2 is too small to read a change; `pearl models get {DEFAULT}` brings a larger model.\n"
    )
