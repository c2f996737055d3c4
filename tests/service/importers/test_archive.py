from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pearl.errors import InputError
from service.importers.archive import open_archive
from service.importers.mails.boxes import open_boxes
from service.importing.guessing import look


@pytest.fixture(params=["folder", "zip", "zip of PowerShell"])
def export(request, tmp_path):
    folder = tmp_path / "export"
    (folder / "c1").mkdir(parents=True)
    (folder / "c1" / "Messages.JSON").write_text("[]")
    (folder / "c1" / "._Messages.JSON").write_bytes(b"\0\5\x16\7")  # macOS's companion of the file
    (folder / "notes.txt").write_text("tea")
    if request.param == "folder":
        return folder
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in folder.rglob("*"):
            name = str(path.relative_to(folder))
            archive.write(path, name if request.param == "zip" else name.replace("/", "\\"))
    return packed


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
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", "tea and milk " * 1_000)
    data = bytearray(packed.read_bytes())
    data[50:70] = b"\xff" * 20
    packed.write_bytes(data)
    with (
        open_archive(packed) as archive,
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
    source = tmp_path / "export.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("\u00e9.md", "tea")
    data = source.read_bytes()
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
    source = tmp_path / "export.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("\u00e9.eml", "From: ann@example.org\n\nTea.\n")
    source.write_bytes(source.read_bytes().replace("\u00e9.eml".encode(), b"\xff\xfe.eml", 1))
    with pytest.raises(InputError, match=r"cannot be read: .*decode"):
        read(source)


@pytest.mark.parametrize("read", [read_members, read_boxes])
@pytest.mark.parametrize("kept", [9, 20], ids=["its properties", "its data"])
def test_a_damaged_member_packed_by_lzma(tmp_path, read, kept):
    source = tmp_path / "export.zip"
    with zipfile.ZipFile(source, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.eml", "From: ann@example.org\n\n" + "tea and milk " * 100)
    data = bytearray(source.read_bytes())
    start = len("a.eml") + 30
    data[start + kept - 7 : start + kept + 20] = b"\xff" * 27
    source.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        read(source)


@pytest.mark.parametrize("read", [read_archive, read_boxes, look])
def test_a_zip_file_that_unpacks_to_too_much_is_not_opened(tmp_path, monkeypatch, read):
    monkeypatch.setattr("pearl.history.files.TRAP_BYTES", 1_000_000)
    source = tmp_path / "trap.zip"
    with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"c{number}/messages.json", " " * 900_000)
    with pytest.raises(InputError, match=r"trap\.zip: unpacks to more than 200 times its packed size"):
        read(source)


@pytest.mark.parametrize("read", [read_archive, read_boxes, look])
@pytest.mark.parametrize(("limit", "most"), [("MOST_MEMBERS", 2), ("MOST_DIRECTORY", 150)])
def test_a_zip_file_with_too_many_files_is_not_opened(tmp_path, monkeypatch, read, limit, most):
    monkeypatch.setattr(f"service.importers.archive.{limit}", most)
    source = tmp_path / "many.zip"
    with zipfile.ZipFile(source, "w") as archive:
        for number in range(3):
            archive.writestr(f"c{number}/messages.json", "[]")
    with pytest.raises(InputError, match=r"many\.zip: has .*; unpack it, and import the folder"):
        read(source)


@pytest.mark.parametrize("read", [open_archive, open_boxes])
def test_a_zip_file_that_breaks_off(tmp_path, read):
    cut = tmp_path / "cut.zip"
    with zipfile.ZipFile(cut, "w") as archive:
        archive.writestr("tea.eml", "From: Ann\n\nTea.")
    cut.write_bytes(cut.read_bytes()[:-30])
    with pytest.raises(InputError, match="breaks off; export or download it again"), read(cut):
        pass
    with pytest.raises(InputError, match="breaks off"):
        look(cut)
