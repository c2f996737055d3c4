from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from pearl.errors import InputError, StoreError
from pearl.models.asking.kept import Question, key_of, open_replies
from pearl.models.chat.base import Decoding, Message, Reply
from pearl.records import Usage

QUESTION = Question((Message("system", "Judge."), Message("user", "One or two?")), 0)
DECODING = Decoding(max_tokens=100, temperature=0.7)
REPLY = Reply('שלום \u2028 \x85 "quoted"\n\ttabs \U0001f600', "stop", Usage(7, 3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "replies.sqlite"


def test_what_was_committed_is_there_for_the_next_run(path):
    with open_replies(path) as kept:
        assert b"k" not in kept
        kept.add(b"k", REPLY)
        assert b"k" in kept
        assert kept.get(b"k") == REPLY
        kept.commit()
        with open_replies(path) as other:
            assert other.get(b"k") == REPLY
            assert other.get(b"l") is None


def test_the_seconds_of_a_reply_are_kept_also_in_a_file_of_before(path):
    with open_replies(path) as kept:
        kept.add(b"k", replace(REPLY, seconds=1.5))
    with open_replies(path) as kept:
        assert kept.get(b"k").seconds == 1.5
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE replies DROP COLUMN seconds")
    with open_replies(path) as kept:
        assert kept.get(b"k") == REPLY
        assert kept.get(b"k").seconds is None


def test_what_is_new_is_for_its_owner_alone(path):
    before = os.umask(0)
    try:
        with open_replies(path):
            pass
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        path.chmod(0o640)  # as somebody chose who shares it
        with open_replies(path):
            pass
        assert path.stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_a_reply_stays_what_it_was(path):
    with open_replies(path) as kept:
        kept.add(b"k", REPLY)
        kept.commit()
        kept.add(b"k", replace(REPLY, text="another"))
        kept.commit()
        assert kept.get(b"k") == REPLY


def test_what_no_database_keeps_is_taken_out(path):
    with open_replies(path) as kept:
        kept.add(b"k", replace(REPLY, text="a\0b\ud800c"))
        kept.commit()
        assert kept.get(b"k").text == "ab?c"


def test_every_part_of_a_question_is_in_the_key():
    keys = {
        key_of("m", DECODING, QUESTION),
        key_of("n", DECODING, QUESTION),
        key_of("m", replace(DECODING, temperature=0.0), QUESTION),
        key_of("m", replace(DECODING, max_tokens=101), QUESTION),
        key_of("m", replace(DECODING, top_p=0.9), QUESTION),
        key_of("m", replace(DECODING, stop=("x",)), QUESTION),
        key_of("m", DECODING, replace(QUESTION, sample=1)),
        key_of("m", DECODING, Question(QUESTION.messages[::-1])),
        key_of("m", DECODING, Question((Message("system", "Judge.One or two?"), Message("user", "")))),
        key_of("m", DECODING, Question((Message("system", "Judge."), Message("user", "One or two?\ud800")))),
    }
    assert len(keys) == 10
    assert key_of("m", replace(DECODING), replace(QUESTION)) in keys


def database_of_documents(path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE documents (id)")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_text("a text of some length, which is no database\n" * 5), "not a database"),
        (lambda path: path.write_text("{}\n"), "not a database"),
        (lambda path: path.write_text('{"request": "a"}'), "not a database"),
        (database_of_documents, "not of replies"),
    ],
)
def test_a_file_of_something_else_is_not_written_to(tmp_path, make, said):
    make(path := tmp_path / "notes.txt")
    before = path.read_bytes()
    with pytest.raises(InputError, match=rf"notes\.txt: .*{said}.*; delete it to ask"), open_replies(path):
        pass
    assert path.read_bytes() == before
    with pytest.raises(InputError, match=r"cannot be used: .*; delete it"), open_replies(tmp_path):
        pass


def test_a_store_that_cannot_be_written_says_so(path):
    with open_replies(path) as kept:
        other = sqlite3.connect(path)
        other.execute("DROP TABLE replies")
        other.close()
        kept.add(b"k", REPLY)
        with pytest.raises(StoreError, match="could not be kept"):
            kept.commit()
        kept._new.clear()
