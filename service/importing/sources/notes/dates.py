"""When a note was written: from its metadata, its file's or folders' names, the git log, or else the file's time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import NoneType
from typing import Any

from pearl.errors import InputError
from pearl.text.usable import parse_timestamp
from service.importing.sources.base import SHOWN, ParseWarnings, Remark
from service.importing.sources.dates import DATED_NAME, NamedDate, date_in_name, possible_orders, read_date
from service.process.git_process import git_answer, run_git, split_at_nul

# when it was published comes before when it was begun; when it was last changed is better than nothing
FIELDS = (
    *("date", "usercreatedtime"),  # the second is Joplin's
    *("publishedat", "pubdate", "publishdate", "datepublished", "published", "publishedon", "publishedtime"),
    *("posted", "postdate", "created", "createdat", "datecreated", "createdtime", "creationdate", "createdon", "birth"),
    *("updated", "lastmod", "modified", "dateupdated", "datemodified", "updatedat", "lastmodified"),
)
NO_DATE = {"", "null", "~", "true", "false"}
UNREADABLE = "Dates that cannot be read, so that a file's name, the git log or its own time is taken"


class NoteDates:
    """The dates of the notes in a folder. ``notes``: gives all notes' names and metadata, which tell whether dates such
    as 03/04/2023 begin with the day."""

    def __init__(
        self, folder: Path, notes: Callable[[], Iterable[tuple[str, Mapping[str, Any]]]], flaws: ParseWarnings
    ) -> None:
        self._folder = folder
        self._notes = notes
        self._flaws = flaws
        self._by_file_time = 0  # notes that say nowhere when they were written
        self._swappable: list[str] = []  # names of notes in whose dates day and month can be swapped

    def of(self, name: str, fields: Mapping[str, Any], path: Path) -> float:
        """Return when a note was written, in Unix seconds. ``name``: its path in the folder; ``fields``: its metadata.

        Raises InputError if only the git log could tell and the log cannot be read.
        """
        is_said = False
        try:
            written = date_in_fields(fields, lambda value: self._read(value, name))
        except InputError as error:
            self._flaws.note(UNREADABLE, name, error.message)
            written, is_said = None, True
        if written is not None:
            return written
        named = date_in_name(name) or self._in_other_form(name)
        if named is not None and named.exact:
            return parse_timestamp(named.start, param="date")
        logged = self._logged.get(name)
        if logged is None and self._logged_error is not None:
            raise self._logged_error
        if logged is not None:
            return named.within(logged) if named else logged
        self._by_file_time += named is None and not is_said
        time = path.stat().st_mtime
        return named.within(time) if named else time

    def remarks(self) -> Iterator[Remark]:
        if self._by_file_time:
            count = f"{self._by_file_time:,}"
            yield Remark(
                f"Files that say nowhere when they were written: {count}; the time of the file itself is taken."
            )
        if self._swappable and (self._orders[True] > 0) is (self._orders[False] > 0):
            first, shown = "day" if self._day_first else "month", ", ".join(self._swappable[:SHOWN])
            yield Remark(
                f"Dates that may have the day or the month first: {len(self._swappable):,} ({shown}); the {first} "
                f"is taken. Of the others {self._orders[True]:,} have the day first, {self._orders[False]:,} the month."
            )

    def _read(self, value: Any, name: str) -> float:
        orders = possible_orders(value)
        if len(orders) < 2:
            return read_date(value, day_first=False not in orders)
        self._swappable.append(name)
        return read_date(value, self._day_first)

    def _in_other_form(self, name: str) -> NamedDate | None:
        stem = PurePosixPath(name).stem
        with suppress(InputError):
            if DATED_NAME.fullmatch(stem):
                seconds = self._read(stem, name)
                return NamedDate(seconds, seconds + 86_400, exact=True)
        return None

    @property
    def _day_first(self) -> bool:
        return self._orders[True] >= self._orders[False]

    @cached_property
    def _orders(self) -> Counter[bool]:
        """Count the dates that can only be read with the day first (True), and only with the month first (False)."""
        orders: Counter[bool] = Counter()
        for name, fields in self._notes():
            for value in (PurePosixPath(name).stem, *_dates_of(fields)):
                possible = possible_orders(value)
                orders.update(possible if len(possible) == 1 else ())
        return orders

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


def date_in_fields(fields: Mapping[str, Any], read: Callable[[Any], float] = read_date) -> float | None:
    """Return the first date in a note's metadata; None if no field is meant as one. Raises InputError if all are
    bad."""
    problem: InputError | None = None
    for value in _dates_of(fields):
        try:
            return read(value)
        except InputError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return None


def _dates_of(fields: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the metadata's values that are meant as dates, the most reliable field first."""
    for name in FIELDS:
        value = fields.get(name)
        if isinstance(value, dict):  # Material for MkDocs: date: {created: ...}
            inner = {str(key).lower(): when for key, when in value.items()}
            yield from (inner[name] for name in FIELDS if not isinstance(inner.get(name), (dict, NoneType)))
        elif not (value is None or isinstance(value, bool) or (isinstance(value, str) and value.lower() in NO_DATE)):
            yield value


def dates_in_log(folder: Path) -> dict[str, float]:
    """Return when each of a folder's files was first committed to git, in Unix seconds, by its present name. Renames
    are followed."""
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
