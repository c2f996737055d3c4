"""Importing an export that PEARL itself made: first its documents, then voices, drafts, feedback and profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection

from pearl.errors import InputError, NotFound
from pearl.text.files.json_stream import JsonStream, as_object
from pearl.text.history.files import decompressed, parse_document, reading
from pearl.text.templates import DEFAULT_TEMPLATE, load_template
from pearl.text.usable import check_id
from service.importing.run import ImportSummary, run_import
from service.importing.sources.archive import CountingReader
from service.importing.sources.base import Importer, Item, Items, LeftOut, Options, SourceDocument
from service.store import apart, drafts, feedback, profiles, users, voices
from service.store.database import Database
from service.store.drafts import StoredDraft
from service.store.users import User
from service.store.voices import Voice

EXPORT = "export"
KINDS = ("set_apart", "voices", "drafts", "feedback", "profiles")


@dataclass(frozen=True, slots=True)
class RestoreCounts:
    """The outcome of restoring the items of one kind, such as drafts."""

    restored: int = 0
    already_there: int = 0
    problems: tuple[str, ...] = ()  # an error for each of the others


@dataclass(slots=True)
class ExportReader:
    """The importer for exports: ``read`` yields the documents and collects all other items, by kind, in ``others``."""

    name: str = EXPORT
    summary: str = "An export of PEARL's own, whole (GET /v1/export, pearl export)."
    examples: tuple[str, ...] = (
        "pearl import export pearl-export.json",
        "pearl import export pearl-export.json --user ann",
    )
    unit: str = "bytes"
    needs_user: bool = False
    needs_me: bool = False
    stable_ids: bool = True
    template: str = DEFAULT_TEMPLATE
    looked_at: bool = True  # its documents are set apart as they were, or not
    user: str | None = None  # the export's user, known after reading
    others: dict[str, list[Any]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def size(self, source: Path) -> int | None:
        return source.stat().st_size

    def read(self, source: Path, options: Options) -> Items:
        """Yield the documents; a document without a voice gets the options' voice. Raises InputError if the file is no
        export."""
        self.user = options.user
        with reading(source) as raw, BufferedReader(CountingReader(raw, options.advance)) as counted:
            try:
                yield from self._documents(source, decompressed(counted), options)
            except InputError as error:
                raise InputError(f"{source}: {error.message}", param=error.param, code=error.code) from None

    def _documents(self, source: Path, stream: IO[bytes], options: Options) -> Items:
        position = 0
        for index, (name, value) in enumerate(JsonStream(stream).members()):
            if index == 0 and (name, value) != ("object", "export"):
                raise InputError("is not an export of PEARL's ('object' is not 'export').", code="not_an_export")
            if name == "user_id" and self.user is None:
                self.user = check_id(value, param="user_id")
            elif name in self.others:
                self.others[name].append(value)
            elif name == "documents":
                position += 1
                if isinstance(value, dict) and value.get("set_apart") is not None:
                    self.others["set_apart"].append({name: value.get(name) for name in ("id", "set_apart", "mine")})
                yield self._item(value, f"{source}: documents.{position}", options)

    def prepare(self, connection: Connection, owners: Mapping[str, int]) -> None:
        """Create the voices that the export marks as local only, so that their documents are protected from the
        beginning."""
        for line in self.others["voices"]:
            if isinstance(line, dict) and line.get("local_only") is True:
                with suppress(InputError):  # it is told when the voices are restored
                    for owner in owners.values():
                        _keep_here(connection, owner, voices.check_name(line.get("name")))

    def _item(self, value: Any, where: str, options: Options) -> Item:
        if self.user is None:
            raise InputError("names no user; say whose it is with --user.", param="user_id", code="missing_user")
        try:
            document = parse_document(as_object(value))
        except InputError as error:
            return LeftOut.because_of(error, where)
        return SourceDocument(self.user, document if document.voice else replace(document, voice=options.voice), where)


def import_export(
    database: Database,
    reader: Importer,
    source: Path,
    options: Options,
    check_draft: Callable[[StoredDraft], None],
    *,
    called: str | None = None,
    there: User | None = None,
) -> tuple[ImportSummary, dict[str, RestoreCounts]]:
    """Import the documents of an export, then restore everything else in it. ``reader``: an ExportReader, or a wrapper
    of one; ``check_draft``: raises an error for a malformed draft; ``called``: the name that the import is recorded by,
    instead of the path; ``there``: the user, if known to exist.

    Raises InputError if neither the options nor the export name a user, NotFound if ``there`` is deleted while it runs.
    """
    summary = run_import(database, reader, source, options, called=called, there=there)
    user, others = reader.user, reader.others  # type: ignore[attr-defined]
    if user is None:
        raise InputError(f"{source}: it names no user; say whose it is with --user.", param="user")
    with database.write() as connection:
        owner = there or users.ensure(connection, {user})[user]
        return summary, restore(connection, owner.id, others, check_draft)


def restore(
    connection: Connection, owner: int, others: Mapping[str, Sequence[Any]], check_draft: Callable[[StoredDraft], None]
) -> dict[str, RestoreCounts]:
    """Restore everything in an export except its documents, which must be stored already; return the counts by kind.

    Existing items stay unchanged, except a voice without any settings. Raises NotFound if the user was deleted.
    """
    if not users.lock(connection, {owner}):
        raise NotFound("This user was deleted.", code="user_not_found")
    restorers: dict[str, Callable[[dict[str, Any]], bool]] = {
        "set_apart": partial(apart.restore, connection, owner),
        "voices": partial(_restore_voice, connection, owner),
        "drafts": partial(_restore_draft, connection, owner, check_draft),
        "feedback": partial(feedback.restore, connection, owner),
        "profiles": partial(profiles.restore, connection, owner),
    }
    return {kind: _restore_each(kind, others[kind], put) for kind, put in restorers.items()}


def _restore_each(kind: str, items: Sequence[Any], put: Callable[[dict[str, Any]], bool]) -> RestoreCounts:
    restored = 0
    problems = []
    for position, item in enumerate(items, start=1):
        try:
            restored += put(as_object(item))
        except InputError as error:
            problems.append(f"{kind}.{position}: {error.message}")
    return RestoreCounts(restored, len(items) - restored - len(problems), tuple(problems))


def _restore_draft(
    connection: Connection, owner: int, check: Callable[[StoredDraft], None], line: dict[str, Any]
) -> bool:
    try:
        check(drafts.of_line(line))
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # stored, it would break every list of drafts
        raise InputError(
            "The draft is not in the form in which PEARL exports one; leave its line out.", code="invalid_draft"
        ) from error
    return drafts.restore(connection, owner, line)


def _restore_voice(connection: Connection, owner: int, line: dict[str, Any]) -> bool:
    name = voices.check_name(line.get("name"))
    instructions, template, k = line.get("instructions", ""), line.get("template", DEFAULT_TEMPLATE), line.get("k")
    if not isinstance(instructions, str) or not (k is None or (type(k) is int and 1 <= k <= 20)):
        raise InputError("'instructions' must be a string and 'k' a number from 1 to 20.", param="k")
    values = {
        "instructions": voices.check_instructions(instructions),
        "template": load_template(str(template)).name,
        "k": k,
        "edges": line.get("edges", True),
    }
    for param in ("local_only", "edges"):
        if type(line.get(param, False)) is not bool:
            raise InputError(f"'{param}' must be true or false.", param=param)
    stricter = line.get("local_only", False) and _keep_here(connection, owner, name)
    existing = next((voice for voice in voices.list_all(connection, owner) if voice.name == name), Voice(name))
    current, untouched = ({field: getattr(voice, field) for field in values} for voice in (existing, Voice(name)))
    if (current == values and existing.created_at) or current != untouched:
        return stricter
    voices.put(connection, owner, name, values)
    return True


def _keep_here(connection: Connection, owner: int, name: str) -> bool:
    """Make the voice local only, whatever its other settings. Return False if it was local only before."""
    if name in voices.local_only(connection, owner):
        return False
    voices.put(connection, owner, name, {"local_only": True})
    return True
