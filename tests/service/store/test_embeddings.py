from __future__ import annotations

import numpy as np

from pearl.records import Document
from service.store import embeddings, users
from service.store.embeddings import LOOKED_UP, text_key


def add(person, vectors: dict[str, list[float]], encoder: str = "words") -> None:
    with person.database.write() as connection:
        made = {text_key(text): np.array(vector, np.float32) for text, vector in vectors.items()}
        embeddings.add(connection, person.id, encoder, made)


def of(person, encoder: str = "words", keys: list[bytes] | None = None) -> dict[bytes, list[float]]:
    """Those of the keys, or all."""
    wanted = [b""] * (LOOKED_UP + 1) if keys is None else keys
    with person.database.read() as connection:
        found = embeddings.of_user(connection, person.id, encoder, wanted)
    return {key: vector.tolist() for key, vector in found.items()}


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


def test_only_those_that_are_asked_for(ann):
    ann.add("one", "two")
    add(ann, {"one": [1.0], "two": [2.0]})
    assert of(ann, keys=[text_key("two"), text_key("three")]) == {text_key("two"): [2.0]}
    assert of(ann, keys=[]) == {}


def test_requests_are_embedded_too(ann):
    ann.add(Document("a", "one", 1.0, "asked"), Document("b", "two", 2.0, ""), Document("c", "asked", 3.0))
    assert sorted(missing(ann)) == ["asked", "one", "two"]
    add(ann, {"asked": [1.0], "one": [1.0], "two": [2.0]})
    assert missing(ann) == []
    assert len(of(ann)) == 3


def test_an_embedding_goes_with_the_last_text_or_request_that_it_stands_for(ann):
    ann.add(Document("a", "one", 1.0, "two"), Document("b", "two", 2.0, "three"), Document("c", "four", 3.0, "one"))
    add(ann, {text: [1.0] for text in ("one", "two", "three", "four")})

    def left() -> set[str]:
        return {text for text in ("one", "two", "three", "four") if text_key(text) in of(ann)}

    ann.remove("a")
    assert left() == {"one", "two", "three", "four"}
    ann.remove("b")
    assert left() == {"one", "four"}
    ann.remove("c")
    assert left() == set()


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
