from __future__ import annotations

import re
import subprocess

import pytest

from pearl.errors import InputError
from pearl.records import Document
from service.importing.sources.base import Options, load_importer
from service.importing.sources.git import whole_message

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin:/usr/local/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_DATE": "2024-03-01T10:00:00+01:00",
    "GIT_COMMITTER_DATE": "2024-03-02T10:00:00+01:00",
}


def git(repository, *arguments, message: bytes | None = None, author="Ann Lee <ann@example.org>", committer="Carl"):
    name, address = author.removesuffix(">").rsplit(" <", 1)
    identity = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address}
    identity |= {"GIT_COMMITTER_NAME": committer, "GIT_COMMITTER_EMAIL": "carl@example.org"}
    command = ["git", "-C", str(repository), *arguments]
    subprocess.run(command, input=message, env=ENVIRONMENT | identity, check=True, capture_output=True)


def commit(repository, message: str | bytes, **options):
    data = message if isinstance(message, bytes) else message.encode()
    git(repository, *options.pop("config", ()), "commit", "--allow-empty", "-F", "-", message=data, **options)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # no configuration but the repository's own
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    path = tmp_path / "kettle"
    path.mkdir()
    git(path, "init", "-b", "main")
    return path


def test_the_subject_asks_and_the_body_answers(read, repository):
    commit(repository, "Boil less water\n\nNobody drinks five cups.\n\nTwo will do.\n")
    reading = read("git", repository, "ann@example.org", voice="commits")
    (document,) = reading.documents
    assert document.text == "Nobody drinks five cups.\n\nTwo will do."
    assert document.request == "Boil less water"
    assert document.timestamp == 1709283600.0  # when it was written, not when it was committed
    assert (len(document.id), document.voice) == (40, "commits")
    assert reading.found[0].where == f"{repository}@{document.id[:12]}"


def test_trailers_are_not_text(read, repository):
    commit(repository, "Boil\n\nTwo cups.\n\nFixes: #3\nSigned-off-by: Ann Lee <ann@example.org>\n")
    commit(repository, "Cool\n\nSigned-off-by: Ann Lee <ann@example.org>\n")
    reading = read("git", repository, "ann lee")
    assert reading.texts == ["Two cups."]
    assert reading.reasons == ["no body"]


@pytest.mark.parametrize(
    ("paragraph", "own"),
    [
        ("Note: the lid may now stay open.", "Note: the lid may now stay open."),
        ("Before: two cups in one minute.\nAfter: two cups in\n  half a minute.",) * 2,
        (
            "Note: the lid may now stay open.\nSigned-off-by: Ann Lee <ann@example.org>",
            "Note: the lid may now stay open.",
        ),
        ("Reviewers: Ann Lee, Bob Baker, Carl May", ""),
        ("Reviewers: ann, bob, carl, dora", ""),
        ("Fixes: 1234567 (close the lid before it boils)", ""),
        ("Change-Id: I0123", ""),
    ],
)
def test_sentences_that_git_takes_for_trailers_are_text(read, repository, paragraph, own):
    commit(repository, f"Boil\n\nTwo cups.\n\n{paragraph}\n")
    assert read("git", repository, "ann lee").texts == [f"Two cups.\n\n{own}".rstrip()]


def test_what_only_refers_to_something_is_no_text(read, repository):
    commit(repository, "Merged PR 7: Boil (#3)\n\nTwo cups.\n\nRelated work items: #4711\n")
    commit(repository, "Cool\n\nFixes #15\n\nDepends on !143\n")
    reading = read("git", repository, "ann lee")
    assert [(document.request, document.text) for document in reading.documents] == [("Boil", "Two cups.")]
    assert reading.reasons == ["no body"]
    assert read("git", repository, "ann lee", subjects=True).texts == ["Cool", "Two cups."]


def test_what_aider_committed_is_not_its_authors(read, repository):
    commit(repository, "Boil\n\nTwo cups.\n", author="Ann Lee (aider) <ann@example.org>")
    commit(repository, "Cool\n\nIn a jug.\n", committer="Ann Lee (aider)")
    commit(repository, "Pour\n\nSlowly.\n")
    reading = read("git", repository, "ann@example.org", subjects=True)
    assert reading.reasons == ["written with an assistant"] * 2
    assert reading.remarks[-1] == "Commits that a coding assistant signed: 2; --with-assisted takes them."
    assert reading.texts == ["Slowly."]
    assert read("git", repository, "ann@example.org", with_assisted=True).texts == ["Slowly.", "In a jug.", "Two cups."]


def test_a_message_that_an_assistant_signed_is_not_its_authors(read, repository):
    signed = "\N{ROBOT FACE} Generated with [Kettle Coder](https://example.org/coder)"
    commit(repository, f"Boil\n\nTwo cups.\n\n{signed}\n\nCo-Authored-By: Kettle <noreply@example.org>\n")
    commit(repository, "Cool\n\nThe table is generated with [a script](https://example.org/script) now.\n")
    reading = read("git", repository, "ann lee", subjects=True)
    assert reading.reasons == ["written with an assistant"]
    assert read("git", repository, "ann lee", with_assisted=True).texts[-1] == "Two cups."
    assert reading.texts == ["The table is generated with [a script](https://example.org/script) now."]


def test_subjects_are_texts_on_request_and_their_paths_ask(read, repository):
    def change(name, message):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(message)
        git(repository, "add", ".")
        commit(repository, message)

    change("lid.txt", "Boil less water\n\nTwo cups will do.\n")
    change("src/\nodd name.c", "Close the lid first")
    change("spout.c", "fixup! Close the lid first")
    change("handle.c", f"Squashed commit of the following:\n\n{SQUASHED}")
    commit(repository, "Release the kettle\n\nSigned-off-by: Ann Lee <ann@example.org>\n")
    commit(repository, "Not mine", author="Bob <bob@example.org>")
    for number in range(15):
        (repository / f"cup{number:02}").write_text("")
    change("cup15", "Pour")
    reading = read("git", repository, "ann lee", subjects=True)
    shown = ", ".join(f"cup{number:02}" for number in range(12))
    assert [(document.text, document.request) for document in reading.documents] == [
        ("Pour", f"{shown} and 4 more"),
        ("Release the kettle", None),
        ("Close the lid first", '"src/\nodd name.c"'),
        ("Two cups will do.", "Boil less water"),
    ]
    assert reading.reasons == ["not written by --me", "generated subject", "generated subject"]
    assert reading.remarks == []


@pytest.mark.parametrize(
    ("request_text", "text", "whole"),
    [
        ("Boil less water", "Two cups will do.", "Boil less water\n\nTwo cups will do."),
        ("Simplify", "Two cups.\nNo more.", "Simplify\n\nTwo cups.\nNo more."),
        ("pot.c, src/lid.c and 1,204 more", "Boil less water", None),
        ("Refactoring", "Split it.", "Refactoring\n\nSplit it."),
        ("Übersetzung, tests", "Split it.", "Übersetzung, tests\n\nSplit it."),
        ("v1.2.0", "Split it.", "v1.2.0\n\nSplit it."),
        ("Makefile", "Boil less water", None),
        ("LICENSE", "Boil less water", None),
        ("configure", "Boil less water", None),
        ('"Daily notes/1 May.md", tea.md, "a, b.md" and 3 more', "Boil less water", None),
        ('"Boil" less', "Two cups will do.", '"Boil" less\n\nTwo cups will do.'),
        (None, "Release the kettle", None),
    ],
)
def test_a_document_is_the_whole_message_again(request_text, text, whole):
    document = Document("a", text, 1.0, request_text, "commits")
    assert whole_message(document) == (document if whole is None else Document("a", whole, 1.0, None, "commits"))


def test_a_subject_of_many_quotes_is_told_from_paths_at_once():
    subject = '"a", ' * 400 + "Boil less"
    assert whole_message(Document("a", "Two cups.", 1.0, subject)).text == f"{subject}\n\nTwo cups."


def test_authors_of_one_name_are_told(read, repository):
    commit(repository, "Boil\n\nTwo cups.")
    commit(repository, "Cool\n\nThree cups.", author="Ann Lee <lee@example.com>")
    told = list(read("git", repository, "ann lee").options.identities.several())
    assert told[0].startswith("'ann lee' is 2 accounts in it: Ann Lee <")
    both = ("ann@example.org", "lee@example.com")
    assert not list(read("git", repository, "ann lee", *both).options.identities.several())
    (repository / ".mailmap").write_text("Ann Lee <ann@example.org> <lee@example.com>\n")
    assert not list(read("git", repository, "ann lee").options.identities.several())


def test_no_setting_hides_paths(read, repository):
    for name in ("src/lid.c", "pot.c"):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("")
    git(repository, "add", ".")
    commit(repository, "Boil less water")
    git(repository, "config", "log.showRoot", "false")
    git(repository, "config", "diff.relative", "true")
    reading = read("git", repository / "src", "ann lee", subjects=True)
    assert [document.request for document in reading.documents] == ["pot.c, src/lid.c"]


def test_how_few_commits_have_a_body_is_told(read, repository):
    commit(repository, "First\n\nMine.")
    commit(repository, "Second")
    commit(repository, "Third")
    reading = read("git", repository, "ann lee")
    assert reading.remarks == ["Commits with a body: 1 of 3; --subjects takes the subject lines of the others."]


def test_an_identity_of_git_that_matches_nobody_is_told(read, repository):
    commit(repository, "First\n\nMine.")
    git(repository, "config", "user.email", "anne@example.org")
    reading = read("git", repository)
    assert reading.options.identities.unmatched == ("anne@example.org",)
    assert [str(each) for each in reading.options.identities.commonest_others()] == ["Ann Lee <ann@example.org> (1)"]


HASH = "0123456789abcdef0123456789abcdef01234567"
SQUASHED = "".join(
    f"commit {HASH}\n{merge}Author: Bob <bob@example.org>\nDate:   Thu Nov 26 11:09:48 2026 +0000\n\n"
    "    Boil\n    \n    Not by me.\n\n"
    for merge in ("", "Merge: 0123456 89abcde\n")
)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"This reverts commit {HASH}.\n", None),
        (f"This reverts commit {HASH}, reversing\nchanges made to {HASH}.\n", None),
        (f"This reverts commit {HASH}.\n\nIt leaked.\n", "It leaked."),
        (f"This reverts commit {HASH}. It\nleaked.\n", "It\nleaked."),
        (f'This reverts commit {HASH[:12]} ("Boil").\n\nIt leaked.\n', "It leaked."),
        (f"This reverts commit {HASH} since it leaked.\n", f"This reverts commit {HASH} since it leaked."),
        ("This reverts commit ordering.\n", "This reverts commit ordering."),
        (f"It leaked.\n\n(cherry picked from commit {HASH})\n\nMore.\n", "It leaked.\n\nMore."),
        ("It leaked.\n\n# Conflicts:\n#\tlid.c\n#\tpot.c\n", "It leaked."),
        ("Conflicts:\n\tlid.c\n\nIt leaked.\n", "It leaked."),
        (f"It leaked.\n\nSquashed commit of the following:\n\n{SQUASHED}", "It leaked."),
        (f"{SQUASHED}\nIt leaked.\n", "It leaked."),
        (SQUASHED, None),
        ("* boil\n\n* cool\n\n---------\n\nCo-authored-by: Bob <bob@example.org>\n", "* boil\n\n* cool"),
    ],
)
def test_sentences_that_git_wrote_are_not_text(read, repository, body, text):
    commit(repository, "Boil\n\n" + body, config=("-c", "commit.cleanup=verbatim"))
    assert read("git", repository, "ann@example.org").texts == ([] if text is None else [text])


def test_other_peoples_commits_merges_and_subjects_alone_are_left_out(read, repository):
    commit(repository, "First\n\nMine.")
    commit(repository, "Second\n\nBob's.", author="Bob <bob@example.org>")
    git(repository, "switch", "-c", "side")
    commit(repository, "Third")
    git(repository, "switch", "main")
    commit(repository, "Fourth\n\nMine too.")
    git(repository, "merge", "--no-ff", "side", "-m", "Merge side", "-m", "With a body.")
    reading = read("git", repository, "ann@example.org")
    assert reading.texts == ["Mine too.", "Mine."]
    assert sorted(reading.reasons) == ["merge", "no body", "not written by --me"]


def test_who_is_me_comes_from_the_repository(read, repository):
    commit(repository, "First\n\nMine.")
    with pytest.raises(InputError, match="say who you are with --me"):
        read("git", repository)
    git(repository, "config", "user.email", "ANN@example.org")
    assert read("git", repository).texts == ["Mine."]


def test_a_mailmap_joins_identities(read, repository):
    commit(repository, "First\n\nFrom an old address.", author="al <al@old.example.org>")
    (repository / ".mailmap").write_text("Ann Lee <ann@example.org> <al@old.example.org>\n")
    assert read("git", repository, "ann@example.org").texts == ["From an old address."]


def test_messages_in_other_encodings(read, repository):
    commit(repository, "Caf\xe9\n\nUn th\xe9.".encode("latin-1"), config=("-c", "i18n.commitEncoding=latin-1"))
    commit(repository, b"Wrong\n\nNot \xff UTF-8.", config=("-c", "i18n.commitEncoding=x-unheard-of"))
    assert read("git", repository, "ann@example.org").texts == ["Not \N{REPLACEMENT CHARACTER} UTF-8.", "Un thé."]


@pytest.mark.slow
def test_a_message_of_a_megabyte_and_many_commits(read, repository):
    commit(repository, "Long\n\n" + "tea and milk\n" * 80_000)
    for number in range(30):
        commit(repository, f"Cup {number}\n\nPoured {number}.")
    reading = read("git", repository, "ann@example.org")
    assert len(reading.found) == 31
    assert len(reading.texts[-1]) == 80_000 * 13 - 1


def test_a_repository_without_commits(read, repository):
    with pytest.raises(InputError, match="has no commits"):
        read("git", repository, "ann")


def test_a_repository_of_another_user_comes_with_gits_advice(read, repository, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(InputError) as caught:
        read("git", repository, "ann@example.org")
    assert "dubious ownership" in caught.value.message
    assert caught.value.message.endswith(f"; run 'git config --global --add safe.directory {repository}'")


def test_what_is_not_a_repository(read, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    with pytest.raises(InputError, match="not a git repository"):
        read("git", folder, "ann")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="git rev-parse"):
        read("git", file, "ann")


def test_a_hooks_environment_does_not_lead_elsewhere(read, repository, tmp_path, monkeypatch):
    commit(repository, "First\n\nMine.")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    assert read("git", repository, "ann lee").texts == ["Mine."]


def test_nothing_in_the_repository_can_start_a_program(read, repository, tmp_path):
    commit(repository, "First\n\nMine.")
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "gpg.program", "core.pager", "core.sshCommand"):
        git(repository, "config", key, str(trap))
    git(repository, "config", "log.showSignature", "true")
    assert read("git", repository, "ann lee").texts == ["Mine."]
    assert not sprung.exists()


def test_giving_up_half_way_ends_git(repository):
    for number in range(3):
        commit(repository, f"Cup {number}\n\nPoured.")
    items = load_importer("git").read(repository, Options(user="ann", me=("ann lee",)))
    next(items)
    items.close()


def test_without_git(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="is it installed"):
        list(load_importer("git").read(repository, Options(user="ann", me=("ann",))))


def test_a_commit_without_a_time_is_left_out_and_the_others_come(read, repository):
    commit(repository, "Boil less water\n\nTwo cups will do.\n")
    whole = subprocess.check_output(["git", "-C", str(repository), "cat-file", "commit", "HEAD"])
    timeless = re.sub(rb"^(author .*>) .*$", rb"\1 ", whole, flags=re.MULTILINE)
    write = ["git", "-C", str(repository), "hash-object", "-t", "commit", "-w", "--literally", "--stdin"]
    name = subprocess.run(write, input=timeless, check=True, capture_output=True).stdout.decode().strip()
    commit(repository, "Cool the water\n\nIn a jug.\n")
    git(repository, "replace", "--graft", "HEAD", name)
    reading = read("git", repository, "ann@example.org")
    assert reading.texts == ["In a jug."]
    (error,) = reading.errors
    assert (error.where, error.field) == (f"{repository}@{name[:12]}", "time")
