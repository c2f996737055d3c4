from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from pearl.errors import InputError
from pearl.text.usable import format_timestamp
from service.importing.guessing import guess_importer

CREATED = "2022-06-07T08:09:10.000Z"
FIELDS = {"parent_id": "b" * 32, "created_time": "2023-01-01T00:00:00.000Z", "is_conflict": "0", "source_url": ""} | {
    "user_created_time": CREATED,
    "encryption_applied": "0",
    "markup_language": "1",
    "deleted_time": "0",
}


def record(number: int, text: str, type_: int = 1, **fields: str) -> tuple[str, str]:
    id_ = f"{number:032x}"
    below = {"id": id_, **FIELDS, **fields, "type_": type_}
    lines = "\n".join(f"{name}: {value}" for name, value in below.items())
    return f"{id_}.md", f"{text}\n\n{lines}" if text else lines


RECORDS = dict(
    [
        record(1, "On tea\n\nI like [the pot](:/0b1c) ![](:/0c1d) best.\n\nnote: hot\n\nid: mine"),
        record(2, "Kitchen", 2),
        record(3, "drinks", 5),
        record(4, "", 6),
        record(5, "Clipped\n\nBob's words.", source_url="https://example.org/tea"),
        record(6, "Twice\n\nTea again.", is_conflict="1"),
        record(7, "", encryption_applied="1"),
        record(8, "Gone\n\nNo more tea.", deleted_time="1650000000000"),
        record(9, "On milk\n\n<p>I like <b>milk</b>, too.</p>", markup_language="2"),
        record(10, "Empty"),
    ]
)
LEFT_OUT = {
    "folder, tag or other record of Joplin": 3,
    "clipping of somebody else's text": 1,
    "conflicting copy": 1,
    "encrypted": 1,
    "in the trash": 1,
    "no text": 1,
}


@pytest.fixture(params=["folder", "archive"])
def export(request, tmp_path) -> Path:
    if request.param == "archive":
        return packed(tmp_path / "notes.jex")
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in RECORDS.items():
        (folder / name).write_text(text)
    return folder


def packed(path: Path) -> Path:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in {**RECORDS, "resources/0c1d.png": "\x89PNG"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def test_the_notes_of_an_export_without_their_fields(read, export):
    found = read("markdown", export)
    assert [(document.request, document.text) for document in found.documents] == [
        ("On tea", "I like the pot  best.\n\nnote: hot\n\nid: mine"),
        ("On milk", "I like milk, too."),
    ]
    assert {format_timestamp(document.timestamp) for document in found.documents} == {"2022-06-07T08:09:10Z"}
    assert found.documents[0].id == f"{1:032x}.md"
    assert {reason: found.reasons.count(reason) for reason in found.reasons} == LEFT_OUT
    assert found.found[0].where == f"{export}/{1:032x}.md"
    assert found.remarks == []
    assert guess_importer(export).kind == "markdown"


def test_an_archive_that_breaks_off(read, tmp_path):
    path = packed(tmp_path / "notes.jex")
    whole = path.read_bytes().rstrip(b"\0")
    for cut in (whole, whole[:-700], b"PK"):
        path.write_bytes(cut)
        with pytest.raises(InputError, match=r"notes\.jex: cannot be read: .*; export it again"):
            read("markdown", path)


def test_a_text_that_ends_like_a_record_is_kept(read, tmp_path):
    (tmp_path / "2024-03-01.md").write_text("On forms\n\nname: tea\ntype_: 1")
    assert read("markdown", tmp_path).texts == ["On forms\n\nname: tea\ntype_: 1"]
