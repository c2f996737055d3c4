from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pearl.text.usable import format_timestamp
from service.importing.sources.notes.dates import FIELDS, date_in_fields, dates_in_log


@pytest.mark.parametrize(
    "name", ["published_at", "pubDate", "publishedAt", "created", "date created", "Date", "lastmod"]
)
def test_fields_that_date_a_note(read, tmp_path, name):
    (tmp_path / "tea.md").write_text(f"---\n{name}: 2024-03-01\n---\nTea.")
    assert format_timestamp(read("markdown", tmp_path).documents[0].timestamp) == "2024-03-01T00:00:00Z"


def test_when_it_was_published_comes_before_when_it_was_begun_or_changed():
    fields = {"updated": "2024-05-01", "created": "2024-01-01", "pubdate": "2024-03-01", "published": "true"}
    found = date_in_fields(fields)
    assert found is not None
    assert format_timestamp(found) == "2024-03-01T00:00:00Z"
    assert date_in_fields({"date": "soon", "created": "2024-03-01"}) == found
    assert len(set(FIELDS)) == len(FIELDS)


def vault(folder: Path, **notes: str) -> Path:
    for name, date in notes.items():
        (folder / f"{name}.md").write_text(f"---\ndate created: {date}\n---\nTea on {name}.")
        os.utime(folder / f"{name}.md", (1_700_000_000, 1_700_000_000))
    return folder


@pytest.mark.parametrize(
    ("others", "day", "said"),
    [
        ({"b": "25-12-2023 08:14 AM"}, "2023-04-03", None),
        ({"b": "12/25/2023"}, "2023-03-04", None),
        ({"b": "12/25/2023", "c": "06/30/2022", "d": "30/06/2022"}, "2023-03-04", "1 have the day first, 2 the month"),
        ({"b": "3 June 2023", "c": "11/11/2023"}, "2023-04-03", "0 have the day first, 0 the month."),
    ],
)
def test_the_other_notes_tell_whether_the_day_or_the_month_comes_first(read, tmp_path, others, day, said):
    found = read("markdown", vault(tmp_path, a="03/04/2023 9:30", **others))
    assert dates(found)["a.md"] == day
    assert len(found.documents) == 1 + len(others)
    assert [said in remark for remark in found.remarks] == ([] if said is None else [True])


def test_a_note_whose_date_cannot_be_read_takes_the_time_of_its_file_and_is_named(read, tmp_path):
    found = read("markdown", vault(tmp_path, a="2023-05-06", b="some day in 1999?", c="soon", d="2999-01-01"))
    assert dates(found) == {"a.md": "2023-05-06", **dict.fromkeys(("b.md", "c.md", "d.md"), "2023-11-14")}
    (remark,) = found.remarks
    assert remark.startswith(
        "Dates that cannot be read, so that a file's name, the git log or its own time is taken: 3 ("
    )
    assert "(b.md: 'some day in 1999?' is no date that can be read; c.md: 'soon' is" in remark
    assert "d.md: 'date' lies in the future" in remark
    assert (found.left_out, found.errors) == ([], [])


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("July 27th, 2023", "2023-07-27"),
        ("27-07-2023", "2023-07-27"),
        ("Donnerstag, 27. Juli 2023", "2023-07-27"),
        ("Top 10 2023", "2023-11-14"),
        ("Chapter 3 of 2023", "2023-11-14"),
    ],
)
def test_a_files_name_may_be_a_date_in_any_form(read, tmp_path, name, day):
    path = tmp_path / f"{name}.md"
    path.write_text("Tea.")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert list(dates(read("markdown", tmp_path)).values()) == [day]


@pytest.fixture
def clone(tmp_path, monkeypatch) -> Path:
    """A clone of a blog: every file in it is of today."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    folder = tmp_path / "blog"
    (folder / "posts").mkdir(parents=True)
    (folder / "posts" / "tea.md").write_text("A post about tea, long enough to be known again when it is renamed.")
    (folder / "2023").mkdir()
    (folder / "2023" / "milk.md").write_text("Milk.")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Write", date="2023-06-01T10:00:00Z")
    git(folder, "mv", "posts/tea.md", "posts/on tea.md")
    git(folder, "commit", "-qm", "Rename", date="2023-07-01T10:00:00Z")
    return folder


def git(folder: Path, *arguments: str, date: str = "2023-06-01T10:00:00Z") -> None:
    names = {f"GIT_{who}_{what}": "ann" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    subprocess.run(["git", *arguments], cwd=folder, env=os.environ | names | dates, check=True, capture_output=True)


def dates(reading) -> dict[str, str]:
    return {document.id: format_timestamp(document.timestamp)[:10] for document in reading.documents}


def test_in_a_clone_the_git_log_dates_not_the_file(read, clone):
    (clone / "untracked.md").write_text("Written now.")
    os.utime(clone / "untracked.md", (1_700_000_000, 1_700_000_000))
    reading = read("markdown", clone)
    assert dates(reading) == {
        "2023/milk.md": "2023-06-01",
        "posts/on tea.md": "2023-06-01",  # as old as under its old name
        "untracked.md": "2023-11-14",
    }
    assert reading.remarks == [
        "Files that say nowhere when they were written: 1; the time of the file itself is taken."
    ]
    assert dates(read("markdown", clone / "posts")) == {"on tea.md": "2023-06-01"}
    assert dates(read("markdown", clone / "posts" / "on tea.md")) == {"on tea.md": "2023-06-01"}


def test_a_clone_whose_log_cannot_be_read_gives_no_dates(read, clone):
    (clone / ".git" / "HEAD").write_text("nonsense")
    (clone / "2024-03-01.md").write_text("Dated.")
    reading = read("markdown", clone)
    assert dates(reading) == {"2024-03-01.md": "2024-03-01"}
    assert reading.reasons == ["no date", "no date"]


def test_a_repository_without_a_commit_is_no_clone(read, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git(tmp_path, "init", "-q")
    (tmp_path / "tea.md").write_text("Tea.")
    os.utime(tmp_path / "tea.md", (1_700_000_000, 1_700_000_000))
    assert dates(read("markdown", tmp_path)) == {"tea.md": "2023-11-14"}


def test_dates_in_log(clone):
    assert dates_in_log(clone) == {"posts/on tea.md": 1685613600.0, "2023/milk.md": 1685613600.0}
