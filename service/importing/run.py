"""Importing a source into users' histories: read its items, check them, and add them in batches."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from pearl.errors import InputError, Interrupted, PearlError, StoreError
from pearl.records import Document
from pearl.style.manner.edits import MOSTLY, edit_between
from pearl.text.history.watched import ReadingWatch, watched
from pearl.text.language import detect
from pearl.text.recipients import check_document
from pearl.text.templates import COMMIT, DEFAULT_TEMPLATE
from pearl.text.usable import check_characters, check_id, check_text, counted, parse_timestamp, storable
from pearl.text.words import count_words
from service.importing.sources.base import Importer, Items, LeftOut, Options, Remark, SourceDocument
from service.importing.sources.git import whole_message
from service.importing.sources.identities import Identities, Sender
from service.process.git_process import LONGEST_WAIT_S
from service.process.temporary import clear_abandoned
from service.store import apart, documents, drafts, imports, users
from service.store.database import Database
from service.store.documents import Addition, AddOutcome
from service.store.ids import new_id
from service.store.imports import ImportNote
from service.store.tables import documents as documents_table
from service.store.user_counts import count_documents
from service.store.users import User
from service.store.voices import check_name

DRAFTED = "mostly a draft of PEARL's"
NAME_KEPT = 40  # characters: a plug-in's name may be longer than the column
NAMES = {
    AddOutcome.CREATED: "imported",
    AddOutcome.REPLACED: "replaced",
    AddOutcome.EXISTS: "already_there",
    AddOutcome.CONFLICT: "conflicts",
}


@dataclass(frozen=True, slots=True)
class Gone:
    """A user's documents that an earlier import of a source brought and that the source no longer holds."""

    user_id: int
    user: str
    document_ids: tuple[str, ...]
    brought: int  # all documents that came from the source


class ImportRecord:
    """Counts what an import did, and stores the counts for each user who got documents from it."""

    def __init__(
        self, importer: str, source: str, *, update: bool, mine: bool | None = None, looked_at: bool = False
    ) -> None:
        self._importer = importer[:NAME_KEPT]
        self._source = storable(source)
        self._update = update
        self._mine, self._looked_at = mine, looked_at  # of every document that the import brings
        self._seen: dict[str, set[str]] = {}  # ids of documents by user; only in an update
        self._counts: dict[str, Counter[str]] = {}
        self._intended: dict[str, str] = {}  # ids by user, for imports that may bring nothing
        self.ids: dict[str, str] = {}  # of the recorded imports, by user

    def additions(self, batch: Sequence[SourceDocument], user_ids: Mapping[str, int]) -> list[Addition]:
        return [self._addition(item, user_ids[item.user]) for item in batch]

    def _addition(self, item: SourceDocument, user_id: int) -> Addition:
        if item.user not in self._intended:
            self._intended[item.user] = new_id("import")
        import_id = self._intended[item.user]
        if not self._update:
            return Addition(user_id, item.document, import_id, mine=self._mine, looked_at=self._looked_at)
        seen = self._seen.setdefault(item.user, set())
        replaces = item.document.id not in seen  # of two texts with the same id in one source, the first stays
        seen.add(item.document.id)
        return Addition(user_id, item.document, import_id, replaces, self._mine, self._looked_at)

    def write(
        self,
        connection: Connection,
        batch: Sequence[SourceDocument],
        outcomes: Sequence[AddOutcome],
        user_ids: Mapping[str, int],
    ) -> None:
        """Count a batch's outcomes, and store the import's counts so far, in the transaction that stores the batch."""
        for item, outcome in zip(batch, outcomes, strict=True):
            counts = self._counts.setdefault(item.user, Counter())
            counts[NAMES[outcome]] += 1
            if outcome in (AddOutcome.CREATED, AddOutcome.REPLACED):
                self.ids[item.user] = self._intended[item.user]
        self._note(connection, self.ids.keys() & {item.user for item in batch}, user_ids, {})

    def finish(self, connection: Connection, user_ids: Mapping[str, int], left_out: Mapping[str, int]) -> int:
        """Store how many items were left out, by reason. Return how many imported texts were set apart: not learned
        from, because they read like an assistant's prose."""
        users.lock(connection, set(user_ids.values()))
        apart.excuse(connection, user_ids.values())
        set_apart = {
            name: count_documents(connection, user_ids[name], apart.IS_APART, documents_table.c.import_id == id)
            for name, id in self.ids.items()
        }
        for name, count in set_apart.items():
            self._counts[name].update({"set_apart": count} if count else {})
        self._note(connection, self.ids.keys(), user_ids, {"left_out": dict(left_out)})
        return sum(set_apart.values())

    def _note(
        self, connection: Connection, names: Collection[str], user_ids: Mapping[str, int], more: dict[str, Any]
    ) -> None:
        notes = [ImportNote(self.ids[name], user_ids[name], {**self._counts[name], **more}) for name in sorted(names)]
        imports.record(connection, notes, importer=self._importer, source=self._source)

    def gone(self, database: Database, owner: str | None) -> tuple[Gone, ...]:
        """Find the documents that earlier imports of this source brought but this import did not find. ``owner``: a
        user to look at even if this import found none of their documents."""
        gone = []
        with database.read() as connection:
            for name in sorted({*self._seen, *([] if owner is None else [owner])}):
                user = users.find(connection, name)
                if user is None:
                    continue
                brought = imports.ids_of_source(connection, user.id, importer=self._importer, source=self._source)
                missing = brought - self._seen.get(name, set())
                if missing:
                    gone.append(Gone(user.id, name, tuple(sorted(missing)), len(brought)))
        return tuple(gone)


def remove_gone(database: Database, gone: Sequence[Gone]) -> int:
    """Delete the documents that are gone from their source, and overwrite their traces in the database's files. Return
    the number of deleted documents."""
    with database.write() as connection:
        removed = sum(imports.remove_documents(connection, missing.user_id, missing.document_ids) for missing in gone)
    with suppress(StoreError):  # they are deleted; `pearl serve` overwrites their traces later
        database.forget_deleted()
    return removed


BATCH_DOCUMENTS = 1_000
BATCH_CHARACTERS = 8_000_000  # a whole batch is in memory, and a document may have a megabyte
ERRORS_KEPT = 100
MOST_ERRORS = 100_000  # allowed without usable texts: a small file may hold millions
NO_LANGUAGE = "unknown"  # of texts that are too short to tell, or in a language that is not known
UNREADABLE = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """An error in one item of the source. ``where``: the item's place (``file:line`` or the like)."""

    where: str
    message: str
    field: str | None = None  # the part of the item at fault

    def __str__(self) -> str:
        if self.field is None:
            return f"{self.where}: {self.message}"
        message = self.message.removeprefix(f"'{self.field}' ")
        return f"{self.where}: {self.field}: {message}"


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The outcome of an import: counts of documents, errors, and remarks for the person."""

    imported: int
    replaced: int
    already_there: int
    conflicts: int
    left_out: dict[str, int]  # by reason
    languages: dict[str, int]  # of what is imported or replaced, by ISO 639 code
    errors: tuple[ImportProblem, ...]  # the first ERRORS_KEPT
    errors_total: int
    users: int
    seconds: float
    import_ids: dict[str, str] = field(default_factory=dict)  # by user, for users to whom it brought something
    gone: tuple[Gone, ...] = ()  # still in the histories, but an update no longer found them in the source
    unmatched_me: tuple[str, ...] = ()  # identities given with --me that no sender in the source has
    senders: tuple[Sender, ...] = ()  # the commonest ones, if there are such identities
    remarks: tuple[str, ...] = ()
    refused: bool = False  # by --strict: nothing was stored
    set_apart: int = 0  # of those imported, texts that are no samples: they read like an assistant's prose

    @property
    def nothing_usable(self) -> bool:
        return not (self.imported or self.replaced or self.already_there or self.conflicts or self.gone or self.refused)


def run_import(
    database: Database,
    importer: Importer,
    source: Path,
    options: Options,
    *,
    strict: bool = False,
    update: bool = False,
    with_machine: bool = False,
    batch_documents: int = BATCH_DOCUMENTS,
    called: str | None = None,
    there: User | None = None,
) -> ImportSummary:
    """Import a source in batches, with a transaction for each; with ``strict`` in one transaction, undone by any error.

    With ``update`` a changed document replaces its earlier version. Texts that read like an assistant's prose are set
    apart (not learned from), unless ``with_machine`` says that they are the user's. ``called``: the source's name in
    the record, instead of its path. Users who do not exist are created, except ``there``, a user known to exist.

    Raises InputError if the source cannot be read, StoreError if the database fails, Interrupted for Ctrl-C. The
    message says how many documents are stored; the same import run again adds the rest.
    """
    started = time.monotonic()
    # plug-ins may lack these attributes, which are newer
    template = getattr(importer, "template", DEFAULT_TEMPLATE)
    ids_stay = getattr(importer, "stable_ids", False)
    if update and not ids_stay:
        raise InputError(
            f"--update: a document of '{importer.name}' does not keep its id when it is changed; import without it.",
            param="update",
        )
    _check_source(source)
    clear_abandoned()
    tally, set_apart = _Tally(), 0
    ids = {} if there is None else {there.name: there.id}  # of the users found in the source so far
    watch = ReadingWatch(getattr(importer, "check", lambda: None))
    prepare = getattr(importer, "prepare", None)  # the store, in each transaction, before its documents
    record = ImportRecord(
        importer.name,
        called or str(source.resolve()),
        update=update,
        mine=with_machine or None,
        looked_at=getattr(importer, "looked_at", False),
    )
    transactions = _one_transaction(database) if strict else nullcontext(database.write)
    try:
        with watched(watch), closing(importer.read(source, options)) as items, transactions as transaction:
            drafted = _drafted_messages(database, options.user) if template == COMMIT else DraftedMessages({})
            for batch in _batches(_usable(items, tally, options.least_words, drafted), batch_documents):
                with transaction() as connection:
                    if new := {item.user for item in batch} - ids.keys():
                        ids |= {name: user.id for name, user in users.ensure(connection, new).items()}
                    if prepare is not None:
                        prepare(connection, ids)
                    outcomes = documents.add(connection, record.additions(batch, ids), template=template)
                    record.write(connection, batch, outcomes, ids)
                tally.count(batch, outcomes)
            if ids:
                with transaction() as connection:
                    set_apart = record.finish(connection, ids, tally.left_out)
            if strict and tally.errors_total:
                raise _Refused
    except _Refused:
        tally.forget_stored()
    except (StoreError, InputError) as error:
        raise _with_stored(error, 0 if strict else tally.stored) from error
    except KeyboardInterrupt:  # also between the end of a batch's transaction and its count
        stored = "nothing is stored" if strict else f"at least {tally.stored:,} documents are stored"
        raise Interrupted(f"Stopped; {stored}. The same command adds what is missing.") from None
    if tally.outcomes[AddOutcome.REPLACED]:
        with suppress(StoreError):  # all is stored; `pearl serve` overwrites the traces later
            database.forget_deleted()  # the earlier versions
    if tally.outcomes[AddOutcome.CONFLICT] and ids_stay and not update:
        tally.remarks.append("--update takes over what differs, another --voice too.")
    if tally.unreadable and not tally.refused:
        texts = counted(tally.unreadable, "text")
        tally.remarks.append(
            f"Characters that could not be read ({UNREADABLE}): {texts}, first {tally.first_unreadable}."
        )
    gone = record.gone(database, options.user) if update and not tally.refused else ()
    summary = tally.summary(len(ids), options.identities, time.monotonic() - started)
    return summary if tally.refused else replace(summary, import_ids=record.ids, gone=gone, set_apart=set_apart)


def _check_source(source: Path) -> None:
    if not source.exists():
        raise InputError(f"{source}: there is no such file or folder.", param="source", code="missing_file")
    if source.is_char_device() or source.is_block_device():  # which may never end
        raise InputError(f"{source}: is a device; write what it gives to a file and import that.", code="is_a_device")


class _Refused(Exception):
    """Raised to roll back a strict import that had errors."""


@contextmanager
def _one_transaction(database: Database) -> Iterator[Callable[[], AbstractContextManager[Connection]]]:
    with database.write() as connection:
        yield lambda: nullcontext(connection)


def _drafted_messages(database: Database, user: str | None) -> DraftedMessages:
    with database.read() as connection:
        known = users.find(connection, user) if user else None
        return DraftedMessages.of_user(connection, known.id) if known else DraftedMessages({})


def _usable(items: Items, tally: _Tally, least_words: int, drafted: DraftedMessages) -> Iterator[SourceDocument]:
    usable = 0
    for item in items:
        if isinstance(item, SourceDocument):
            try:
                _check(item)
            except InputError as error:
                item = LeftOut.because_of(error, item.where)
            else:
                if least_words and count_words(item.document.text) < least_words:
                    item = LeftOut(item.where, f"fewer than {least_words:,} words")
                elif item.document in drafted:
                    item = LeftOut(item.where, DRAFTED)
        if isinstance(item, LeftOut):
            tally.leave_out(item)
            if tally.errors_total > MOST_ERRORS + 10 * usable:
                raise InputError(
                    f"{item.where}: {MOST_ERRORS:,} entries cannot be used, and next to none can; the first, at "
                    f"{tally.errors[0]} Is it the right kind?",
                    code="nothing_usable",
                )
        elif isinstance(item, Remark):
            tally.remarks.append(item.text)
        else:
            usable += 1
            yield item


def _check(item: SourceDocument) -> None:
    """Check an item of any importer, plug-ins included, so that nothing unusable reaches the store."""
    document = item.document
    check_id(item.user, param="user_id")
    check_id(document.id)
    check_text(document.text)
    if document.timestamp is not None:
        parse_timestamp(document.timestamp)
    if document.request is not None:
        check_characters(document.request, param="request")
    if document.voice is not None:
        check_name(document.voice, param="voice")
    check_document(document)


def _batches(items: Iterable[SourceDocument], size: int) -> Iterator[list[SourceDocument]]:
    batch: list[SourceDocument] = []
    characters = 0
    try:
        for item in items:
            batch.append(item)
            characters += len(item.document.text)
            if len(batch) >= size or characters >= BATCH_CHARACTERS:
                yield batch
                batch, characters = [], 0
    except InputError:  # the source broke off; the items before that are good
        if batch:
            yield batch
        raise
    if batch:
        yield batch


@dataclass(slots=True)
class _Tally:
    """The counts of an import while it runs."""

    outcomes: Counter[AddOutcome] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    errors: list[ImportProblem] = field(default_factory=list)
    errors_total: int = 0
    remarks: list[str] = field(default_factory=list)
    refused: bool = False
    unreadable: int = 0  # texts or requests with characters that could not be read
    first_unreadable: str = ""

    def count(self, batch: list[SourceDocument], outcomes: list[AddOutcome]) -> None:
        self.outcomes.update(outcomes)
        for item, outcome in zip(batch, outcomes, strict=True):
            new = outcome in (AddOutcome.CREATED, AddOutcome.REPLACED)
            if new:
                self.languages[detect(item.document.text) or NO_LANGUAGE] += 1
            if new and UNREADABLE in f"{item.document.text}{item.document.request}":
                self.unreadable += 1
                self.first_unreadable = self.first_unreadable or item.where
            if outcome is AddOutcome.CONFLICT:
                message = f"'{item.document.id}' is already there with another text, request or voice; the first stays."
                self._problem(ImportProblem(item.where, message, "id"))

    def leave_out(self, item: LeftOut) -> None:
        self.left_out[item.reason] += 1
        if item.error is not None:
            self._problem(ImportProblem(item.where, item.error, item.field))

    def _problem(self, problem: ImportProblem) -> None:
        self.errors_total += 1
        if len(self.errors) < ERRORS_KEPT:
            self.errors.append(problem)

    @property
    def stored(self) -> int:
        return self.outcomes[AddOutcome.CREATED] + self.outcomes[AddOutcome.REPLACED]

    def forget_stored(self) -> None:
        self.outcomes[AddOutcome.CREATED] = self.outcomes[AddOutcome.REPLACED] = 0
        self.languages.clear()
        self.refused = True

    def summary(self, known_users: int, identities: Identities, seconds: float) -> ImportSummary:
        return ImportSummary(
            imported=self.outcomes[AddOutcome.CREATED],
            replaced=self.outcomes[AddOutcome.REPLACED],
            already_there=self.outcomes[AddOutcome.EXISTS],
            conflicts=self.outcomes[AddOutcome.CONFLICT],
            left_out=dict(self.left_out.most_common()),
            languages=dict(self.languages.most_common()),
            errors=tuple(self.errors),
            errors_total=self.errors_total,
            users=known_users,
            seconds=seconds,
            unmatched_me=identities.unmatched,
            senders=identities.commonest_others() if identities.unmatched else (),
            remarks=(*self.remarks, *identities.several()),
            refused=self.refused,
        )


def _with_stored(error: PearlError, stored: int) -> PearlError:
    if isinstance(error, InputError) and not stored:
        return error
    return type(error)(
        f"{error.message.rstrip('.')}. {stored:,} documents were stored before; the same command adds the rest.",
        param=error.param,
        code=error.code,
        retry_after=error.retry_after,
    )


@dataclass(frozen=True, slots=True)
class DraftedMessages:
    """A user's drafts, used to recognize commit messages that PEARL wrote."""

    by_line: dict[str, set[tuple[float, str]]]  # line -> (time, text) of each draft with that line

    @classmethod
    def of_user(cls, connection: Connection, user_id: int) -> DraftedMessages:
        by_line = defaultdict(set)
        for created_at, text in drafts.texts(connection, user_id):
            for line in _lines(text):
                by_line[line].add((created_at, text))
        return cls(dict(by_line))

    def __contains__(self, document: Document) -> bool:
        """True if a commit message is mostly a draft of PEARL's: it shares a line with the draft, and more than half of
        its words come from the draft. The draft must be no more than a few minutes younger than the commit."""
        if not self.by_line:
            return False
        message = whole_message(document).text
        return any(
            created_at <= (document.timestamp or 0.0) + LONGEST_WAIT_S
            and edit_between(text, message).machine_share > MOSTLY
            for created_at, text in set().union(*(self.by_line.get(line, ()) for line in _lines(message)))
        )


def _lines(message: str) -> set[str]:
    return {line.strip() for line in message.splitlines()} - {""}
