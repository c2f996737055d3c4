"""Describing the staged change as a request: paths as `pearl import git` writes them, facts, and parts of the diff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pearl.errors import InputError
from pearl.models.prompts import fair_shares
from pearl.text.templates import change_template
from pearl.text.usable import counted
from service.drafting.drafter import DraftJob
from service.importing.sources.git import PATHS_SHOWN, changed_paths, whole_message
from service.process.git_process import git_answer, run_git

DIFF = ("diff", "--cached", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--submodule=short")
READ_BYTES = 20_000  # read of a file's diff, which may be huge
SHOWN_CHARACTERS = 3_000  # of the whole diff in a request, about 1,000 tokens
LEAST_CHARACTERS = 80  # of a file's excerpt; a shorter one would show nothing
LONG_LINE = re.compile(r"^(.{200}).+$", re.MULTILINE)
HUNK = re.compile(r"^@@ .*? @@", re.MULTILINE)
STATES = {"A": "new file", "D": "deleted"}


def commit_job(job: DraftJob) -> DraftJob:
    """Adapt a drafting job to commit messages: their prompt template, and samples with subject and body together."""
    return replace(job, template=change_template(), shown_as=whole_message)


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A staged file. ``state``: git's letter (A: new, D: deleted); ``added``, ``removed``: numbers of lines."""

    path: str
    state: str  # git's letter
    added: int | None  # lines; None for a binary file
    removed: int | None  # the same

    def __str__(self) -> str:
        facts = [STATES[self.state]] if self.state in STATES else []
        if self.added is None:
            facts.append("binary")
        if self.added:
            facts.append(f"{counted(self.added, 'line')} added")
        if self.removed:
            facts.append(f"{counted(self.removed, 'line')} removed")
        return f"{self.path}: {', '.join(facts) or 'changed'}"


def staged_request(repository: Path) -> str:
    """Describe the staged change. Raises InputError if nothing is staged or git fails. Call it within a hook."""
    files = list(_files(git_answer(repository, *DIFF, "--raw", "--numstat", "-z", in_hook=True)))
    if not files:
        raise InputError("nothing is staged, so there is nothing to tell.", code="nothing_staged")
    facts = [str(file) for file in files[:PATHS_SHOWN]]
    with suppress(InputError):  # HEAD is on no branch
        branch = git_answer(repository, "symbolic-ref", "--quiet", "--short", "HEAD", in_hook=True).strip()
        facts.insert(0, f"branch {branch}")
    parts = [
        changed_paths([file.path for file in files]),
        "\n".join(facts),
        *_excerpts(repository, files[:PATHS_SHOWN]),
    ]
    return "\n\n".join(parts).replace("\0", " ")


def _files(answer: str) -> Iterator[StagedFile]:
    """Yield the files in the answer of ``git diff --raw --numstat -z``."""
    states = {}
    fields = iter(answer.split("\0"))
    for field in fields:
        if field.startswith(":"):
            states[next(fields)] = field[-1]
        elif field:
            added, removed, path = field.split("\t", 2)
            counts = (None, None) if added == "-" else (int(added), int(removed))
            yield StagedFile(path, states[path], *counts)


def _excerpts(repository: Path, files: list[StagedFile]) -> Iterator[str]:
    """Yield the beginning of each file's diff below its path; the files share SHOWN_CHARACTERS fairly."""
    changes = [_change(repository, file.path) for file in files]
    shares = fair_shares([len(change) for change in changes], SHOWN_CHARACTERS)
    for file, change, share in zip(files, changes, shares, strict=True):
        if len(change) > share:
            change = change[:share].rpartition("\n")[0] + "\n…" if share >= LEAST_CHARACTERS else ""
        if change:
            yield f"{file.path}\n{change.rstrip()}"


def _change(repository: Path, path: str) -> str:
    """Return a file's diff, cut at READ_BYTES; "" for a binary file."""
    with run_git(repository, *DIFF, "--patch", "--unified=1", "--", f":(top,literal){path}", in_hook=True) as output:
        patch = output.read(READ_BYTES).decode(errors="replace")
    first = re.search(r"^@@ ", patch, re.MULTILINE)
    return LONG_LINE.sub(r"\1…", HUNK.sub("@@", patch[first.start() :])) if first else ""
