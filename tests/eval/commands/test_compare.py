"""``pearl compare`` from a history to its page, with the real SDK against a server that writes and judges."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

PLACES = ("the harbour", "the mill", "the station", "the bakery", "the orchard", "the lighthouse")
HISTORY = [
    {
        "user_id": f"u{user}",
        "id": f"d{n}",
        "timestamp": 1_700_000_000 + 1000 * n,
        "request": f"Tell of {PLACES[n % 6]}",
        "text": f"User {user} was at {PLACES[n % 6]} on day {n} and liked the view <b>there</b>.",
    }
    for user in range(3)
    for n in range(10)
]
OURS, THEIRS = "bm25", "recent"
CASES = 3 * 4


def is_judge(body):
    return "REFERENCE POST" in body["messages"][0]["content"]


def writes_and_judges(body):
    """A writer that repeats the last example's day, and a judge that likes even days more."""
    text = body["messages"][-1]["content"]
    if is_judge(body):
        first, second = (int(part.split("day ")[1].split(".")[0]) for part in text.split("<post_")[1:3])
        return "Alike.\n" + ("POST ONE" if first % 2 < second % 2 else "POST TWO" if second % 2 < first % 2 else "BOTH")
    days = [
        each["content"].split("on day ")[1].split(" ")[0] for each in body["messages"] if "on day" in each["content"]
    ]
    return f"It was day {days[-1]}. {text[-20:]}"


@pytest.fixture
def compare(run_pearl, write_lines, judge_endpoint):
    judge_endpoint.says = writes_and_judges

    def run(*more, lines=HISTORY, systems=(OURS, THEIRS)):
        history = write_lines(lines, "history.jsonl.gz")
        return run_pearl("compare", "--history", history, "--systems", *systems, "--llm", "openai", *more)

    return run


PRICES = ("PEARL_LLM_PRICES=1,2",)


def test_the_judges_presets_choices_and_runs(compare, judge_endpoint):
    found = compare("--preset", "as_published", "--json", "-").json
    assert (found["order"], found["runs"], found["n"]) == ("random", 3, 3 * CASES)
    assert " --preset as_published --choose order=random --choose unparsed=dropped " in found["command"]
    assert found["command"].endswith(" --choose seed=0 --runs 3")
    found = compare("--choose", "order=random", "--runs", 2, "--json", "-").json
    assert (found["order"], found["runs"], found["n"]) == ("random", 2, 2 * CASES)
    calls = len(judge_endpoint.bodies)
    for words, said in ((("--preset", "mine"), "mine"), (("--choose", "order=none"), "--choose order=none: there are")):
        run = compare(*words)
        assert len(judge_endpoint.bodies) == calls
        assert said in run.refusal


def test_from_a_history_to_the_page(compare, judge_endpoint, write_lines, tmp_path):
    page, drafts, judged = tmp_path / "page.html", tmp_path / "drafts.jsonl", tmp_path / "judged.jsonl"
    files = ("--report", page, "--drafts", drafts, "--judgements", judged)
    run = compare("--judge", "sage", *PRICES, "--max-cost", 1, *files, "--json", "-")
    assert run.status == 0, run.err
    found = run.json
    assert found["systems"] == {"proposed": OURS, "baseline": THEIRS}
    assert (found["cases"], found["items"], found["n"], found["order"]) == (CASES, CASES, 2 * CASES, "both")
    assert (found["judge"], found["flip_rate"]["value"]) == ("sage", 0)
    models = [body["model"] for body in judge_endpoint.bodies]
    assert models[-1] == "sage"
    calls = found["elicitation"]
    assert models.count("sage") == calls["judgements"]["asked"]
    assert models.count("mock") == calls["drafts"]["asked"] <= 2 * CASES
    assert all(is_judge(body) == (body["model"] == "sage") for body in judge_endpoint.bodies)
    # what is held back is shown to nobody but the judge
    for body in judge_endpoint.bodies:
        shown = str(body["messages"])
        assert is_judge(body) or all(f"on day {n} " not in shown for n in range(6, 10))
    lines = [json.loads(line) for line in drafts.read_text().splitlines()]
    assert [line["id"] for line in lines[:4]] == ["u0 d6", "u0 d7", "u0 d8", "u0 d9"]
    assert lines[0]["reference"] == HISTORY[6]["text"]
    html = page.read_text(encoding="utf-8")
    for words in ("<svg", f"{OURS} (P)", "both orders agree", "pearl compare --history"):
        assert words in html
    assert "src=" not in html

    # the same drafts and judgements again, now with labels, and without a call
    before = len(judge_endpoint.bodies)
    outcomes = {line["item"]: line["outcome"] for line in map(json.loads, judged.read_text().splitlines())}
    labels = write_lines([{"id": item, "label": said} for item, said in outcomes.items()], "labels.jsonl")
    again = compare("--judge", "sage", "--labels", labels, "--json", "-", "--report", page)
    assert (again.status, len(judge_endpoint.bodies)) == (0, before)
    assert again.json["rates"] == found["rates"]
    assert again.json["corrected"]["labelled"] == CASES
    assert "prediction-powered" in page.read_text(encoding="utf-8")
    assert "by the labels alone" in compare("--judge", "sage", "--labels", labels).out


def test_an_estimate_first(compare, judge_endpoint):
    run = compare("--dry-run", *PRICES, "--json", "-")
    assert run.status == 0, run.err
    drafts, judgements = run.json["estimate"]["drafts"], run.json["estimate"]["judgements"]
    assert (drafts["kept"], judgements["calls"]) == (0, 2 * CASES)
    assert run.json["calls"] == drafts["calls"] + judgements["calls"]
    assert run.json["cost_at_most"] == pytest.approx(drafts["cost_at_most"] + judgements["cost_at_most"])
    assert judge_endpoint.bodies == []
    done = compare(*PRICES, "--json", "-").json["elicitation"]
    spent = done["drafts"]["cost"] + done["judgements"]["cost"]
    assert 0 < spent <= run.json["cost_at_most"]
    assert compare("--dry-run", "--json", "-").json["calls"] == 0


def test_the_cap_holds_for_both_steps_and_a_second_run_goes_on(compare, judge_endpoint):
    prices = ("PEARL_LLM_PRICES=1000,1000", "PEARL_MAX_DRAFT_TOKENS=100")
    whole = compare("--dry-run", *prices, "--json", "-").json
    run = compare(*prices, "--max-cost", 1.5, "--json", "-")
    assert (run.status, run.out) == (1, "")
    assert "--max-cost 1.5: stopped after" in run.err
    first = len(judge_endpoint.bodies)
    assert not any(map(is_judge, judge_endpoint.bodies))
    drafts = whole["estimate"]["drafts"]["calls"]
    run = compare(*prices, "--max-cost", 0.11 * (drafts - first) + 2, "--json", "-")  # 0.11 is what a call costs
    assert run.status == 1
    assert any(map(is_judge, judge_endpoint.bodies))
    assert compare("PEARL_MAX_DRAFT_TOKENS=100", "--json", "-").status == 0
    bodies = [json.dumps(body, sort_keys=True) for body in judge_endpoint.bodies]
    assert len(bodies) == len(set(bodies))


@pytest.mark.slow
@pytest.mark.parametrize("step", [False, True], ids=["while it writes", "while it judges"])
def test_a_kill_and_no_second_call(compare, judge_endpoint, switchboard, until, tmp_path, write_lines, step):
    """kill -9 of a real process; what was under way is all that is asked again."""
    judge_endpoint.seconds = 0.02
    history = write_lines(HISTORY, "history.jsonl.gz")
    words = ["compare", "--history", history, "--systems", OURS, THEIRS, "--llm", "openai"]
    words += ["--prompt", "post", "--runs", 4, "--json", "-"]
    command = [sys.executable, "-c", "from pearl.cli.main import main; main()", *map(str, words)]
    env = os.environ | {"PEARL_MAX_IN_FLIGHT": "2"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    bodies = judge_endpoint.bodies
    until(lambda: sum(is_judge(body) == step for body in bodies) >= 8 or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(switchboard.hung_up)  # calls that were on their way
    asked = len(judge_endpoint.bodies)
    run = compare("--runs", 4, "--json", "-")
    assert run.status == 0, run.err
    calls = run.json["elicitation"]
    needed = calls["drafts"]["questions"] + calls["judgements"]["questions"]
    # at most the two that were under way, and as many whose reply was not committed yet
    assert needed <= len(judge_endpoint.bodies) <= needed + 4
    assert calls["drafts"]["kept_before"] + calls["judgements"]["kept_before"] >= asked - 4
    before = len(judge_endpoint.bodies)
    assert compare("--runs", 4, "--json", "-").json["rates"] == run.json["rates"]
    assert len(judge_endpoint.bodies) == before


def test_a_writer_that_says_nothing_fails_and_is_asked_again(compare, judge_endpoint):
    judge_endpoint.says = lambda body: "" if "bakery" in str(body["messages"][-1]) else writes_and_judges(body)
    run = compare("--json", "-")
    assert run.status == 0, run.err
    assert run.json["failed_drafts"] == {OURS: 3, THEIRS: 3}
    judge_endpoint.says = writes_and_judges
    assert compare("--json", "-").json["failed_drafts"] == {OURS: 0, THEIRS: 0}


@pytest.mark.parametrize(
    ("lines", "more", "complaint"),
    [
        ([], (), "history.jsonl.gz: holds no documents"),
        ([{**line, "request": None} for line in HISTORY], (), "request: no text answers a request"),
        (HISTORY[:1], (), "request: no text answers a request"),
        ([{"id": "a", "text": "b", "timestamp": 1}], (), "history.jsonl.gz:1: user_id: "),
        ([{"user_id": "u", "id": "a", "text": "b"}], (), "history.jsonl.gz:1: timestamp: 'timestamp' is missing"),
        (HISTORY, ("--template", "sonnet"), "sonnet"),
        (HISTORY, ("--max-cost", 1), "--max-cost needs prices"),
        (HISTORY, ("--report", "nowhere/page.html"), "--report nowhere/page.html: there is no folder"),
    ],
)
def test_what_cannot_be_compared(compare, judge_endpoint, lines, more, complaint):
    run = compare(*more, "--json", "-", lines=lines)
    assert complaint in run.refusal
    assert judge_endpoint.bodies == []


def test_labels_are_checked_before_anything_is_asked(compare, judge_endpoint, write_lines):
    labels = [{"id": f"u0 d{n}", "label": "tie"} for n in range(10)]  # d0 to d5 are documents
    run = compare("--labels", write_lines(labels, "labels.jsonl"))
    assert judge_endpoint.bodies == []
    assert "labels.jsonl: id: 'u0 d0' is no item of the judgements, and 5 more are none." in run.refusal


def test_labels_of_drafts_that_failed_are_left_out(compare, judge_endpoint, write_lines):
    judge_endpoint.says = lambda body: "" if "bakery" in str(body["messages"][-1]) else writes_and_judges(body)
    labels = [{"id": f"u{user} d{n}", "label": ("tie", "proposed")[n % 2]} for user in range(3) for n in (6, 7, 8, 9)]
    run = compare("--labels", write_lines(labels, "labels.jsonl"), "--json", "-")
    assert run.status == 0, run.err
    assert run.json["corrected"]["labelled"] == CASES - 3


def test_two_different_systems(compare):
    run = compare("--json", "-", systems=(OURS, OURS))
    assert "named twice" in run.refusal
    assert compare("--json", "-", systems=(OURS, "no-such-model")).status == 2


def test_texts_of_a_target_are_no_documents(compare, judge_endpoint):
    """A text that was posted twice would tell the writer what is held back."""
    copies = [{**HISTORY[n + 6], "id": f"copy{n}", "timestamp": 1_600_000_000 + n} for n in range(4)]
    lines = [*copies, *HISTORY[:10]]
    run = compare("--json", "-", lines=lines)
    assert run.status == 0, run.err
    for body in judge_endpoint.bodies:
        assert is_judge(body) or "on day 9" not in str(body["messages"])
