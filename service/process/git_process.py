"""Run git on a repository that may be anybody's: nothing in it starts a program, and nothing is fetched."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pearl.errors import InputError

CHUNK_BYTES = 1 << 16
LONGEST_WAIT_S = 600.0  # of a commit for its draft, which may so be later than the commit's date
MAX_FIELD_BYTES = 4_000_000  # more than a text may have, so that a longer one is refused rather than cut


def split_at_nul(stream: IO[bytes]) -> Iterator[str]:
    """Yield the NUL-terminated fields of a stream, cut if they are huge; bytes that are not UTF-8 are replaced."""
    pieces: list[bytes] = []
    held_bytes = 0
    while chunk := stream.read(CHUNK_BYTES):
        first, *others = chunk.split(b"\0")
        if held_bytes < MAX_FIELD_BYTES:
            pieces.append(first)
            held_bytes += len(first)
        for following in others:
            # a commit whose declared encoding is wrong is still worth reading
            yield b"".join(pieces).decode(errors="replace")
            pieces, held_bytes = [following], len(following)


def git_answer(source: Path, *arguments: str, in_hook: bool = False) -> str:
    """Run git and return its whole output as text. Raises InputError with git's own words if it fails."""
    with run_git(source, *arguments, in_hook=in_hook) as output:
        return output.read().decode(errors="replace")


def git_path(source: Path, *arguments: str, in_hook: bool = False) -> str:
    """Run git and return the path that it prints, or a path per line, in any bytes. Raises InputError as git_answer."""
    with run_git(source, *arguments, in_hook=in_hook) as output:
        return os.fsdecode(output.read()).removesuffix("\n")


@contextmanager
def run_git(source: Path, *arguments: str, in_hook: bool = False) -> Iterator[IO[bytes]]:
    """Run git and yield its output; git ends with the block. Raises InputError with git's own words if it fails.

    ``in_hook``: keep the variables that git sets for a hook, which name the index of the commit that is made.
    """
    environment = os.environ | {"LC_ALL": "C"}
    if not in_hook:  # they would send us to another repository
        for name in (*(name for name in environment if name.startswith("GIT_DIR")), "GIT_WORK_TREE", "GIT_INDEX_FILE"):
            environment.pop(name, None)
    # the repository may be anyone's: nothing in its configuration may start a program, and nothing is fetched
    safely = ("-c", "core.fsmonitor=false", "-c", "protocol.allow=never")
    whole = ("-c", "diff.relative=false", "-c", "log.showRoot=true")  # all paths, those of the first commit too
    command = ["git", "-C", str(source), "--no-pager", *safely, *whole, *arguments]
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
                if read_in_part := bool(process.stdout.read(1)):
                    process.kill()
            except BaseException:
                process.kill()
                raise
        if process.returncode and not read_in_part:
            complaints.seek(0)
            said = complaints.read(2_000).decode(errors="replace").strip()
            complaint = (said or "it failed without a word").splitlines()
            # a command that would help stands on a line of its own, as for a repository of another user's
            advice = "".join(f"; run '{line.strip()}'" for line in complaint if line.startswith("\tgit "))
            words = complaint[0].removeprefix("fatal: ")
            raise InputError(f"{source}: git {arguments[0]}: {words}{advice}", code="git_failed")
