from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pearl.errors import InputError
from service.importing.guessing import look
from service.importing.sources.archive import open_archive
from service.importing.sources.mails.boxes import open_boxes
from tests.laid import laid, packed, zipped


@pytest.fixture(params=["folder", "zip", "zip of PowerShell"])
def export(request, tmp_path):
    # the second is macOS's companion of the first
    files = {"c1/Messages.JSON": "[]", "c1/._Messages.JSON": b"\0\5\x16\7", "notes.txt": "tea"}
    if request.param == "folder":
        return laid(tmp_path / "export", files)
    separator = "/" if request.param == "zip" else "\\"
    return packed(tmp_path / "export.zip", {name.replace("/", separator): each for name, each in files.items()})


def test_a_folder_and_a_zip_file_are_read_alike(export):
    with open_archive(export) as archive:
        assert archive.matching("c*/messages.json", "*.json") == ["c1/Messages.JSON"]
        assert archive.files["notes.txt"] == 3
        assert archive.where("notes.txt") == f"{export}/notes.txt"
        read: list[int] = []
        with archive.open("notes.txt", read.append) as stream:
            assert stream.read() == b"tea"
        assert sum(read) == 3


def test_a_file_is_an_archive_of_one(tmp_path):
    file = tmp_path / "general.json"
    file.write_text("{}")
    with open_archive(file) as archive:
        assert archive.matching("*.json") == ["general.json"]
        assert archive.where("general.json") == str(file)


def test_a_damaged_member(tmp_path):
    source = tmp_path / "export.zip"
    data = bytearray(zipped({"a.json": "tea and milk " * 1_000}, zipfile.ZIP_DEFLATED))
    data[50:70] = b"\xff" * 20
    source.write_bytes(data)
    with (
        open_archive(source) as archive,
        pytest.raises(InputError, match="cannot be read"),
        archive.open("a.json") as stream,
    ):
        stream.read()


def test_what_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"), open_archive(tmp_path / "none"):
        pass


def read_archive(source: Path) -> None:
    with open_archive(source):
        pass


def read_boxes(source: Path) -> None:
    with open_boxes(source):
        pass


@pytest.mark.parametrize("read", [read_archive, read_boxes, look])
@pytest.mark.parametrize(
    ("intact", "damaged"),
    [("\u00e9.md".encode(), b"\xff\xfe.md"), (b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\x63")],
    ids=["a name that is no UTF-8", "a later version"],
)
def test_a_zip_file_that_cannot_be_opened(tmp_path, read, intact, damaged):
    source, data = tmp_path / "export.zip", zipped({"\u00e9.md": "tea"})
    assert intact in data
    source.write_bytes(data.replace(intact, damaged))
    with pytest.raises(InputError, match=r"export\.zip: cannot be read"):
        read(source)


def read_members(source: Path) -> None:
    with open_archive(source) as archive:
        for name in archive.files:
            with archive.open(name) as stream:
                stream.read()


@pytest.mark.parametrize("read", [read_members, read_boxes])
def test_a_member_whose_own_header_is_damaged(tmp_path, read):
    """The directory at the end of the file, which is read first, is whole."""
    source = packed(tmp_path / "export.zip", {"\u00e9.eml": "From: ann@example.org\n\nTea.\n"})
    source.write_bytes(source.read_bytes().replace("\u00e9.eml".encode(), b"\xff\xfe.eml", 1))
    with pytest.raises(InputError, match=r"cannot be read: .*decode"):
        read(source)


@pytest.mark.parametrize("read", [read_members, read_boxes])
@pytest.mark.parametrize("kept", [9, 20], ids=["its properties", "its data"])
def test_a_damaged_member_packed_by_lzma(tmp_path, read, kept):
    source = tmp_path / "export.zip"
    data = bytearray(zipped({"a.eml": "From: ann@example.org\n\n" + "tea and milk " * 100}, zipfile.ZIP_LZMA))
    start = len("a.eml") + 30
    data[start + kept - 7 : start + kept + 20] = b"\xff" * 27
    source.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        read(source)


@pytest.mark.parametrize("read", [read_archive, read_boxes, look])
def test_a_zip_file_that_unpacks_to_too_much_is_not_opened(tmp_path, monkeypatch, read):
    monkeypatch.setattr("pearl.text.history.files.TRAP_BYTES", 1_000_000)
    files = {f"c{number}/messages.json": " " * 900_000 for number in range(3)}
    source = packed(tmp_path / "trap.zip", files, zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match=r"trap\.zip: unpacks to more than 200 times its packed size"):
        read(source)


@pytest.mark.parametrize("read", [read_archive, read_boxes, look])
@pytest.mark.parametrize(("limit", "most"), [("MOST_MEMBERS", 2), ("MOST_DIRECTORY", 150)])
def test_a_zip_file_with_too_many_files_is_not_opened(tmp_path, monkeypatch, read, limit, most):
    monkeypatch.setattr(f"service.importing.sources.archive.{limit}", most)
    source = packed(tmp_path / "many.zip", {f"c{number}/messages.json": "[]" for number in range(3)})
    with pytest.raises(InputError, match=r"many\.zip: has .*; unpack it, and import the folder"):
        read(source)


@pytest.mark.parametrize("read", [open_archive, open_boxes])
def test_a_zip_file_that_breaks_off(tmp_path, read):
    cut = packed(tmp_path / "cut.zip", {"tea.eml": "From: Ann\n\nTea."})
    cut.write_bytes(cut.read_bytes()[:-30])
    with pytest.raises(InputError, match="breaks off; export or download it again"), read(cut):
        pass
    with pytest.raises(InputError, match="breaks off"):
        look(cut)
