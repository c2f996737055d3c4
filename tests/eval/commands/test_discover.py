"""``pearl forensics discover`` through the real command line: a server plays the model, and a trait is planted."""

from __future__ import annotations

import json
import re

import pytest

from eval.recorded.forensics.pair_files import read_pairs
from eval.recorded.forensics.pairs import Vote, short_id

PLANTED = "Select the response that says indeed"


def user_text(body):
    return body["messages"][-1]["content"]


def marked(shown, name):
    return re.search(rf"<{name}>\n(.*?)\n</{name}>", shown, re.DOTALL)[1]


def plays(body):
    """Proposes the planted trait, a wrong one and one that never applies; merges into the first; votes by the texts."""
    shown = user_text(body)
    if "likeliest rules" in shown:
        number = re.search(r"\d+", marked(shown, "selected"))[0]
        said = "says indeed" if "indeed" in marked(shown, "selected") else "does not say indeed"
        return json.dumps({"rules": [f"Select the response that {said}", "is longer", f"names the planet {number}"]})
    if "one rule" in shown:
        return json.dumps({"rule": re.search(r"^- (.*)$", shown, re.MULTILINE)[1]})
    a, b = marked(shown, "text_a"), marked(shown, "text_b")
    said = {}
    for number, rule in re.findall(r"^(\d+)\. (Select .*)$", shown, re.MULTILINE):
        holds = {"indeed": lambda text: "indeed" in text, "longer": len}.get(rule.split()[-1])
        both = holds and (holds(a), holds(b))
        said[number] = "None" if not both or both[0] == both[1] else "A" if both[0] > both[1] else "B"
    return json.dumps(said)


def pairs(count):
    comparisons = []
    for number in range(count):
        own, other = f"It rained {number} days, indeed.", f"It rained for {number} days in that year, I believe."
        swapped = number % 3 == 0
        a, b = (other, own) if swapped else (own, other)
        pref = None if number == 0 else "b" if swapped else "a"
        comparison = {"id": f"p{number}", "prompt": "How was it?", "response_a": {"text": a}, "response_b": {"text": b}}
        comparisons.append({**comparison, "annotations": {"p": {"pref": pref}}, "mine": number})
    annotators = {"p": {"name": "person", "type": "human"}}
    return {"metadata": {"version": "2.0"}, "annotators": annotators, "comparisons": comparisons}


@pytest.fixture
def discover(run_pearl, judge_endpoint, tmp_path):
    judge_endpoint.says = plays
    source = tmp_path / "pairs.json"

    def run(*more, count=13):
        source.write_text(json.dumps(pairs(count)), encoding="utf-8")
        words = ("--pairs", source, "--reference", "person", f"PEARL_HOME={tmp_path}")
        return run_pearl("forensics", "discover", *words, *more)

    return run


def test_a_planted_trait_is_found(discover, judge_endpoint, run_pearl, tmp_path):
    out, mine = tmp_path / "found.json", tmp_path / "mine.txt"
    run = discover("--clusters", 4, "--out", out, "--traits", mine, "--json", "-")
    assert run.status == 0
    result = run.json
    assert (result["n"], result["voted_on"], result["proposed"], result["distinct"]) == (12, 6, 36, 8)
    best, *others = result["candidates"]
    assert (best["trait"], best["kept"]) == ("says indeed", True)
    assert (best["for"], best["against"], best["abstain"], best["invalid"]) == (6, 0, 0, 0)
    assert [row["kept"] for row in others] == [False] * len(others)
    longer = next(row for row in others if row["trait"] == "is longer")
    assert (longer["against"], longer["faults"]) == (6, ["not_mostly_for", "seldom_relevant"])
    assert mine.read_text(encoding="utf-8") == f"{PLANTED}\n"
    data = read_pairs(out)
    voted = [pair for pair in data.pairs if pair.vote(short_id(PLANTED))]
    assert len(voted) == 6
    assert all(pair.vote(short_id(PLANTED)) is pair.vote("p") is not Vote.NOT_APPLICABLE for pair in voted)
    assert [pair.fields["mine"] for pair in data.pairs] == list(range(13))
    shown = run_pearl("forensics", "metrics", "--pairs", out, "--reference", "person", "--json", "-")
    assert PLANTED in {row["name"] for row in shown.json["annotators"]}
    # everything is kept: the same again asks nobody
    calls = len(judge_endpoint.bodies)
    again = discover("--clusters", 4, "--json", "-")
    assert (len(judge_endpoint.bodies), again.json["candidates"]) == (calls, result["candidates"])


def test_published_choices_and_few_clusters_ask_for_no_encoder(discover, judge_endpoint):
    run = discover("--preset", "as_published", "--clusters", 99, "--limit", 5)
    assert run.status == 0
    assert "says indeed" in run.out
    assert "not_mostly_for" in run.out
    assert "How was it?" in user_text(judge_endpoint.bodies[0])  # what is proposed may depend on the request


def test_odd_proposals_are_counted(discover, judge_endpoint):
    said = ("No idea.", '{"rules": []}', '{"rule": "x"}')

    def says(body):
        shown = user_text(body)
        number = int(re.search(r"\d+", marked(shown, "selected"))[0]) if "likeliest" in shown else 99
        return said[number] if number < 3 else plays(body)

    judge_endpoint.says = says
    run = discover("--choose", "voted=all", "--clusters", 50, "--json", "-")
    assert run.json["unread"] == {"no_verdict": 2, "not_offered": 2}
    judge_endpoint.says = lambda body: "No idea."
    run = discover("--choose", "seed=1", "--proposals", 2)
    assert (run.status, run.out) == (1, "")
    assert "No reply proposes a rule that can be read" in run.err


def test_an_estimate(discover, judge_endpoint):
    run = discover("--dry-run", "PEARL_LLM_PRICES=1,2")
    parts = run.json["estimate"]
    assert {name: part["calls"] for name, part in parts.items()} == {"proposals": 12, "merging": 20, "votes": 6}
    assert all(part["cost_at_most"] > 0 for part in parts.values())
    assert judge_endpoint.bodies == []


@pytest.mark.parametrize(
    ("more", "count", "message"),
    [
        (("--reference", "nobody"), 3, "--reference: there is no annotator 'nobody'; there are person"),
        ((), 2, "'person' chooses a text of 1 pairs; it takes 2 to learn from"),
        (("--choose", "voted=some"), 5, "--choose voted=some: there are held_back, all"),
    ],
)
def test_what_cannot_be_used_is_one_line(discover, judge_endpoint, more, count, message):
    run = discover("--clusters", 1, *more, count=count)
    assert message in run.refusal
