"""From scores to training groups, and back from their file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pearl.errors import InputError
from training.data.records import Example
from training.data.selection import SelectionOptions, select
from training.gains.groups import read_groups, select_from, selection_among, write_groups
from training.gains.scores import METADATA, SCHEMA, scored_requests

DESCRIPTION = {"model": "tiny", "fingerprint": {"file": "a"}, "template": {"example": "{text}"}, "history_sha256": "1"}
USERS = {"ann": 3, "ben": 3}  # requests of each


def told(groups: list[Example]) -> list[tuple[object, ...]]:
    """The content of groups, to be compared."""
    return [
        (group.user_id, group.request_id, [document.id for document in group.documents], group.gains.tolist())
        for group in groups
    ]


def gain(user: str, request: int, document: int) -> float:
    return 10.0 * request + document + (0.5 if user == "ben" else 0.0)


def write_scores(path: Path, users: dict[str, int] = USERS, documents: int = 6, **changed: Any) -> Path:
    """Made-up scores: log p with the document is the gain above log p without, over 4 tokens."""
    rows = [
        (user, f"q{request}", f"d{document}", gain(user, request, document) - 50, -50.0, 4)
        for user, requests in users.items()
        for request in range(requests)
        for document in range(documents)
    ]
    columns = {name: list(column) for name, column in zip(SCHEMA.names, zip(*rows, strict=True), strict=True)}
    columns |= {name: value * len(rows) for name, value in changed.pop("columns", {}).items()}
    schema = SCHEMA.with_metadata({METADATA: json.dumps(DESCRIPTION | changed).encode()})
    pq.write_table(pa.Table.from_pydict(columns, schema=schema), path)
    return path


def test_the_groups_are_algorithm_1s_and_come_back_from_their_file(tmp_path):
    scores = write_scores(tmp_path / "s.parquet")

    made = select_from([scores], SelectionOptions(seed=7))
    write_groups(made, tmp_path / "g.parquet")
    found = read_groups(tmp_path / "g.parquet")

    groups, description = found.groups, found.description
    chosen = select(scored_requests(pq.read_table(scores)), SelectionOptions(seed=7))
    assert told(groups) == told(chosen.groups) == told(made.groups)
    assert found.options == SelectionOptions(seed=7)
    # of 6 requests 4 stay, each with 2 positives: those of the two last requests of both users
    assert {(group.user_id, group.request_id) for group in groups} == {
        (user, request) for user in USERS for request in ("q1", "q2")
    }
    assert {group.documents[0].id for group in groups} == {"d5", "d4"}
    positives = [gain(user, request, document) for user in USERS for request in (1, 2) for document in (5, 4)]
    assert description == made.description
    assert description["y0"] == pytest.approx(median(positives))
    low, _, high = quantiles(positives, n=4, method="inclusive")
    assert description["y0_quartiles"] == pytest.approx([low, high])
    assert {name: description[name] for name in ("normalize", "share", "positives", "negatives", "seed")} == {
        "normalize": "sum",
        "share": 2 / 3,
        "positives": 2,
        "negatives": 3,
        "seed": 7,
    }
    assert (description["users"], description["requests"], description["requests_kept"], description["groups"]) == (
        2,
        6,
        4,
        8,
    )
    assert description["scores"] == [DESCRIPTION]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.parquet", "s.parquet"]


def test_the_mean_is_the_sum_over_the_targets_tokens(tmp_path):
    scores = write_scores(tmp_path / "s.parquet")

    total, mean = (select_from([scores], SelectionOptions(normalize)) for normalize in ("sum", "mean"))

    assert mean.description["y0"] == pytest.approx(total.description["y0"] / 4)


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf, None])
@pytest.mark.parametrize("column", ["log_p_with", "log_p_without"])
def test_scores_that_are_not_numbers_are_refused(broken, column, tmp_path):
    scores = write_scores(tmp_path / "s.parquet", columns={column: [broken]})

    with pytest.raises(InputError, match=r"s\.parquet: request 'q0' of user 'ann' has a row without"):
        select_from([scores], SelectionOptions())


def test_a_target_without_tokens_has_no_mean(tmp_path):
    scores = write_scores(tmp_path / "s.parquet", columns={"target_tokens": [0]})
    assert select_from([scores], SelectionOptions()).groups
    with pytest.raises(InputError, match="Request 'q0' of user 'ann' has a target without tokens, so there is no mean"):
        select_from([scores], SelectionOptions("mean"))


def test_several_files_count_as_one(tmp_path):
    both = write_scores(tmp_path / "both.parquet")
    ann, ben = (write_scores(tmp_path / f"{user}.parquet", {user: 3}) for user in USERS)

    together, apart = (select_from(paths, SelectionOptions()) for paths in ([both], [ann, ben]))
    assert told(apart.groups) == told(together.groups)


def test_each_history_keeps_its_share_and_may_have_its_template(tmp_path):
    """Ben's gains are above all of ann's; over both histories together only one request of ann's would stay."""
    ann = write_scores(tmp_path / "ann.parquet", {"ann": 3})
    other = {"history_sha256": "2", "template": {"example": ""}}
    ben = write_scores(tmp_path / "ben.parquet", {"ben": 3}, columns={"log_p_without": [-500.0]}, **other)
    groups = select_from([ann, ben], SelectionOptions()).groups
    assert {(group.user_id, group.request_id) for group in groups} == {
        (user, request) for user in USERS for request in ("q1", "q2")
    }


def test_users_of_two_histories_may_have_one_id(tmp_path):
    """Request, documents and all have the same ids; the gains say which history a group is of."""
    lower = {"history_sha256": "2", "columns": {"log_p_without": [-80.0]}}
    scores = [write_scores(tmp_path / "a.parquet"), write_scores(tmp_path / "b.parquet", {"ann": 5}, **lower)]

    write_groups(select_from(scores, SelectionOptions()), tmp_path / "g.parquet")

    made = read_groups(tmp_path / "g.parquet")
    alone = [select_from([path], SelectionOptions()) for path in scores]
    assert told(made.groups) == [line for each in alone for line in told(each.groups)]
    assert {name: made.description[name] for name in ("users", "requests", "requests_kept", "groups")} == {
        "users": 3,
        "requests": 6 + 5,
        "requests_kept": 4 + 4,
        "groups": 8 + 8,
    }
    examples = [
        replace(example, user_id=f"{path.stem}:{example.user_id}", domain=path.stem)
        for path in scores
        for example in scored_requests(pq.read_table(path))
    ]
    chosen = selection_among(made, examples, tmp_path / "g.parquet")
    assert [group.user_id for group in chosen.groups] == [
        f"{name}:{group.user_id}" for name, each in zip("ab", alone, strict=True) for group in each.groups
    ]
    assert len(chosen.requests) == 8


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"model": "other"}, "ben.parquet: was scored with another model than"),
        ({"fingerprint": {"file": "b"}}, "ben.parquet: was scored with another model version than"),
        (
            {"fingerprint": {"file": "a", "dtype": "bfloat16"}},
            r"ben.parquet: was scored with another precision \(--choose dtype\) than",
        ),
        ({"template": {"example": ""}}, "ben.parquet: was scored with another template than"),
        (
            {"users": {"ann": 1}},
            "ben.parquet: holds user 'ann', and so does .*ann.parquet, which is of the same history; leave",
        ),
    ],
)
def test_files_that_do_not_belong_together_are_refused(changed, complaint, tmp_path):
    ann = write_scores(tmp_path / "ann.parquet", {"ann": 3})
    ben = write_scores(tmp_path / "ben.parquet", **{"users": {"ben": 3}, **changed})

    with pytest.raises(InputError, match=complaint):
        select_from([ann, ben], SelectionOptions())


def test_one_user_is_enough_and_one_candidate_is_not(tmp_path):
    assert len(select_from([write_scores(tmp_path / "a.parquet", {"ann": 1})], SelectionOptions()).groups) == 2
    with pytest.raises(InputError, match="no request that is kept has 2 candidates and another one to learn from"):
        select_from([write_scores(tmp_path / "b.parquet", {"ann": 1}, documents=2)], SelectionOptions())


def gains_that_are_none(path: Path) -> None:
    table = pq.read_table(path)
    gains = pa.array([[math.nan]] * table.num_rows, table.schema.field("gains").type)
    pq.write_table(table.set_column(3, table.schema.field("gains"), gains), path)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    write_scores(path / "part.parquet")


DAMAGES: dict[str, Any] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:200]),
    "foreign": lambda path: pq.write_table(pa.table({"x": [1]}), path),
    "text": lambda path: path.write_text("no Parquet"),
    "empty": lambda path: path.write_text(""),
    "missing": lambda path: path.unlink(),
    "folder": as_folder,
}


@pytest.mark.parametrize("damage", [*DAMAGES.values(), write_scores, gains_that_are_none])
def test_a_file_that_holds_no_groups_is_refused(damage, tmp_path):
    path = tmp_path / "g.parquet"
    write_groups(select_from([write_scores(tmp_path / "s.parquet")], SelectionOptions()), path)
    damage(path)
    with pytest.raises(InputError, match=path.name):
        read_groups(path)


def test_the_command_writes_groups_and_a_summary(tmp_path, train):
    scores = [write_scores(tmp_path / f"{user}.parquet", {user: 3}) for user in USERS]
    out = tmp_path / "g.parquet"

    run = train("select", scores=scores, out=out, choose=["share=1", "negatives=1", "seed=5"], json="-")

    assert run.status == 0
    groups, description = read_groups(out).groups, read_groups(out).description
    assert json.loads(run.out) == description
    assert (description["share"], description["negatives"], description["seed"]) == (1.0, 1, 5)
    assert len(groups) == description["groups"] == 6 * 2
    assert run.err.startswith("12 groups of 6 of 6 requests of 2 users in ")


SCORES_DAMAGES = DAMAGES | {
    "groups": lambda path: write_groups(select_from([path], SelectionOptions()), path),
    "no user": lambda path: write_scores(path, columns={"user_id": [None]}),
}


@pytest.mark.parametrize("damage", SCORES_DAMAGES)
def test_the_command_refuses_scores_that_are_none(damage, tmp_path, train):
    scores, out = write_scores(tmp_path / "s.parquet"), tmp_path / "g.parquet"
    SCORES_DAMAGES[damage](scores)

    run = train("select", scores=scores, out=out)

    assert (run.status, run.out) == (2, "")
    assert run.err.startswith(f"pearl: {scores}: ")
    assert run.err.count("\n") == 1
    assert ("delete it" in run.err) == (damage == "cut")  # which is of a user's own file no advice
    assert not out.exists()


def test_a_files_groups_are_of_the_examples_that_are_trained_on(tmp_path):
    """There users carry the corpus's name, candidates stand in another order, and gains are in float32."""
    scores = write_scores(tmp_path / "s.parquet")
    made = select_from([scores], SelectionOptions(share=0.5, negatives=2))
    examples = [
        replace(
            example,
            user_id=f"mine:{example.user_id}",
            domain="mine",
            documents=tuple(replace(document, text=f"text {document.id}") for document in example.documents[::-1]),
            gains=example.gains[::-1].astype(np.float32),
        )
        for example in scored_requests(pq.read_table(scores))
    ]
    chosen = selection_among(made, examples, tmp_path / "g.parquet")
    assert told(chosen.groups) == [(f"mine:{user}", *rest) for user, *rest in told(made.groups)]
    assert {document.text for group in chosen.groups for document in group.documents} <= {
        f"text d{place}" for place in range(6)
    }
    kept = {(f"mine:{group.user_id}", group.request_id) for group in made.groups}
    assert [example.key for example in chosen.requests] == [each.key for each in examples if each.key in kept]

    others = [replace(example, gains=example.gains + 1) for example in examples]
    fewer = [replace(example, documents=example.documents[1:], gains=example.gains[1:]) for example in examples]
    other_users = [replace(example, user_id=f"mine:other {example.user_id}") for example in examples]
    for wrong, complaint in (
        (other_users, "is not among the requests to train on"),
        ([], "is not among the requests to train on"),
        (fewer, "is not among the requests to train on"),
        (others, "has other gains"),
    ):
        with pytest.raises(InputError, match=complaint) as caught:
            selection_among(made, wrong, tmp_path / "g.parquet")
        assert caught.value.message.startswith(f"--groups {tmp_path / 'g.parquet'}: request 'q")


def test_groups_of_another_kind_of_gain_are_refused(tmp_path):
    made = select_from([write_scores(tmp_path / "s.parquet")], SelectionOptions())
    write_groups(replace(made, description=made.description | {"normalize": "median"}), tmp_path / "g.parquet")
    with pytest.raises(InputError, match=r"g\.parquet: normalize=median: there are sum and mean"):
        read_groups(tmp_path / "g.parquet")
