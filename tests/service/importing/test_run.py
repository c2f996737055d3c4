from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import event

from pearl.errors import InputError, Interrupted, StoreError
from pearl.records import Document
from pearl.text.templates import template_names
from service.importing.restore import ExportReader
from service.importing.run import BATCH_DOCUMENTS, ERRORS_KEPT, ImportProblem, remove_gone, run_import
from service.importing.sources.base import Importer, LeftOut, Options, SourceDocument, importer_names, load_importer
from service.store import apart, documents, imports, users, voices
from service.store.apart import Mark
from service.store.database import Database
from tests.laid import zipped


@dataclass
class FakeImporter:
    """Yields what it was given; an exception among it is raised."""

    items: list[object] = field(default_factory=list)
    name: str = "fake"
    summary: str = "For tests."
    examples: tuple[str, ...] = ()
    unit: str = "bytes"
    needs_user: bool = False
    needs_me: bool = False
    closed: bool = False

    def size(self, source: Path) -> int | None:
        return None

    def read(self, source: Path, options: Options):
        try:
            for item in self.items:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self.closed = True


def found(number: int, text: str | None = None, user: str = "ann", **fields) -> SourceDocument:
    document = Document(str(number), f"Cup {number}." if text is None else text, 1_700_000_000.0 + number, **fields)
    return SourceDocument(user, document, f"fake:{number}")


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'pearl.db'}", timeout_s=0.2)
    made.migrate()
    yield made
    made.close()


def run(database, items, *, strict=False, batch=BATCH_DOCUMENTS):
    return run_import(database, FakeImporter(list(items)), Path("/"), Options(), strict=strict, batch_documents=batch)


def stored(database, user="ann") -> list[Document]:
    with database.read() as connection:
        known = users.find(connection, user)
        return [] if known is None else documents.all_of_user(connection, known.id)


@dataclass
class Left:
    """An importer whose caller leaves while it reads the third piece."""

    importer: Importer
    looked: int = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.importer, name)

    def check(self) -> None:
        self.looked += 1
        if self.looked == 3:
            raise Interrupted("Stopped.")


def tarred(name: str, content: bytes) -> bytes:
    data, member = io.BytesIO(), tarfile.TarInfo(name)
    member.size = len(content)
    with tarfile.open(fileobj=data, mode="w") as packed:
        packed.addfile(member, io.BytesIO(content))
    return data.getvalue()


MAIL = b"From a@b Mon Mar  3 09:12:00 2025\nFrom: a@b\nDate: Mon, 03 Mar 2025 10:12:00 +0100\n\n"
NOISE = b"".join(sha256(bytes([number % 256, number // 256])).digest() for number in range(30_000))  # packs to itself
NUMBERS = b"[" + b"1," * 500_000 + b"1]"
SILENT = {
    "bluesky a.car": b"\x0a\xa1eroots\x81A0" + b"\x01\x00" * 500_000,
    "jsonl a.jsonl": b"\n" * 1_000_000,
    "jsonl a.jsonl.gz": gzip.compress(NOISE),
    "mbox a.mbox": MAIL + NOISE,
    "mbox a.mbox.gz": gzip.compress(MAIL + NOISE),
    "mbox a.zip": zipped({"a.mbox": MAIL + NOISE}),
    "mbox b.zip": zipped({"a.mbox.gz": gzip.compress(MAIL + NOISE)}),
    "mbox mac": (MAIL + NOISE.replace(b"\n", b"")).replace(b"\n", b"\r"),
    "slack a.zip": zipped({"tea/2024-03-01.json": NUMBERS}),
    "telegram result.json": b'{"messages": ' + NUMBERS + b"}",
    "x tweets.js": b"window.YTD.tweets.part0 = " + NUMBERS,
    "reddit comments.csv": b"id,date,body\n" + b"\n" * 1_000_000,
    "whatsapp _chat.txt": b"13.03.24, 09:12 - Bob: Tea.\n" * 20_000,
    "markdown a.zip": zipped({"a.md": NOISE}),
    "markdown a.docx": zipped({"word/document.xml": b"<a>" + b"<b/>" * 250_000 + b"</a>"}),
    "markdown a.jex": tarred("a.md", NOISE),
    "export a.json": b'{"object": "export", "user_id": "ann", "more": ' + NUMBERS + b"}",
}


@pytest.mark.parametrize("row", SILENT)
def test_a_source_that_yields_nothing_is_stopped_by_what_is_read(database, tmp_path, row):
    kind, _, name = row.partition(" ")
    (tmp_path / name).write_bytes(SILENT[row])
    left = Left(ExportReader() if kind == "export" else load_importer(kind))
    with pytest.raises(Interrupted):
        run_import(database, left, tmp_path / name, Options(user="ann", me=("ann@example.org",)))
    assert left.looked == 3


def test_a_source_of_errors_alone_is_given_up(database, tmp_path, monkeypatch):
    monkeypatch.setattr("service.importing.run.MOST_ERRORS", 20)
    good = '{"user_id": "ann", "id": "%d", "timestamp": 1, "text": "Tea."}\n'
    (source := tmp_path / "h.jsonl").write_text("".join(good % number for number in range(3)) + "1\n" * 1_000)
    with pytest.raises(
        InputError, match=r"h\.jsonl:54: 20 entries cannot be used.*h\.jsonl:4: must be a JSON"
    ) as caught:
        run_import(database, load_importer("jsonl"), source, Options())
    assert caught.value.code == "nothing_usable"
    source.write_text("".join(good % number for number in range(10)) + "1\n" * 100)
    assert run_import(database, load_importer("jsonl"), source, Options()).errors_total == 100


MACHINE = (
    "I hope this email finds you well. I wanted to reach out about the rails. Thank you for your patience and "
    "understanding. Please don't hesitate to contact me."
)


def test_texts_of_an_assistant_are_set_apart_and_counted(database):
    written = [found(number, f"{number}. {MACHINE}", "bob") for number in range(20, 50)]
    old = [replace(each, document=replace(each.document, timestamp=1.5e9)) for each in written]
    items = [found(1, MACHINE), found(2), found(3, MACHINE, "bob"), *old]
    assert run(database, items, batch=2).set_apart == 1  # bob always wrote so
    assert run(database, items).set_apart == 0
    with database.read() as connection:
        ann = users.get(connection, "ann").id
        assert apart.marks(connection, ann) == {"1": Mark("machine_prose")}
        assert imports.list_all(connection, ann)[0].counts["set_apart"] == 1


def test_with_machine_takes_all_texts_as_the_users(database):
    summary = run_import(database, FakeImporter([found(1, MACHINE)]), Path("/"), Options(), with_machine=True)
    assert summary.set_apart == 0
    with database.read() as connection:
        ann = users.get(connection, "ann").id
        assert apart.marks(connection, ann) == {"1": Mark("machine_prose", True)}


def test_documents_come_into_the_histories_of_their_users(database):
    summary = run(database, [found(1, voice="chat", request="When?"), found(2), found(3, user="bob")])
    assert (summary.imported, summary.already_there, summary.conflicts, summary.users) == (3, 0, 0, 2)
    assert (summary.left_out, summary.errors) == ({}, ())
    assert stored(database)[0] == Document("1", "Cup 1.", 1_700_000_001.0, "When?", "chat")
    assert len(stored(database, "bob")) == 1
    with database.read() as connection:
        assert [voice.name for voice in voices.list_all(connection, users.get(connection, "ann").id)] == ["chat"]


def test_a_second_run_imports_nothing(database):
    items = [found(number) for number in range(2_500)]
    assert run(database, items).imported == 2_500
    again = run(database, items)
    assert (again.imported, again.already_there, again.conflicts) == (0, 2_500, 0)
    assert len(stored(database)) == 2_500


@pytest.mark.parametrize("batch", [1, 2, 3, 1_000])
def test_an_id_with_another_text_is_a_conflict_and_the_first_stays(database, batch):
    summary = run(database, [found(1), found(1), found(1, "Milk."), found(2)], batch=batch)
    assert (summary.imported, summary.already_there, summary.conflicts) == (2, 1, 1)
    assert [document.text for document in stored(database)] == ["Cup 1.", "Cup 2."]
    (problem,) = summary.errors
    assert str(problem).startswith("fake:1: id: '1' is already there with another text")


def test_what_is_left_out_is_counted_by_reason(database):
    left = [LeftOut("a", "no text"), LeftOut("b", "no text"), LeftOut("c", "wrong type", "'x' must be a string.", "x")]
    summary = run(database, [*left, found(1)])
    assert summary.left_out == {"no text": 2, "wrong type": 1}
    assert [str(problem) for problem in summary.errors] == ["c: x: must be a string."]
    assert summary.errors_total == 1


@pytest.mark.parametrize(
    ("bad", "field_", "reason"),
    [
        (found(1, ""), "text", "empty text"),
        (found(1, "a\0b"), "text", "nul character"),
        (found(1, "half \ud83d"), "text", "invalid unicode"),
        (found(1, "x" * 1_000_001), "text", "text too large"),
        (found(1, user=" "), "user_id", "invalid id"),
        (SourceDocument("ann", Document("", "Tea."), "fake:1"), "id", "invalid id"),
        (SourceDocument("ann", Document("1", "Tea.", 9e9), "fake:1"), "timestamp", "future timestamp"),
        (found(1, request="a\0"), "request", "nul character"),
        (found(1, voice=""), "voice", "invalid id"),
        (found(1, voice="pearl"), "voice", "invalid value"),
    ],
)
def test_no_importer_can_store_what_is_unusable(database, bad, field_, reason):
    summary = run(database, [bad, found(2)])
    assert summary.imported == 1
    assert summary.left_out == {reason: 1}
    assert [(problem.where, problem.field) for problem in summary.errors] == [("fake:1", field_)]


def test_texts_with_unreadable_characters_are_counted_once(database):
    items = [found(1), found(2, "Th\N{REPLACEMENT CHARACTER}"), found(3, request="Th\N{REPLACEMENT CHARACTER}?")]
    remark = "Characters that could not be read (\N{REPLACEMENT CHARACTER}): 2 texts, first fake:2."
    assert run(database, items).remarks == (remark,)
    assert run(database, items).remarks == ()  # nothing new


def test_short_documents_are_left_out_if_wanted(database):
    texts = ["", "Tea.", "Tea at four.", "Tea at four, please.", "四時にお茶をください。"]
    items = [found(number, text) for number, text in enumerate(texts)]
    summary = run_import(database, FakeImporter(items), Path("/"), Options(least_words=3))
    assert summary.left_out == {"empty text": 1, "fewer than 3 words": 1}
    assert [document.text for document in stored(database)] == texts[2:]


def test_only_the_first_errors_are_kept(database):
    summary = run(database, [LeftOut(str(number), "wrong type", "is wrong") for number in range(250)])
    assert (len(summary.errors), summary.errors_total) == (ERRORS_KEPT, 250)
    assert summary.nothing_usable


def test_nothing_at_all_is_nothing_usable(database):
    assert run(database, []).nothing_usable
    assert not run(database, [found(1)]).nothing_usable
    assert not run(database, [found(1)]).nothing_usable  # already there is not nothing


@pytest.mark.parametrize("bad", [LeftOut("c", "wrong type", "is wrong"), found(1, "Other."), found(9, "")])
def test_strict_keeps_nothing_if_anything_is_wrong(database, bad):
    summary = run(database, [found(1), found(2), bad, found(3)], strict=True, batch=1)
    assert (summary.imported, summary.refused, summary.errors_total) == (0, True, 1)
    assert not summary.nothing_usable
    assert stored(database) == []


def test_strict_does_not_mind_what_is_left_out_on_purpose(database):
    summary = run(database, [found(1), LeftOut("c", "not written by --me")], strict=True)
    assert (summary.imported, summary.refused) == (1, False)
    assert len(stored(database)) == 1


def test_a_source_that_breaks_off_keeps_what_came_before(database):
    items = [*(found(number) for number in range(5)), InputError("h.jsonl.gz: cannot be read: it ends early")]
    with pytest.raises(InputError, match=r"ends early\. 5 documents were stored before"):
        run(database, items, batch=2)
    assert len(stored(database)) == 5


@pytest.mark.parametrize(
    ("strict", "kept", "said"), [(False, 4, "at least 4 documents are stored"), (True, 0, "nothing is stored")]
)
def test_ctrl_c_says_what_is_stored_and_how_to_go_on(database, strict, kept, said):
    items = [*(found(number) for number in range(5)), KeyboardInterrupt()]
    with pytest.raises(Interrupted, match=rf"^Stopped; {said}\. The same command adds what is missing\.$"):
        run(database, items, batch=2, strict=strict)
    assert len(stored(database)) == kept


def test_strict_keeps_nothing_of_a_source_that_breaks_off(database):
    with pytest.raises(InputError, match="it ends early"):
        run(database, [found(1), InputError("it ends early")], strict=True)
    assert stored(database) == []


def test_a_missing_source(database):
    with pytest.raises(InputError, match="no such file or folder"):
        run_import(database, FakeImporter(), Path("/nowhere/to/be/found"), Options())


@pytest.mark.parametrize("kind", ["mbox", "jsonl", "markdown", "slack"])
def test_a_device_is_no_source(database, kind):
    with pytest.raises(InputError, match="/dev/zero: is a device; write what it gives to a file"):
        run_import(database, load_importer(kind), Path("/dev/zero"), Options(user="ann", me=("ann",)))


def test_an_import_clears_the_folders_of_killed_ones(database, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "pearl-import-0").mkdir()
    (tmp_path / "pearl-import-0.lock").touch()
    run(database, [found(1)])
    assert not list(tmp_path.glob("pearl-import-*"))


def test_the_source_is_closed_when_the_database_fails(database):
    importer = FakeImporter([found(number) for number in range(10)])
    with locked(database), pytest.raises(StoreError):
        run_import(database, importer, Path("/"), Options(), batch_documents=2)
    assert importer.closed


def locked(database):
    class Lock:
        def __enter__(self):
            self.connection = sqlite3.connect(database.engine.url.database, isolation_level=None)
            self.connection.execute("BEGIN IMMEDIATE")

        def __exit__(self, *_):
            self.connection.execute("ROLLBACK")
            self.connection.close()

    return Lock()


@pytest.mark.parametrize("strict", [False, True])
def test_a_locked_database_half_way(database, strict):
    class Locking(FakeImporter):
        """Another program takes the lock when 25 documents were read."""

        def read(self, source, options):
            for number in range(50):
                if number == 25 and not strict:
                    lock.__enter__()
                yield found(number)

    lock = locked(database)
    if strict:
        lock.__enter__()
    stored_before = 0 if strict else 20
    with pytest.raises(StoreError, match=rf"locked by another program.* {stored_before} documents were stored before"):
        run_import(database, Locking(), Path("/"), Options(), strict=strict, batch_documents=10)
    lock.__exit__()
    assert len(stored(database)) == stored_before
    again = run(database, [found(number) for number in range(50)])
    assert (again.imported, again.already_there) == (50 - stored_before, stored_before)


@pytest.mark.parametrize("strict", [False, True])
def test_a_full_disk_leaves_nothing_half_written_and_a_rerun_completes(tmp_path, strict):
    items = [found(number, f"Cup {number}. " * 200) for number in range(400)]
    small = Database(f"sqlite:///{tmp_path / 'pearl.db'}")
    small.migrate()
    small.engine.dispose()

    def limit(connection, record):
        connection.execute("PRAGMA max_page_count = 150")

    event.listen(small.engine, "connect", limit)
    with pytest.raises(StoreError, match=r"disk is full.* \d+ documents were stored before") as caught:
        run(small, items, strict=strict, batch=50)
    kept = len(stored(small))
    small.close()
    assert f" {kept} documents were stored before" in caught.value.message
    assert caught.value.exit_status == 1
    assert kept % 50 == 0
    assert (kept == 0) is strict

    roomy = Database(f"sqlite:///{tmp_path / 'pearl.db'}")
    again = run(roomy, items)
    assert (again.imported, again.already_there) == (400 - kept, kept)
    roomy.close()


def test_a_batch_of_long_texts_is_cut_short(database, monkeypatch):
    sizes = []
    add = documents.add

    def counted(connection, additions, **options):
        sizes.append(len(additions))
        return add(connection, additions, **options)

    monkeypatch.setattr(documents, "add", counted)
    run(database, [found(number, f"{number}" + "x" * 900_000) for number in range(20)])
    assert sum(sizes) == 20
    assert max(sizes) < 10


def test_a_history_file_end_to_end(database, tmp_path):
    path = tmp_path / "history.jsonl"
    lines = [{"user_id": "ann", "id": number, "timestamp": number, "text": f"Cup {number}."} for number in range(3)]
    path.write_text("\n".join([*map(json.dumps, lines), '{"user_id": "ann", "id": "9", "timestamp": 1, "text": ""}']))
    summary = run_import(database, load_importer("jsonl"), path, Options())
    assert summary.imported == 3
    assert [str(problem) for problem in summary.errors] == [f"{path}:4: text: is empty; give at least one word."]


def test_a_problem_in_one_line():
    assert str(ImportProblem("a:1", "'text' is empty.", "text")) == "a:1: text: is empty."
    assert str(ImportProblem("a:1", "is not JSON")) == "a:1: is not JSON"


@dataclass
class Notes(FakeImporter):
    """Notes keep their ids when they are changed."""

    name: str = "notes"
    stable_ids: bool = True
    template: str = "post"


def update(database, items, **options):
    return run_import(database, Notes(list(items)), Path("/"), Options(user="ann"), update=True, **options)


def past(database, user="ann"):
    with database.read() as connection:
        return imports.list_all(connection, users.get(connection, user).id)


def test_an_import_is_recorded_for_each_of_its_users(database):
    summary = run(database, [found(1), found(2), found(3, user="bob"), LeftOut("a", "no text")], batch=1)
    (ann,), (bob,) = past(database), past(database, "bob")
    assert summary.import_ids == {"ann": ann.id, "bob": bob.id}
    assert (ann.importer, ann.source, ann.documents) == ("fake", "/", 2)
    assert ann.counts == {"imported": 2, "left_out": {"no text": 1}}
    assert bob.counts == {"imported": 1, "left_out": {"no text": 1}}
    again = run(database, [found(1), found(4), found(3, user="bob")])
    assert list(again.import_ids) == ["ann"]
    assert past(database)[0].counts == {"imported": 1, "already_there": 1, "left_out": {}}
    assert past(database, "bob") == [bob]


def test_a_refused_import_is_not_recorded(database):
    assert run(database, [found(1), found(2, "")], strict=True).import_ids == {}
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM imports").scalar() == 0


def test_a_source_that_breaks_off_is_recorded_as_far_as_it_came(database):
    with pytest.raises(InputError):
        run(database, [found(1), InputError("it ends early")])
    assert past(database)[0].counts == {"imported": 1}


def test_voices_get_the_template_of_their_kind_and_those_there_keep_their_own(database):
    run_import(database, FakeImporter([found(0, voice="diary")]), Path("/"), Options())
    run_import(database, Notes([found(1, voice="blog"), found(2, voice="diary")]), Path("/"), Options())
    with database.read() as connection:
        found_voices = voices.list_all(connection, users.get(connection, "ann").id)
    assert {voice.name: voice.template for voice in found_voices} == {"blog": "post", "diary": "free"}


@pytest.mark.parametrize(
    ("name", "template"), [("git", "commit"), ("markdown", "post"), ("mbox", "message"), ("jsonl", "free")]
)
def test_the_templates_of_the_importers(name, template):
    assert load_importer(name).template == template


def test_every_importer_says_whether_ids_stay_and_which_template_it_is():
    assert [name for name in importer_names() if not load_importer(name).stable_ids] == ["whatsapp"]
    assert all(load_importer(name).template in template_names() for name in importer_names())


@pytest.mark.parametrize("batch", [1, 1_000])
def test_an_update_replaces_what_was_changed_and_names_what_is_gone(database, batch):
    update(database, [found(1), found(2), found(3)])
    summary = update(database, [found(1, "Green cup."), found(1, "Red cup."), found(2)], batch_documents=batch)
    assert (summary.imported, summary.replaced, summary.already_there, summary.conflicts) == (0, 1, 1, 1)
    (gone,) = summary.gone
    assert (gone.user, gone.document_ids, gone.brought) == ("ann", ("3",), 3)
    assert [document.text for document in stored(database)] == ["Green cup.", "Cup 2.", "Cup 3."]
    assert past(database)[0].counts["replaced"] == 1
    assert remove_gone(database, summary.gone) == 1
    assert len(stored(database)) == 2


def test_an_update_leaves_no_trace_of_the_earlier_version(database):
    update(database, [found(1, "the heron ate my brake cable")])
    update(database, [found(1, "Nothing.")])
    files = Path(database.engine.url.database).parent.glob("pearl.db*")
    assert b"heron" not in b"".join(path.read_bytes() for path in files)


def test_only_what_came_from_this_source_can_be_gone_from_it(database, tmp_path):
    run(database, [found(9)])  # another importer
    run_import(database, Notes([found(8)]), tmp_path, Options())
    assert update(database, [found(1)]).gone == ()
    assert update(database, [LeftOut("a", "no text")]).gone[0].document_ids == ("1",)


def test_an_update_needs_ids_that_stay(database):
    with pytest.raises(InputError, match="--update: a document of 'fake' does not keep its id"):
        run_import(database, FakeImporter([]), Path("/"), Options(), update=True)
