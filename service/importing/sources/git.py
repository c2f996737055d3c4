"""Commit messages of a git repository: the subject becomes the request, the body becomes the text.

Most commits have no body. With ``subjects`` their subject becomes the text, and the changed paths the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import regex

from pearl.errors import InputError
from pearl.records import Document
from service.importing.sources.base import NO_TEXT, NOT_MINE, Importer, Item, Items, LeftOut, Options, Remark, read_each
from service.importing.sources.commits.footers import (
    is_assisted,
    is_generated,
    is_programs,
    own_subject,
    own_text,
    unsigned,
)
from service.process.git_process import git_answer, run_git, split_at_nul

# hash, parents, author's time, name and address as written and as .mailmap has them, committer, subject, body
FIELDS = ("%H", "%P", "%at", "%an", "%ae", "%aN", "%aE", "%cn <%ce>", "%s", "%b")
NO_BODY = "no body"
ASSISTED = "written with an assistant"
SUBJECTS, WITH_ASSISTED = "subjects", "with_assisted"
PATHS_SHOWN = 12
PATH = r'(?:[^\s"]\S*|"[^"]+")'
PATHS = re.compile(rf"{PATH}(?:, {PATH})*(?: and [\d,]+ more)?")  # as a request; a subject has blanks between its words
# "Refactoring", "Tests, docs" and "v1.2.0" are subjects, "Makefile", "LICENSE" and "configure" paths
SUBJECT_LIKE_PATHS = regex.compile(r"\p{Lu}\p{Ll}+(?<!file)(?:, \p{Ll}+)*|v?\d+(?:\.\d+)+")


class GitImporter(Importer):
    name = "git"
    summary = "Commit messages of a git repository."
    examples = (
        "pearl import git ~/src/kettle --user ann",
        "pearl import git . --user ann --me ann@example.org --me 'Ann Lee' --voice commits",
        "pearl import git . --user ann --subjects",
    )
    unit = "commits"
    needs_me = False  # the repository's own user.email and user.name, if not given
    flags: Mapping[str, str] = {
        SUBJECTS: "Import the subject line of a commit without a body; the changed paths are its request.",
        WITH_ASSISTED: "Import commits that a coding assistant signed, too; without this they are left out.",
    }
    template = "commit"

    def size(self, source: Path) -> int | None:
        try:
            return int(git_answer(source, "rev-list", "--count", "HEAD"))
        except InputError:
            return None

    def read(self, source: Path, options: Options) -> Items:
        _check_repository(source)
        if not options.me:
            options.identities.add(*_configured_identities(source))
        bodies = without = assisted = 0
        commits = _commits(source, with_paths=SUBJECTS in options.flags)
        placed = ((f"{source}@{commit.hash[:12]}", commit) for commit in commits)
        for item in read_each(placed, partial(_item, options)):
            options.advance(1)
            bodies += not isinstance(item, LeftOut)
            without += isinstance(item, LeftOut) and item.reason == NO_BODY
            assisted += isinstance(item, LeftOut) and item.reason == ASSISTED
            yield item
        if without:
            count = f"{bodies:,} of {bodies + without:,}"
            yield Remark(f"Commits with a body: {count}; --subjects takes the subject lines of the others.")
        if assisted:
            yield Remark(f"Commits that a coding assistant signed: {assisted:,}; --with-assisted takes them.")


@dataclass(frozen=True, slots=True)
class Commit:
    hash: str
    parents: str
    time: str
    authors: tuple[str, ...]  # names and addresses
    committer: str  # name and address
    subject: str
    body: str
    paths: tuple[str, ...] = ()  # what it changed, where that was asked for


def _item(options: Options, commit: Commit, where: str) -> Item:
    if not options.identities.match(*commit.authors, account=commit.authors[-1]):
        return LeftOut(where, NOT_MINE)
    if len(commit.parents.split()) > 1:
        return LeftOut(where, "merge")
    if not commit.time:
        raise InputError("The commit has no time that git can read.", param="time", code="invalid_timestamp")
    if is_programs(commit.body):
        return LeftOut(where, "written by a program")
    body = commit.body
    if WITH_ASSISTED in options.flags:
        body = unsigned(body)
    elif is_assisted(commit.authors[0], commit.committer, commit.subject, body):
        return LeftOut(where, ASSISTED)
    text, request = own_text(body), own_subject(commit.subject)
    if not text.strip():
        if SUBJECTS not in options.flags:
            return LeftOut(where, NO_BODY)
        if is_generated(request):
            return LeftOut(where, "generated subject")
        text, request = request, changed_paths(commit.paths)
    if not text.strip():
        return LeftOut(where, NO_TEXT)
    return options.document(where, commit.hash, text, float(commit.time), request)


def whole_message(document: Document) -> Document:
    """Put an imported commit's message together again: its subject (the request) above its body. A document made of a
    subject alone stays as it is."""
    request = document.request
    if not request:
        return document
    if "\n" not in document.text and PATHS.fullmatch(request) and not SUBJECT_LIKE_PATHS.fullmatch(request):
        return document
    return replace(document, text=f"{request}\n\n{document.text}", request=None)


def changed_paths(paths: Sequence[str]) -> str:
    """Join the changed paths on one line, at most PATHS_SHOWN of them; paths with blanks stand in quotes."""
    shown = [f'"{path}"' if any(map(str.isspace, path)) else path for path in paths[:PATHS_SHOWN]]
    more = len(paths) - PATHS_SHOWN
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _check_repository(source: Path) -> None:
    git_answer(source, "rev-parse", "--git-dir")
    try:
        git_answer(source, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except InputError:
        raise InputError(f"{source}: the repository has no commits.", code="no_commits") from None


def _configured_identities(source: Path) -> tuple[str, ...]:
    identities = []
    for key in ("user.email", "user.name"):
        with suppress(InputError):
            identities.append(git_answer(source, "config", key).strip())
    if not any(identities):
        raise InputError(
            f"{source}: git knows no user.email or user.name here; say who you are with --me.",
            param="me",
            code="missing_me",
        )
    return tuple(identities)


def _commits(source: Path, with_paths: bool) -> Iterator[Commit]:
    # -z ends a commit and a path with NUL as well; an empty field, which no path can be, stands before each commit
    arguments = ("log", "-z", f"--format=%x00{'%x00'.join(FIELDS)}")
    plainly = ("--encoding=UTF-8", "--no-show-signature", "--no-color")
    names = ("--name-only", "--no-renames", "--no-ext-diff", "--no-textconv") if with_paths else ()
    with run_git(source, *arguments, *plainly, *names) as output:
        fields: list[str] = []
        for field in split_at_nul(output):
            if field or 0 < len(fields) < len(FIELDS):
                fields.append(field)
            elif fields:
                yield _commit(fields)
                fields = []
        if fields:
            yield _commit(fields)


def _commit(fields: list[str]) -> Commit:
    hash_, parents, time, *authors, committer, subject, body = fields[: len(FIELDS)]
    paths = tuple(path.removeprefix("\n") for path in fields[len(FIELDS) :])
    return Commit(hash_, parents, time, tuple(authors), committer, subject, body, paths)
