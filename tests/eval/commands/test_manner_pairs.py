"""``pearl forensics pairs``: a history against a model's drafts, through the real command line and a real server."""

from __future__ import annotations

import pytest

from eval.recorded.forensics.pair_files import read_pairs
from eval.recorded.forensics.pairs import Vote


def history(user, count, **fields):
    return [
        {
            "user_id": user,
            "id": f"{user}{number}",
            "timestamp": 1_700_000_000 + number,
            "text": f"Aye, {user} says {number}: it is so; and so be it.",
            "request": f"{user} request {number}",
            **fields,
        }
        for number in range(count)
    ]


@pytest.fixture
def pair(run_pearl, judge_endpoint, write_lines, tmp_path):
    judge_endpoint.says = lambda body: f"Dear all, this answers {body['messages'][-1]['content'][-12:]}."
    out = tmp_path / "pairs.json"

    def run(*more, lines=None):
        source = write_lines(lines or [*history("ann", 6), *history("bob", 3)], "history.jsonl")
        words = ("--history", source, "--out", out, f"PEARL_HOME={tmp_path}")
        return run_pearl("forensics", "pairs", *words, *more), out

    return run


def test_the_texts_of_people_against_drafts_for_the_same_requests(pair, judge_endpoint, run_pearl):
    run, out = pair("--json", "-", "--targets", 4)
    assert run.status == 0
    assert (run.json["n"], run.json["users"], run.json["failed"]) == (7, {"ann": 4, "bob": 3}, 0)
    data = read_pairs(out)
    named = {annotator.name: annotator.id for annotator in data.annotators.values()}
    assert set(named) == {"person", "ann", "bob"}
    orders = set()
    for each in data.pairs:
        side = 0 if each.texts[0].startswith("Aye") else 1
        orders.add(side)
        assert each.models[side] == each.metadata["user"]
        assert each.models[1 - side] == "mock"
        assert each.texts[1 - side].startswith("Dear all, this answers")
        assert each.vote(named["person"]) is (Vote.B if side else Vote.A)
        votes = {user: each.vote(named[user]).chooses for user in ("ann", "bob")}
        assert votes == {user: user == each.metadata["user"] for user in ("ann", "bob")}
    assert orders == {0, 1}
    # the most recent ones, each asked for once
    assert [each.metadata["document"] for each in data.pairs] == [
        "ann2",
        "ann3",
        "ann4",
        "ann5",
        "bob0",
        "bob1",
        "bob2",
    ]
    before = out.read_bytes()
    assert pair("--targets", 4)[0].status == 0
    assert (len(judge_endpoint.bodies), out.read_bytes()) == (7, before)
    # the rules tell both apart: the person never greets, the model always does
    run_pearl("forensics", "annotate", "--pairs", out, "--out", out, "--rules")
    shown = run_pearl("forensics", "metrics", "--pairs", out, "--reference", "person", "--json", "-")
    strength = {row["name"]: row["strength"]["value"] for row in shown.json["annotators"]}
    assert strength["use more semicolons (by rule)"] == 1.0
    assert strength["greet more often (by rule)"] == -1.0


def test_users_and_requests_that_are_not_there(pair, judge_endpoint):
    run, out = pair("--user", "carl")
    assert (out.exists(), judge_endpoint.bodies) == (False, [])
    assert "--user carl: " in run.refusal
    assert "has no text of this user" in run.err
    lines = [{name: line[name] for name in line if name != "request"} for line in history("ann", 3)]
    run, _ = pair(lines=lines)
    assert "no text answers a request" in run.refusal


def test_one_user_and_an_estimate(pair, judge_endpoint):
    run, out = pair("--user", "bob", "--dry-run", "PEARL_LLM_PRICES=1,1")
    assert (run.json["estimate"]["calls"], judge_endpoint.bodies, out.exists()) == (3, [], False)
    assert run.json["estimate"]["cost_at_most"] > 0
    run, out = pair("--user", "bob")
    assert [each.metadata["user"] for each in read_pairs(out).pairs] == ["bob"] * 3
    assert "3 pairs; 0 drafts cut off." in run.out


def test_a_draft_that_failed_makes_no_pair(pair, judge_endpoint):
    judge_endpoint.refuses = lambda number: (400, {}) if number == 2 else None
    run, out = pair("PEARL_MAX_IN_FLIGHT=1", "--json", "-")
    assert (run.status, run.json["failed"], run.json["n"], len(read_pairs(out).pairs)) == (0, 1, 8, 8)
    judge_endpoint.says = lambda body: " "
    run, out = pair("--template", "post")
    assert run.status == 1
    assert "No request has a draft: empty_answer 9." in run.err


def test_of_several_texts_for_one_request_the_last_counts(pair):
    run, out = pair(lines=[*history("ann", 3, request="the same"), *history("bob", 2)])
    assert run.status == 0
    assert [each.metadata["document"] for each in read_pairs(out).pairs] == ["ann2", "bob0", "bob1"]


PROMPTS = [f"What is {thing} good for?" for thing in ("salt", "rain", "sleep", "chess", "moss", "doubt")]


@pytest.fixture
def pair_models(run_pearl, judge_endpoint, tmp_path):
    says = {"kind": "Gladly; here it is", "curt": "No"}
    judge_endpoint.says = lambda body: f"<think>Hm.</think>{says[body['model']]}: {body['messages'][-1]['content']}"
    out = tmp_path / "models.json"

    def run(*more, prompts=None, name="prompts.txt"):
        path = tmp_path / name
        path.write_text(prompts or "\n".join([*PROMPTS, "", PROMPTS[0]]), encoding="utf-8")
        words = ("--llm", "kind", "--against", "curt", "--prompts", path, "--out", out)
        return run_pearl("forensics", "pairs", *words, *more), out

    return run


def test_the_answers_of_two_models_to_the_same_prompts(pair_models, judge_endpoint, run_pearl):
    run, out = pair_models("--json", "-")
    assert (run.status, run.json["n"], run.json["prompts"]) == (0, 6, 6)
    assert run.json["models"]["curt"] == {"failed": 0, "failures": {}, "cut_off": 0}
    assert [message["role"] for message in judge_endpoint.bodies[0]["messages"]] == ["user"]
    data = read_pairs(out)
    named = {annotator.name: annotator.id for annotator in data.annotators.values()}
    assert set(named) == {"kind", "curt"}
    assert [each.prompt for each in data.pairs] == PROMPTS
    orders = set()
    for each in data.pairs:
        kind = each.models.index("kind")
        orders.add(kind)
        assert each.texts[kind] == f"Gladly; here it is: {each.prompt}"
        assert each.texts[1 - kind] == f"No: {each.prompt}"
        assert (each.vote(named["kind"]), each.vote(named["curt"])) == ((Vote.A, Vote.B), (Vote.B, Vote.A))[kind]
    assert orders == {0, 1}
    before = out.read_bytes()
    assert "6 pairs of 6 prompts" in pair_models()[0].out
    assert (len(judge_endpoint.bodies), out.read_bytes()) == (12, before)
    run_pearl("forensics", "annotate", "--pairs", out, "--out", out, "--rules")
    shown = run_pearl("forensics", "metrics", "--pairs", out, "--reference", "kind", "--json", "-")
    strength = {row["name"]: row["strength"]["value"] for row in shown.json["annotators"]}
    assert (strength["use more semicolons (by rule)"], strength["curt"]) == (1.0, -1.0)


def test_prompts_as_json_and_an_answer_that_failed(pair_models, judge_endpoint):
    judge_endpoint.refuses = lambda number: (400, {}) if number == 2 else None
    lines = '{"prompt": "One\\nline"}\n{"id": 7, "request": "Two"}\n'
    run, out = pair_models("PEARL_MAX_IN_FLIGHT=1", "--json", "-", prompts=lines, name="prompts.jsonl")
    assert (run.status, run.json["n"], run.json["models"]["kind"]["failed"]) == (0, 1, 1)
    assert [each.prompt for each in read_pairs(out).pairs] == ["One\nline"]


def test_an_estimate_for_two_models(pair_models, judge_endpoint):
    run, out = pair_models("--dry-run")
    assert {name: each["calls"] for name, each in run.json["estimate"].items()} == {"kind": 6, "curt": 6}
    assert (judge_endpoint.bodies, out.exists()) == ([], False)


@pytest.mark.parametrize(
    ("more", "prompts", "said"),
    [
        (("--against", "kind"), "Why?", "--llm and --against are both kind; name two models."),
        (("--user", "ann"), "Why?", "--user chooses in --history; leave it out."),
        ((), "\n \n", "there is no prompt in it."),
        (("--history", "h.jsonl"), "Why?", "Give either --history or --prompts."),
    ],
)
def test_what_two_models_cannot_be_asked(pair_models, judge_endpoint, more, prompts, said):
    run, out = pair_models(*more, prompts=prompts)
    assert (out.exists(), judge_endpoint.bodies) == (False, [])
    assert said in run.refusal
