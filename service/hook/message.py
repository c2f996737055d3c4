"""The message file that git gives its hook: tell whether a draft is wanted there, and add one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pearl.errors import InputError
from service.hook.editor import nobody_looks
from service.process.git_process import git_answer, git_path

# files that git keeps while it makes commits by itself or continues one
UNDER_WAY = ("rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD")
SETTINGS = r"^(core\.comment(char|string)|i18n\.commitencoding)$"
TRAILER = re.compile(rb"[A-Za-z0-9-]+: \S")  # git commit --signoff and --trailer write them before the hook runs
CUT = b" ------------------------ >8 ------------------------"
NOTE = " PEARL drafted this message from the staged change. Edit it, or delete it to abort the commit."


def is_unwanted(repository: Path, source: str | None) -> bool:
    """True if git has a message or is in a rebase, cherry-pick, revert or merge, if no one would see a draft, or if the
    person wants none this time."""
    if source or os.environ.get("PEARL_NO_DRAFT") or nobody_looks(repository):
        return True
    paths = [word for name in UNDER_WAY for word in ("--git-path", name)]
    answer = git_path(repository, "rev-parse", *paths, in_hook=True)
    return any((repository / line).exists() for line in answer.split("\n"))


def comment_mark(repository: Path) -> bytes:
    """The mark that begins git's comments, within a hook of git. Raises InputError if commits are not in UTF-8."""
    mark = "#"
    try:
        answer = git_answer(repository, "config", "--get-regexp", SETTINGS, in_hook=True)
    except InputError:  # none is set
        return mark.encode()
    for line in answer.splitlines():
        name, _, value = line.partition(" ")
        if name == "i18n.commitencoding" and value.lower() not in ("utf-8", "utf8"):
            raise InputError(f"commits are in {value} here (i18n.commitEncoding), and drafts in UTF-8.")
        if name != "i18n.commitencoding" and value != "auto":
            mark = value
    return mark.encode()


def has_text(content: bytes, mark: bytes) -> bool:
    """True if the file has a message already: anything but comments, and trailers below an empty line for the
    subject."""
    lines = content.partition(mark + CUT)[0].splitlines()  # below the cut stands the diff
    written = [line for line in lines if line.strip() and not line.startswith(mark)]
    return bool(written) and (bool(lines[0].strip()) or not all(map(TRAILER.match, written)))


def with_draft(content: bytes, mark: bytes, draft: str) -> bytes:
    """Return the content with the draft above it, and with a note among git's comments if there are any."""
    # git would take a line that begins with the mark for a comment
    text = re.sub(rb"^(?=" + re.escape(mark) + rb")", b" ", draft.strip().encode(), flags=re.MULTILINE)
    first = re.search(rb"^" + re.escape(mark), content, re.MULTILINE)
    at = first.start() if first else len(content)
    written, comments = content[:at].lstrip(b"\r\n"), content[at:]
    if comments and not comments.startswith(mark + CUT):  # above a cut everything is text
        comments = mark + NOTE.encode() + b"\n" + mark + b"\n" + comments
    return text + b"\n\n" + written + comments
