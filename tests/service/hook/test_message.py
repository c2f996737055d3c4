from __future__ import annotations

import subprocess

import pytest

from service.hook.message import comment_mark, has_text, with_draft

CUT = b"# ------------------------ >8 ------------------------\n"
NOTE = b"# PEARL drafted this message from the staged change. Edit it, or delete it to abort the commit.\n#\n"
SIGNED = b"Signed-off-by: Ann Lee <ann@example.org>\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", False),
        (b"\n \t\n# help\n#\tfile\n", False),
        (b"# help\n" + CUT + b"diff --git a/pot b/pot\n-five\n", False),
        (b"\n\n" + SIGNED + b"\n# help\n", False),
        (b"\n" + SIGNED + b"Acked: yes\nFixes: #7\n\n# help\n", False),
        (b"\nAcked: yes\nIt leaks.\n# help\n", True),
        (b"fix: the lid\n# help\n", True),
        (b"KETTLE-7:\n# help\n", True),
        (b"# help\nKETTLE-7:\n", True),
        (b"fix: \n", True),
        (b"; other mark\n", True),
    ],
)
def test_what_somebody_wrote_is_told_from_gits_own(content, text):
    assert has_text(content, b"#") is text


@pytest.mark.parametrize(
    ("content", "after"),
    [
        (b"\n# help\n", NOTE + b"# help\n"),
        (b"\n\n" + SIGNED + b"\n# help\n" + CUT + b"\xff\n", SIGNED + b"\n" + NOTE + b"# help\n" + CUT + b"\xff\n"),
        (b"\n" + CUT + b"# help\n", CUT + b"# help\n"),  # what stands above the cut is text
        (b"", b""),  # commit.status is off: nothing would take a note out
        (b"\r\n# Gr\xf6\xdfe\r\n", NOTE + b"# Gr\xf6\xdfe\r\n"),
    ],
)
def test_all_that_git_wrote_stays_below_the_draft(content, after):
    assert with_draft(content, b"#", "\nBoil less\n\nTwo cups.\n\n") == b"Boil less\n\nTwo cups.\n\n" + after


def test_no_line_of_a_draft_is_a_comment():
    assert with_draft(b"", b"//", "// a\nb // c\n//d") == b" // a\nb // c\n //d\n\n"


@pytest.mark.parametrize(
    ("settings", "mark"),
    [
        ((), b"#"),
        (("core.commentChar=;",), b";"),
        (("core.commentChar=;", "core.commentString=//"), b"//"),
        (("core.commentChar=auto", "i18n.commitEncoding=UTF-8"), b"#"),
    ],
)
def test_the_mark_of_comments_is_that_of_the_settings(tmp_path, monkeypatch, settings, mark):
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for setting in settings:
        subprocess.run(["git", "-C", str(tmp_path), "config", *setting.split("=")], check=True)
    assert comment_mark(tmp_path) == mark
