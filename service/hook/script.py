"""The hook's file in a repository: a short shell script that calls `pearl hook run`."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from pearl.cli.options import writing
from pearl.errors import Conflict, InputError
from pearl.text.files.whole import opened
from service.process.git_process import git_path

NAME = "prepare-commit-msg"
OURS = "# Written by `pearl hook install`, which renews it; `pearl hook remove` removes it."
# git's second argument says where a message comes from; with one, Python need not start
SCRIPT = """#!/bin/sh
{ours}
# PEARL_NO_DRAFT=1 git commit ... goes without a draft.
if [ -z "$2" ] && [ -z "$PEARL_NO_DRAFT" ]; then
  {line}
fi
exit 0
"""


def script_path(repository: Path) -> Path:
    """Return the path at which git looks for the hook. Raises InputError if git fails."""
    try:
        top = Path(git_path(repository, "rev-parse", "--show-toplevel"))
    except InputError as error:
        if "not a git repository" in error.message:
            raise InputError(
                f"{repository.resolve()}: is no git repository, nor in one; name one with --repo."
            ) from error
        raise
    return top / git_path(top, "rev-parse", "--git-path", "hooks") / NAME


def install(path: Path, options: Sequence[str]) -> None:
    """Write or replace the hook, which calls `pearl hook run` with these options. Raises Conflict if another program's
    hook is there, InputError if the file cannot be written."""
    beside = shutil.which("pearl", path=str(Path(sys.executable).parent))
    pearl = beside or shutil.which(sys.argv[0])
    if pearl is None:
        raise InputError("the command pearl is not found; put its folder into PATH.")
    line = f'{shlex.join([pearl, "hook", "run", *options])} "$@"'
    if _exists(path) and not is_ours(path):
        raise Conflict(
            f"{path}: another hook is there and stays as it is; add this line to {_written_at(path)}: {line}"
        )
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with opened(path) as file:
            file.write(SCRIPT.format(ours=OURS, line=line).encode())
        path.chmod(0o755)


def remove(path: Path) -> bool:
    """Delete the hook; return False if there is none. Raises Conflict if another program's hook is there, InputError if
    git or the file system fails."""
    if not _exists(path):
        return False
    if not is_ours(path):
        raise Conflict(
            f"{path}: this hook is not PEARL's; if {_written_at(path)} has a line that calls `pearl hook run`, "
            "take that out."
        )
    with writing(str(path)):
        path.unlink()
    return True


def is_ours(path: Path) -> bool:
    """True if :func:`install` wrote the hook. Raises InputError if the file cannot be read."""
    with writing(str(path)):
        return path.is_file() and OURS.encode() in path.read_bytes()


def _written_at(path: Path) -> str:
    """Return the file to edit for changing another program's hook: "it", or the file that husky's hook runs."""
    is_generated = path.parent.name == "_" and (path.parent / "h").is_file()
    return str(path.parent.parent / NAME) if is_generated else "it"


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()  # a broken link is another program's hook, too
