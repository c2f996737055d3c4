from __future__ import annotations

import json
import time

import pytest

from eval.retrieval.gains import GainsRecord, clusters, read_gains
from pearl.errors import InputError
from pearl.records import Document, Request

GOOD = {"request": "a", "documents": [{"text": "b"}], "gain": [1.5]}


def test_everything_a_line_can_say(write_lines):
    line = {
        "request": "reset the index",
        "timestamp": "2023-11-14T22:13:20Z",
        "user_id": "ann",
        "id": 7,
        "target": "It was reset.",
        "documents": [{"text": "Later.", "timestamp": 1_600_000_000, "id": "x", "request": "when?"}, {"text": ""}],
        "gain": [-2, 3.25],
        "target_tokens": 3,
    }
    (record,) = read_gains(write_lines([line, ""], "gains.jsonl.gz"))
    assert record == GainsRecord(
        request=Request("reset the index", 1_700_000_000.0),
        user_id="ann",
        id="7",
        target="It was reset.",
        documents=(Document("x", "Later.", 1_600_000_000.0, "when?"), Document("1", "")),
        gains=(-2.0, 3.25),
    )


def test_a_file_whose_gains_are_all_0_is_refused(write_lines):
    with pytest.raises(InputError, match="every gain in it is 0") as caught:
        read_gains(write_lines([GOOD | {"gain": [0]}, GOOD | {"gain": [0.0]}]))
    assert caught.value.exit_status == 2


def test_a_request_without_a_time_is_made_now(write_lines):
    (record,) = read_gains(write_lines([GOOD]))
    assert record.request.timestamp == pytest.approx(time.time(), abs=60)
    assert (record.user_id, record.id, record.target) == (None, None, None)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"documents": [], "gain": []}, "documents: 'documents' is empty"),
        ({"documents": None}, "documents: 'documents' must be an array, not null."),
        ({"gain": None}, "gain: 'gain' must be an array, not null."),
        ({"gain": 1.5}, "gain: 'gain' must be an array, not a number."),
        ({"gain": []}, "gain: 'gain' has 0 numbers for 1 documents"),
        ({"gain": [1, 2]}, "gain: 'gain' has 2 numbers for 1 documents"),
        ({"gain": ["1"]}, "gain.0: must be a number, not a string."),
        ({"gain": [True]}, "gain.0: must be a number, not a boolean."),
        ({"gain": [None]}, "gain.0: must be a number, not null."),
        ({"gain": [float("nan")]}, "gain.0: is not JSON: NaN and infinity are no numbers there"),
        ({"gain": [float("-inf")]}, "gain.0: is not JSON: NaN and infinity are no numbers there"),
        ({"gain": [1e308]}, "gain.0: must lie between -1e+09 and 1e+09 nats."),
        ({"gain": [-(10**9) - 1]}, "gain.0: must lie between"),
        ({"gain": [int("9" * 50)]}, "gain.0: must lie between"),
        ({"request": ""}, "request: 'request' is empty"),
        ({"user_id": ""}, "user_id: 'user_id' must have 1 to 200"),
        ({"id": [1]}, "id: 'id' must be a string"),
        ({"target": 5}, "target: must be a string, not a number."),
        ({"target": "\0"}, "target: 'target' contains a NUL"),
    ],
)
def test_a_bad_record_is_named_by_file_line_and_field(write_lines, changes, complaint):
    path = write_lines([GOOD, GOOD | changes])
    with pytest.raises(InputError) as caught:
        read_gains(path)
    assert caught.value.message.startswith(f"{path}:2: {complaint}")


def test_a_number_too_large_to_be_one(write_lines):
    path = write_lines([json.dumps(GOOD).replace("1.5", "1e999")])
    with pytest.raises(InputError, match=r":1: gain\.0: is not JSON: NaN and infinity"):
        read_gains(path)


def test_the_largest_gains_that_can_be_summed(write_lines):
    (record,) = read_gains(write_lines([GOOD | {"documents": [{"text": "b"}] * 2, "gain": [1e9, -(10**9)]}]))
    assert record.gains == (1e9, -1e9)


def test_a_file_without_records(write_lines):
    with pytest.raises(InputError, match="there is no record in it"):
        read_gains(write_lines(["", " "]))


def record(user_id: str | None) -> GainsRecord:
    return GainsRecord(Request("a"), user_id, None, None, (Document("0", "b"),), (1.0,))


def test_users_are_drawn_together_where_there_are_two():
    drawn = clusters([record("ann"), record(None), record("ben"), record("ann")])
    assert (drawn.unit, drawn.users) == ("users", 2)
    assert drawn.names == ("user ann", "request 1", "user ben", "user ann")


@pytest.mark.parametrize("users", [("ann", "ann"), ("ann", None), (None, None)])
def test_requests_are_drawn_where_fewer_users_are_known(users):
    drawn = clusters([record(user) for user in users])
    assert (drawn.unit, drawn.users) == ("requests", len(set(users) - {None}))
    assert len(set(drawn.names)) == 2
