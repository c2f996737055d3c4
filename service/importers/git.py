"""Commit messages of a git repository: the subject asks, the body answers."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pearl.errors import InputError
from pearl.records import Document
from service.importers.base import NOT_MINE, Found, Items, LeftOut, Options
from service.importers.identities import Identities
from service.importers.quotes import tidy
from service.importers.requests import as_request

# hash, parents, author's time, name and address as written and as .mailmap has them, subject, body, its trailers
FIELDS = ("%H", "%P", "%at", "%an", "%ae", "%aN", "%aE", "%s", "%b", "%(trailers)")
CHUNK_BYTES = 1 << 16


class GitImporter:
    name = "git"
    summary = "Commit messages of a git repository."
    examples = (
        "pearl import git ~/src/kettle --user ann",
        "pearl import git . --user ann --me ann@example.org --me 'Ann Lee' --voice commits",
    )
    unit = "commits"
    needs_user = True
    needs_me = False  # the repository's own user.email and user.name, if not given

    def size(self, source: Path) -> int | None:
        try:
            return int(_answer(source, "rev-list", "--count", "HEAD"))
        except InputError:
            return None

    def read(self, source: Path, options: Options) -> Items:
        _check_repository(source)
        me = options.identities
        if not options.me:
            me.add(*_configured_identities(source))
        for commit in _commits(source):
            options.advance(1)
            yield _item(commit, me, options, f"{source}@{commit.hash[:12]}")


@dataclass(frozen=True, slots=True)
class Commit:
    hash: str
    parents: str
    time: str
    authors: tuple[str, ...]  # names and addresses
    subject: str
    body: str  # without trailers


def _item(commit: Commit, me: Identities, options: Options, where: str) -> Found | LeftOut:
    if not me.match(*commit.authors):
        return LeftOut(where, NOT_MINE)
    if len(commit.parents.split()) > 1:
        return LeftOut(where, "merge")
    if not commit.body.strip():
        return LeftOut(where, "no body")
    document = Document(
        id=commit.hash,
        text=commit.body,
        timestamp=float(commit.time),
        request=as_request(commit.subject),
        voice=options.voice,
    )
    return Found(options.owner, document, where)


def _check_repository(source: Path) -> None:
    _answer(source, "rev-parse", "--git-dir")
    try:
        _answer(source, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except InputError:
        raise InputError(f"{source}: the repository has no commits.", code="no_commits") from None


def _configured_identities(source: Path) -> tuple[str, ...]:
    found = []
    for key in ("user.email", "user.name"):
        try:
            found.append(_answer(source, "config", key).strip())
        except InputError:
            continue
    if not any(found):
        raise InputError(
            f"{source}: git knows no user.email or user.name here; say who you are with --me.",
            param="me",
            code="missing_me",
        )
    return tuple(found)


def _commits(source: Path) -> Iterator[Commit]:
    # -z ends a commit with NUL as well, so fields are simply counted off
    arguments = (
        "log",
        "-z",
        f"--format={'%x00'.join(FIELDS)}",
        "--encoding=UTF-8",
        "--no-show-signature",
        "--no-color",
    )
    with _run(source, *arguments) as output:
        fields: list[str] = []
        for field in _split_at_nul(output):
            fields.append(field)
            if len(fields) == len(FIELDS):
                yield _commit(fields)
                fields = []


def _commit(fields: list[str]) -> Commit:
    hash_, parents, time, *authors, subject, body, trailers = fields
    body = body.rstrip()
    body = body.removesuffix(trailers.rstrip()) if trailers.strip() else body
    return Commit(hash_.strip(), parents, time, tuple(authors), subject, tidy(body.split("\n")))


def _split_at_nul(stream: IO[bytes]) -> Iterator[str]:
    rest = b""
    while chunk := stream.read(CHUNK_BYTES):
        *whole, rest = (rest + chunk).split(b"\0")
        for field in whole:
            # a commit whose declared encoding is wrong is still worth reading
            yield field.decode(errors="replace")


def _answer(source: Path, *arguments: str) -> str:
    with _run(source, *arguments) as output:
        return output.read().decode(errors="replace")


@contextmanager
def _run(source: Path, *arguments: str) -> Iterator[IO[bytes]]:
    """What git writes; its process ends with the block. Raises InputError with git's own words if it fails."""
    # a hook's GIT_DIR would send us to another repository
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_DIR")}
    for name in ("GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environment.pop(name, None)
    environment["LC_ALL"] = "C"
    # the repository may be anyone's: nothing in its configuration may start a program
    command = ["git", "-C", str(source), "--no-pager", "-c", "core.fsmonitor=false", *arguments]
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints, env=environment
            )
        except OSError as error:
            raise InputError(f"git cannot be run ({error}); is it installed?", code="git_missing") from error
        with process:
            assert process.stdout is not None
            try:
                yield process.stdout
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            complaints.seek(0)
            said = complaints.read(2_000).decode(errors="replace").strip().splitlines() or ["it failed without a word"]
            raise InputError(f"{source}: git {arguments[0]}: {said[0].removeprefix('fatal: ')}", code="git_failed")
