from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from pearl.errors import InputError
from pearl.records import Document, Request
from training.data.records import Example, clusters_of, write_gains

EXAMPLE = Example(
    "ann",
    "t",
    Request("dréi", 40.0),
    (Document("a", "first", 10.0, "one"), Document("b", "second", 20.0, "two"), Document("c", "third", 30.0)),
    np.array([-2.0, 0.0, 10.0], np.float32),
    "tärget",
)


def test_a_group_is_of_the_candidates_at_its_places():
    group = EXAMPLE.group([2, 0])
    assert (group.user_id, group.request_id, group.request) == ("ann", "t", EXAMPLE.request)
    assert [document.id for document in group.documents] == ["c", "a"]
    assert group.gains.tolist() == [10.0, -2.0]


def test_one_user_is_resampled_by_requests():
    again = replace(EXAMPLE, request_id="u")
    assert clusters_of([EXAMPLE, again]) == ["ann t", "ann u"]
    assert clusters_of([EXAMPLE, replace(again, user_id="ben")]) == ["ann", "ben"]


@pytest.mark.parametrize("name", ["g.jsonl", "g.jsonl.gz"])
def test_the_gains_file_is_the_one_that_eval_reads(tmp_path, name):
    write_gains([EXAMPLE], tmp_path / name)
    content = (tmp_path / name).read_bytes()
    (line,) = (gzip.decompress(content) if name.endswith("gz") else content).decode().splitlines()
    found = json.loads(line)
    assert (found["user_id"], found["id"], found["request"], found["target"]) == ("ann", "t", "dréi", "tärget")
    assert found["timestamp"] == 40.0
    assert found["gain"] == [-2.0, 0.0, 10.0]
    assert found["documents"][0] == {"id": "a", "text": "first", "timestamp": 10.0, "request": "one", "voice": None}
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_gains_that_say_nothing_are_refused_where_they_are_written(make_examples, tmp_path):
    zero = [replace(example, gains=example.gains * 0) for example in make_examples(2)]
    for examples, said in (([], "There is no gain of 'g.jsonl'"), (zero, r"Every gain of 'g.jsonl' is 0 \(2 requests")):
        with pytest.raises(InputError, match=said) as caught:
            write_gains(examples, tmp_path / "g.jsonl")
        assert caught.value.exit_status == 2
    assert list(tmp_path.iterdir()) == []
