"""When a note was written: by its fields, its name, its folder, the git log, and last by the file's own time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.texts import parse_timestamp
from service.importers.dates import date_in_name, read_date
from service.importers.git_process import git_answer, run_git, split_at_nul

# when it was published comes before when it was begun; when it was last changed is better than nothing
FIELDS = (
    *("date", "publishedat", "pubdate", "publishdate", "datepublished", "published", "publishedon", "publishedtime"),
    *("posted", "postdate", "created", "createdat", "datecreated", "createdtime", "creationdate", "createdon", "birth"),
    *("updated", "lastmod", "modified", "dateupdated", "updatedat", "lastmodified"),
)


class NoteDates:
    """Dates of the notes in a folder. The git log is read when the first note needs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.by_file_time = 0  # notes that nothing but the time of their file dates

    def of(self, name: str, fields: Mapping[str, Any], path: Path) -> float:
        """Unix seconds of the note at ``path``, which the folder knows by ``name``.

        Raises InputError when a field is a date in the future, or no date and nothing else dates the note.
        """
        problem: InputError | None = None
        try:
            written = date_in_fields(fields)
        except InputError as error:
            if error.code == "future_timestamp":
                raise
            written, problem = None, error
        if written is not None:
            return written
        named = date_in_name(name)
        if named is not None and named.exact:
            return parse_timestamp(named.start, param="date")
        logged = self._logged.get(name)
        if logged is None and self._logged_error is not None:
            raise self._logged_error
        if logged is not None:
            return named.within(logged) if named else logged
        if named is not None:
            return named.within(path.stat().st_mtime)
        if problem is not None:
            raise problem
        self.by_file_time += 1
        return path.stat().st_mtime

    @cached_property
    def _logged(self) -> dict[str, float]:
        self._logged_error: InputError | None = None
        if not any((parent / ".git").exists() for parent in (self._folder, *self._folder.resolve().parents)):
            return {}
        try:
            return dates_in_log(self._folder)
        except InputError as error:
            # the time of a file in a clone is that of the clone
            self._logged_error = InputError(
                f"has no date, and the git log that would tell it cannot be read: {error.message}", code="no_date"
            )
            return {}


def date_in_fields(fields: Mapping[str, Any]) -> float | None:
    """The first field that is a date; None when no field wants to be one. Raises InputError for the first bad one."""
    problem: InputError | None = None
    for name in FIELDS:
        value = fields.get(name)
        if value in (None, "", "null", "~", True, False) or str(value).lower() in ("true", "false"):
            continue
        if isinstance(value, dict):  # Material for MkDocs: date: {created: ...}
            value = date_in_fields({str(key).lower(): when for key, when in value.items()})
        try:
            return read_date(value)
        except InputError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return None


def dates_in_log(folder: Path) -> dict[str, float]:
    """The times at which a folder's files were first committed, by their present names, following renames."""
    if not git_answer(folder, "rev-list", "--all", "--max-count=1"):  # no commit yet, and so no clone
        return {}
    git_answer(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    arguments = ("log", "-z", "--format=%x00%at", "--name-status", "--diff-filter=AR", "-M", "-l1000", "--relative")
    first_committed: dict[str, float] = {}
    now_named: dict[str, str] = {}  # a name of the past -> the name it has now
    with run_git(folder, *arguments, "--no-ext-diff", "--no-textconv", "--", ".") as output:
        time, waiting = 0.0, iter(split_at_nul(output))
        for field in waiting:
            status = field.removeprefix("\n")
            if status == "A":
                name = next(waiting, "")
                first_committed[now_named.get(name, name)] = time
            elif re.fullmatch(r"R\d+", status):
                old, new = next(waiting, ""), next(waiting, "")
                now_named[old] = now_named.get(new, new)
                first_committed.setdefault(now_named[old], time)
            elif re.fullmatch(r"\d+", status):
                time = float(status)
    return first_committed
