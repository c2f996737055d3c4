"""Notes as Notion exports them and as privacy.apple.com sends them; and any notes in a zip file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from tests.laid import laid, zipped

TEA, MILK, TABLE, ROW = (f"{number:032x}" for number in (10, 11, 12, 13))
CUPS = f"[Cups](On%20tea/Cups%20{TABLE}.csv)"
HEAD = "# Blue\n\nCreated: March 1, 2024 9:12 AM\nTags: cup\n\n"
EXPORT = {
    f"Private & Shared/On tea {TEA}.md": f"# On tea\n\nI like tea, see [On milk](On%20tea/{MILK}.md).\n\n{CUPS}\n",
    f"Private & Shared/On tea/On milk {MILK}.md": "# On milk\n\n- in first\n\n```\nx = 1\n```\n",
    f"Private & Shared/On tea/Cups {TABLE}.csv": "Name,Created\nBlue,March 1 2024\n",
    f"Private & Shared/On tea/Cups {TABLE}_all.csv": "Name,Created\nBlue,March 1 2024\n",
    f"Private & Shared/On tea/Cups/Blue {ROW}.md": f"{HEAD}The big one.\n",
    f"Private & Shared/On tea/Cups/Empty {ROW[:-1]}f.md": HEAD,
    "Private & Shared/On tea/pot.png": "PNG",
}


@pytest.fixture(params=["zip in zip", "zip", "folder", "folder of zip"])
def export(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What Notion sends, and what Safari or the person makes of it."""
    if request.param == "folder":
        return laid(tmp_path / "Export-2c3d", EXPORT)
    source = tmp_path / "0f1e_Export-2c3d.zip"
    source.write_bytes(zipped(EXPORT))
    if request.param == "zip in zip":
        source.write_bytes(zipped({"ExportBlock-2c3d-Part-1.zip": source.read_bytes()}))
    elif request.param == "folder of zip":
        (tmp_path / "Export").mkdir()
        source = source.rename(tmp_path / "Export" / "ExportBlock-2c3d-Part-1.zip").parent
    return source


def test_notion(read: Any, export: Path) -> None:
    reading = read("notion", export, folders_as_voices=True)
    assert sorted((each.id, each.text, each.request, each.voice) for each in reading.documents) == [
        (f"notion:{TEA}", "I like tea, see On milk.", "On tea", "Private & Shared"),
        (f"notion:{MILK}", "- in first", "On milk", "Private & Shared"),
        (f"notion:{ROW}", "The big one.", "Blue", "Private & Shared"),
    ]
    assert {each.id: each.timestamp for each in reading.documents}[f"notion:{ROW}"] == 1_709_284_320
    assert reading.reasons == ["no text"]


def test_notes_in_a_zip_file(read: Any, tmp_path: Path) -> None:
    (tmp_path / "vault.zip").write_bytes(zipped({"Diary/Tea.md": "I like tea.", "Note/Milk.txt": "In first."}))
    reading = read("markdown", tmp_path / "vault.zip")
    assert [(each.id, each.text) for each in reading.documents] == [
        ("Diary/Tea.md", "I like tea."),
        ("Note/Milk.txt", "In first."),
    ]
    assert reading.found[0].where == f"{tmp_path}/vault.zip/Diary/Tea.md"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"Export/Tea.html": "<p>Tea"}, "choose 'Markdown & CSV'"),
        ({"ExportBlock-1-Part-1.zip": "no zip file"}, "cannot be read"),
        ({"ExportBlock-1-Part-1.zip": zipped({"../Tea.md": "Tea"})}, "leads out of it"),
        ({"a.zip": zipped({"b.zip": zipped({"Tea.md": "Tea"})})}, "there is no .md"),
    ],
)
def test_what_is_no_export_of_notions(read: Any, tmp_path: Path, files: dict[str, str | bytes], says: str) -> None:
    (tmp_path / "Export.zip").write_bytes(zipped(files))
    with pytest.raises(InputError, match=f"(?i){says}"):
        read("notion", tmp_path / "Export.zip")


DETAILS = (
    "Title, Created On, Modified On, Pinned, Deleted, Drawing/Handwriting, ContentHash at Import\n"
    "On tea,03-01-2024 09:12:00,05-01-2024 09:12:00,No,No,No,\n"
    "On tea,03-02-2024 09:12:00,05-01-2024 09:12:00,No,No,No,\n"
    '"Milk, and more",03-03-2024 09:12:00,05-01-2024 09:12:00,No,No,No,\n'
    "Only a line,,03-04-2024 09:12:00,No,No,No,\n"
    "Scribble,03-04-2024 09:12:00,03-04-2024 09:12:00,No,No,Yes,\n"
)
ICLOUD = {
    "iCloud Notes/Notes Details.csv": DETAILS,
    "iCloud Notes/Shared Notes Info.csv": "File Name, Shared On\n",
    "iCloud Notes/Subscribed Notes Info.csv": "File Name, Owner Details\nNotes/Theirs/Theirs.txt,Name:Bob\n",
    "iCloud Notes/Notes/On tea/On tea.txt": "On tea\n\nI like tea.\ufffc\n",
    "iCloud Notes/Notes/On tea/On tea-1.txt": "\ufeffOn tea\r\nAnd cups.",
    "iCloud Notes/Notes/On tea/pot.png": "PNG",
    "iCloud Notes/Notes/Kitchen/Milk_ and more/Milk_ and more.txt": "Milk, and more\nIn first.",
    "iCloud Notes/Notes/Only a line/Only a line.txt": "Only a line",
    "iCloud Notes/Notes/Scribble/Scribble.txt": "\ufffc",
    "iCloud Notes/Notes/Unlisted/Unlisted.txt": "Unlisted\nNo date.",
    "iCloud Notes/Notes/Theirs/Theirs.txt": "Theirs\nBob's words.",
    "iCloud Notes/Recently Deleted/Gone/Gone.txt": "Gone\nNo more tea.",
}


@pytest.mark.parametrize("packed", [True, False])
def test_apple_notes(read: Any, tmp_path: Path, packed: bool) -> None:
    source = laid(tmp_path / "copy", ICLOUD)
    if packed:
        (source := tmp_path / "iCloud Notes.zip").write_bytes(zipped(ICLOUD))
    reading = read("apple-notes", source, folders_as_voices=True)
    day = 86_400
    assert [(each.text, each.request, each.voice, each.timestamp) for each in reading.documents] == [
        ("In first.", "Milk, and more", "Kitchen", 1_709_284_320 + 2 * day),
        ("And cups.", "On tea", None, 1_709_284_320 + day),
        ("I like tea.", "On tea", None, 1_709_284_320),
        ("Only a line", None, None, 1_709_284_320 + 3 * day),
    ]
    assert len({each.id for each in reading.documents}) == 4
    assert sorted(reading.reasons) == ["in the trash", "no date", "no text", "not written by --me"]


@pytest.mark.parametrize("files", [{"Notes/Tea.txt": "Tea"}, {"Notes Details.csv": "Title, Created On\n"}])
def test_what_is_not_apples_copy(read: Any, tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"no 'Notes Details\.csv'"):
        read("apple-notes", laid(tmp_path, files))
