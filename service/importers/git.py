"""Commit messages of a git repository: the subject asks, the body answers.

Most commits have no body; with ``subjects`` their subject is the text, and the changed paths are what asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import regex

from pearl.errors import InputError
from pearl.records import Document
from service.importers.base import NO_TEXT, NOT_MINE, Items, LeftOut, Options, Remark, SourceDocument
from service.importers.git_process import git_answer, run_git, split_at_nul
from service.importers.identities import Identities
from service.importers.quotes import tidy
from service.importers.requests import as_request

# hash, parents, author's time, name and address as written and as .mailmap has them, subject, body, its trailers
FIELDS = ("%H", "%P", "%at", "%an", "%ae", "%aN", "%aE", "%s", "%b", "%(trailers)")
NO_BODY = "no body"
# what git, a forge or a bot wrote, not the author
GENERATED_SUBJECT = re.compile(
    r"(?:fixup|squash|amend)! |Re(?:vert|apply) \"|Merge (?:branch|pull request|tag|remote)|Bump \S+ from "
    r"|Squashed commit of the following:"
)
# the line by which an assistant signs the message that it wrote
WRITTEN_BY_PROGRAM = re.compile(
    r"^(?:\N{ROBOT FACE} ?)?Generated (?:with|by) \[[^\]\n]+\]\(https?://\S+\)\s*$", re.MULTILINE
)
# the sentences of git revert, git cherry-pick -x and git merge, the log that git merge --squash writes, and the rule of
# a forge above its trailers
GENERATED_TEXT = re.compile(
    r"^This reverts commit [0-9a-f]{7,64}(?: \(\"[^\"\n]{1,200}\"\))?(?:, reversing\s+changes made to [0-9a-f]{7,64})?"
    r"(?:\.|$)[ \t]*"
    r"|^\(cherry picked from commit [0-9a-f]{7,64}\)$"
    r"|^(?:# )?Conflicts:\n(?:(?:#\t|\t|#? {2,8})\S[^\n]*(?:\n|\Z))+"
    r"|^(?:Squashed commit of the following:\n+)?commit [0-9a-f]{40,64}\n(?:Merge: [^\n]*\n)?Author: [^\n]*\n"
    r"Date: [^\n]*(?:\n(?: {4}[^\n]*)?)*"
    r"|^-{9}\Z",
    re.MULTILINE,
)
# "Note: it whistles now, too" has the form of a trailer and is prose
TRAILERS_OF_WORDS = re.compile(r"(?:bug|cc|closes|fixes|issue|link|refs?|related|resolves|see|to)\Z", re.IGNORECASE)
PLAIN_WORD = re.compile(r"(?<!\S)[a-z]+(?=[.;!?]?(?:\s|\Z))")
PROSE_WORDS = 3
PATHS_SHOWN = 12
PATH = r'(?:[^\s"]\S*|"[^"]+")'
PATHS = re.compile(rf"{PATH}(?:, {PATH})*(?: and [\d,]+ more)?")  # as a request; a subject has blanks between its words
# "Refactoring", "Tests, docs" and "v1.2.0" are subjects, "Makefile", "LICENSE" and "configure" paths
SUBJECT_LIKE_PATHS = regex.compile(r"\p{Lu}\p{Ll}+(?<!file)(?:, \p{Ll}+)*|v?\d+(?:\.\d+)+")


class GitImporter:
    name = "git"
    summary = "Commit messages of a git repository."
    examples = (
        "pearl import git ~/src/kettle --user ann",
        "pearl import git . --user ann --me ann@example.org --me 'Ann Lee' --voice commits",
        "pearl import git . --user ann --subjects",
    )
    unit = "commits"
    needs_user = True
    needs_me = False  # the repository's own user.email and user.name, if not given
    own_options = ("subjects",)
    stable_ids = True
    template = "commit"

    def size(self, source: Path) -> int | None:
        try:
            return int(git_answer(source, "rev-list", "--count", "HEAD"))
        except InputError:
            return None

    def read(self, source: Path, options: Options) -> Items:
        _check_repository(source)
        me = options.identities
        if not options.me:
            me.add(*_configured_identities(source))
        bodies = without = 0
        for commit in _commits(source, with_paths=options.subjects):
            options.advance(1)
            where = f"{source}@{commit.hash[:12]}"
            try:
                item = _item(commit, me, options, where)
            except InputError as error:
                item = LeftOut.because_of(error, where)
            bodies += isinstance(item, SourceDocument)
            without += isinstance(item, LeftOut) and item.reason == NO_BODY
            yield item
        if without:
            count = f"{bodies:,} of {bodies + without:,}"
            yield Remark(f"Commits with a body: {count}; --subjects takes the subject lines of the others.")


@dataclass(frozen=True, slots=True)
class Commit:
    hash: str
    parents: str
    time: str
    authors: tuple[str, ...]  # names and addresses
    subject: str
    body: str  # without trailers
    paths: tuple[str, ...] = ()  # what it changed, where that was asked for


def _item(commit: Commit, me: Identities, options: Options, where: str) -> SourceDocument | LeftOut:
    if not me.match(*commit.authors, account=commit.authors[-1]):
        return LeftOut(where, NOT_MINE)
    if len(commit.parents.split()) > 1:
        return LeftOut(where, "merge")
    if not commit.time:
        raise InputError("The commit has no time that git can read.", param="time", code="invalid_timestamp")
    if WRITTEN_BY_PROGRAM.search(commit.body):
        return LeftOut(where, "written by a program")
    text, request = commit.body, commit.subject
    if not text.strip():
        if not options.subjects:
            return LeftOut(where, NO_BODY)
        if GENERATED_SUBJECT.match(commit.subject):
            return LeftOut(where, "generated subject")
        text, request = commit.subject, changed_paths(commit.paths)
    if not text.strip():
        return LeftOut(where, NO_TEXT)
    document = Document(
        id=commit.hash,
        text=text,
        timestamp=float(commit.time),
        request=as_request(request),
        voice=options.voice,
    )
    return SourceDocument(options.owner, document, where)


def whole_message(document: Document) -> Document:
    """The commit message that a document was imported from, its subject above its body; one of ``subjects``, whose
    changed paths asked for it, stays as it is."""
    request = document.request
    if not request:
        return document
    if "\n" not in document.text and PATHS.fullmatch(request) and not SUBJECT_LIKE_PATHS.fullmatch(request):
        return document
    return replace(document, text=f"{request}\n\n{document.text}", request=None)


def changed_paths(paths: Sequence[str]) -> str:
    """The changed paths in one line, those with blanks in quotes, and the first of them where they are many."""
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
        try:
            identities.append(git_answer(source, "config", key).strip())
        except InputError:
            continue
    if not any(identities):
        raise InputError(
            f"{source}: git knows no user.email or user.name here; say who you are with --me.",
            param="me",
            code="missing_me",
        )
    return tuple(identities)


def _commits(source: Path, with_paths: bool) -> Iterator[Commit]:
    # -z ends a commit and a path with NUL as well; an empty field, which no path can be, stands before each commit
    arguments = (
        "log",
        "-z",
        f"--format=%x00{'%x00'.join(FIELDS)}",
        "--encoding=UTF-8",
        "--no-show-signature",
        "--no-color",
    )
    names = ("--name-only", "--no-renames", "--no-ext-diff", "--no-textconv") if with_paths else ()
    with run_git(source, *arguments, *names) as output:
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
    hash_, parents, time, *authors, subject, body, trailers = fields[: len(FIELDS)]
    body = body.rstrip()
    body = body.removesuffix(trailers.rstrip()) if trailers.strip() and not _is_prose(trailers) else body
    body = GENERATED_TEXT.sub("", body.rstrip())
    paths = tuple(path.removeprefix("\n") for path in fields[len(FIELDS) :])
    return Commit(hash_, parents, time, tuple(authors), subject, tidy(body.split("\n")), paths)


def _is_prose(trailers: str) -> bool:
    """True for sentences behind a plain word and a colon, which git takes for trailers where they are the last
    paragraph."""
    for line in trailers.splitlines():
        name, _, value = line.partition(":")
        if line[:1].isspace() or not line:
            continue  # it goes on with the line above
        if not name.isalpha() or TRAILERS_OF_WORDS.match(name) or len(PLAIN_WORD.findall(value)) < PROSE_WORDS:
            return False
    return True
