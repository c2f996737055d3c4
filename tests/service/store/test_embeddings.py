from __future__ import annotations

import numpy as np

from pearl.records import Document
from service.store import embeddings, users
from service.store.embeddings import text_key


def add(person, vectors: dict[str, list[float]], encoder: str = "words") -> None:
    with person.database.write() as connection:
        made = {text_key(text): np.array(vector, np.float32) for text, vector in vectors.items()}
        embeddings.add(connection, person.id, encoder, made)


def of(person, encoder: str = "words") -> dict[bytes, list[float]]:
    with person.database.read() as connection:
        return {key: vector.tolist() for key, vector in embeddings.of_user(connection, person.id, encoder).items()}


def missing(person, limit: int = 10, encoder: str = "words") -> list[str]:
    with person.database.read() as connection:
        return embeddings.missing(connection, person.id, encoder, limit)


def test_kept_exactly_as_float32(ann):
    ann.add("one", "two")
    vector = [0.1, -1e-30, 3.4e38]
    add(ann, {"one": vector})
    assert of(ann) == {text_key("one"): np.array(vector, np.float32).tolist()}


def test_the_first_one_stays(ann):
    ann.add("one")
    add(ann, {"one": [1.0]})
    add(ann, {"one": [2.0]})
    assert of(ann) == {text_key("one"): [1.0]}


def test_each_encoder_and_each_user_for_itself(ann, bob):
    ann.add("one")
    bob.add("one")
    add(ann, {"one": [1.0]})
    assert of(ann, "other") == {}
    assert of(bob) == {}
    assert missing(bob) == missing(ann, encoder="other") == ["one"]


def test_of_a_text_that_is_not_in_the_history_nothing_is_kept(ann):
    ann.add("one")
    add(ann, {"one": [1.0], "gone": [2.0]})
    assert list(of(ann)) == [text_key("one")]


def test_of_a_user_who_is_gone_nothing_is_kept(ann, rows):
    with ann.database.write() as connection:
        users.remove(connection, ann.id)
    add(ann, {"one": [1.0]})
    assert rows("embeddings") == []


def test_what_is_missing_newest_first_each_text_once(ann):
    ann.add("one", "two", "three")
    ann.add(Document("again", "two", 5000.0))
    assert missing(ann) == ["two", "three", "one"]
    assert missing(ann, limit=1) == ["two"]
    add(ann, {"two": [1.0], "one": [1.0]})
    assert missing(ann) == ["three"]


def test_several_threads_that_add_the_same(ann, at_once):
    texts = [f"text {number}" for number in range(20)]
    ann.add(*texts)
    forwards = {text: [1.0] for text in texts}
    backwards = {text: [1.0] for text in reversed(texts)}
    assert at_once([lambda: add(ann, forwards), lambda: add(ann, backwards)] * 3) == [None] * 6
    assert len(of(ann)) == 20
