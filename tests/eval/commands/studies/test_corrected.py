"""``pearl eval corrected``, and ``--labels`` of the judges, through the command line."""

from __future__ import annotations

import json

import pytest


def judgement(index, outcome):
    return {"item": f"i{index}", "run": 0, "first": "proposed", "verdict": "A", "reason": None, "outcome": outcome}


# 60 items, 40 of them labelled: of 20 true wins 18 are said, of 20 losses 14
JUDGED = [judgement(n, "proposed" if n < 18 or 20 <= n < 26 or n >= 50 else "baseline") for n in range(60)]
LABELS = [{"id": f"i{n}", "label": "proposed" if n < 20 else "baseline"} for n in range(40)]


@pytest.fixture
def corrected(pearl_eval, write_lines):
    def run(*more, judged=JUDGED, labels=LABELS):
        words = ["--judgements", write_lines(judged, "judged.jsonl")]
        words += ["--labels", write_lines(labels, "labels.jsonl")] if labels is not None else []
        return pearl_eval("corrected", *words, *more)

    return run


def test_a_missing_label_is_counted(corrected):
    some = [{"id": f"i{50 + index}", "label": label} for index, label in enumerate((None, " ", "NA", "nan"))]
    run = corrected("--json", "-", labels=[*LABELS, *some])
    assert (run.json["labelled"], run.json["labels_missing"]) == (40, 4)
    assert "40 of them labelled by people, 4 missing;" in " ".join(corrected(labels=[*LABELS, *some]).out.split())


def test_rates_confusion_and_trust(corrected, tmp_path):
    page = tmp_path / "c.html"
    run = corrected("--json", "-", "--report", page)
    assert (run.status, run.err) == (0, "")
    found = run.json
    assert (found["items"], found["labelled"], found["undefined"]) == (60, 40, {})
    _, proposed = found["rates"]
    raw = 34 / 60
    assert proposed["raw"]["value"] == pytest.approx(raw)
    assert proposed["labelled_only"]["value"] == 0.5
    assert proposed["corrected"]["value"] == pytest.approx((raw + 0.7 - 1) / (0.9 + 0.7 - 1))
    assert proposed["corrected"]["low"] < 0.5 < proposed["corrected"]["high"]
    assert proposed["corrected"]["value"] < proposed["prediction_powered"]["value"] < 0.5  # the unlabelled say less
    assert [row["said"]["proposed"] for row in found["confusion"]] == [0.3, 0.9]
    assert found["trusted"]["threshold"] is None
    assert found["trusted"]["reason"] == "too few labelled items have a certainty"
    assert "prediction-powered" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("field", ["id", "item"])
def test_items_may_be_numbered_from_0(corrected, field):
    judged = [{field: n, "verdict": line["outcome"]} for n, line in enumerate(JUDGED)]
    found = corrected("--json", "-", judged=judged, labels=[line | {"id": n} for n, line in enumerate(LABELS)]).json
    assert (found["items"], found["labelled"]) == (60, 40)


def test_tables_for_the_eye(corrected):
    out = corrected().out
    for words in (
        "as the judge says",
        "by the labels alone",
        "40 of them labelled by people",
        "no threshold reaches it",
    ):
        assert words in out


def test_a_judge_no_better_than_chance_is_not_corrected(corrected):
    judged = [judgement(n, "proposed" if n % 2 else "baseline") for n in range(60)]
    run = corrected("--json", "-", judged=judged)
    assert run.status == 0
    assert "add up to 1.00" in run.json["undefined"]["corrected"]
    assert run.json["rates"][0]["corrected"] is None
    assert run.json["rates"][0]["prediction_powered"]["value"] == pytest.approx(0.5)
    assert "Not corrected: sensitivity 0.50" in " ".join(corrected(judged=judged).out.split())


def test_certainties_say_from_where_on_to_trust(corrected):
    """Wrong in a third of what is said with 60, never above."""
    judged = [
        {
            "id": f"r{n}",
            "ground_truth": "AB"[n % 2],
            "answer": "AB"[n % 2 ^ (n >= 40 and n % 3 == 0)],
            "certainty": str(c),
        }
        for n in range(100)
        for c in [90 if n < 40 else 60]
    ]
    run = corrected("--json", "-", judged=judged, labels=None)
    trusted = run.json["trusted"]
    assert (trusted["threshold"], trusted["coverage"]["value"], trusted["error"]["value"]) == (90, 0.4, 0)
    assert trusted["bound"] == pytest.approx(1 - 0.05 ** (1 / 40))
    assert [(step["certainty"], step["wrong"]) for step in trusted["tested"]] == [(90, 0), (60, 20)]
    assert "certainty 90 or more" in corrected(judged=judged, labels=None).out
    strict = corrected("--json", "-", "--risk", 0.01, judged=judged, labels=None).json["trusted"]
    assert strict["threshold"] is None


def test_a_sample_of_a_recordings_own_labels_stands_beside_all_of_them(corrected):
    judged = [{"ground_truth": "ABC"[n % 3], "answer": "ABC"[n % 3] if n % 5 else "["} for n in range(90)]
    found = corrected("--json", "-", "--labelled", 30, judged=judged, labels=None).json
    assert (found["labelled"] <= 30, found["items_without_answer"]) == (True, 18)
    assert [(row["label"], row["known"]) for row in found["rates"]] == [("A", 1 / 3), ("B", 1 / 3), ("tie", 1 / 3)]


def test_records_without_an_id_are_told_apart_by_file_and_line(pearl_eval, write_lines):
    judged = [{"ground_truth": "AB"[n % 2], "answer": "AB"[n % 2]} for n in range(20)]
    files = [write_lines(judged, name) for name in ("one.jsonl", "two.jsonl.gz")]
    words = [word for file in files for word in ("--judgements", file)]
    assert pearl_eval("corrected", *words, "--json", "-").json["items"] == 40


def test_a_recording_comes_through_a_pipe(pearl_eval, piped):
    lines = [json.dumps({"ground_truth": "AB"[n % 2], "answer": "AB"[n % 2]}) for n in range(20)]
    run = pearl_eval("corrected", "--judgements", piped("\n".join(lines).encode()), "--json", "-")
    assert (run.status, run.json["labelled"]) == (0, 20)


@pytest.mark.parametrize(
    "said",
    [
        lambda answer: {"answer": answer, "certainty": 80},
        lambda answer: {"answer": f"It is the other one. [[{answer}]]", "certainty": 80},
        lambda answer: {"res": f"[[{answer}]] [[80]]", "prompt": "Say it, and your certainty from 1 to 100."},
        lambda answer: {"res": f"[[{answer}]] [[4]]", "prompt": "Say it, and your certainty as a number from 1 to 5."},
    ],
)
def test_recordings_are_read_as_they_are_where_they_are_evaluated(corrected, said):
    judged = [{"id": f"r{n}", "ground_truth": "AB"[n % 2], **said("AB"[n // 2 % 2])} for n in range(60)]
    run = corrected("--labelled", 40, "--json", "-", judged=judged, labels=None)
    assert (run.status, run.json["items_without_answer"]) == (0, 0)
    assert run.json["rates"][0]["raw"]["value"] == 0.5
    assert run.json["trusted"]["tested"][0]["certainty"] == 80


def test_texts_in_the_other_order_are_turned_back(corrected):
    judged = [
        {"item": f"i{n}", "run": 0, "swapped": swapped, "verdict": "BA"[swapped] if n < 20 else "AB"[swapped]}
        for n in range(40)
        for swapped in (False, True)
    ]
    labels = [{"item": f"i{n}", "label": "B" if n < 20 else "A", "rater": rater} for n in range(40) for rater in "xy"]
    found = corrected("--json", "-", judged=judged, labels=labels).json
    assert [row["agreement"]["value"] for row in found["confusion"]] == [1, 1]
    assert found["trusted"]["threshold"] == 100  # both orders agree everywhere


def test_levels_that_people_choose_count_as_the_judges_labels(corrected):
    judged = [
        {"item": f"t{n}", "style": "storytelling", "scheme": "yes_no", "draw": draw, "verdict": said}
        for n in range(30)
        for draw in range(3)
        for said in ["present" if n % 2 else "absent"]
    ]
    levels = ("not", "somewhat", "cant_tell", "very")
    labels = [{"item": f"t{n}", "style": "storytelling", "rater": "Ann", "label": levels[n % 4]} for n in range(24)]
    found = corrected("--json", "-", judged=judged, labels=labels).json
    assert [(row["label"], row["labelled"]) for row in found["confusion"]] == [("absent", 6), ("present", 12)]
    assert found["labels_without_majority"] == 6
    # a judge of three labels says what people say
    words = {"not": 0, "somewhat": 1, "very": 2}
    judged = [{**line, "label": list(words)[int(line["item"][1:]) % 3]} for line in judged]
    found = corrected("--json", "-", judged=judged, labels=labels).json
    assert [row["label"] for row in found["confusion"]] == sorted(words)


def test_ranked_pairs_in_both_orders(corrected):
    """A wins where n is even, whatever stands first; people say it in five levels."""
    judged = [
        {"item": f"p{n}", "style": None, "scheme": "ab_helpfulness", "draw": 0, "order": order, "verdict": said}
        for n in range(20)
        for order in ("ab", "ba")
        for said in ["A" if (n % 2 == 0) == (order == "ab") else "B"]
    ]
    labels = [{"id": f"p{n}", "label": ("a_much", "b_slightly", "a_slightly", "b")[n % 4]} for n in range(16)]
    found = corrected("--json", "-", judged=judged, labels=labels).json
    assert [(row["label"], row["agreement"]["value"]) for row in found["confusion"]] == [("A", 1), ("B", 1)]


def test_orders_that_disagree_are_a_tie_and_one_order_is_no_answer(corrected):
    """As the ranking judge's own report has it: it says A or B in either order, and people may say tie."""
    answers = {"a": ("A", "B"), "b": ("B", "A"), "tie": ("A", "A")}  # where a stands first, and where b does
    judged = [
        {"item": f"p{n}", "style": None, "scheme": "ab_helpfulness", "draw": draw, "order": order, "verdict": said}
        for n in range(30)
        for draw in range(2)
        for order, said in zip(("ab", "ba"), answers[("a", "b", "tie")[n % 3]], strict=True)
    ]
    judged[1]["verdict"] = "invalid"
    labels = [{"id": f"p{n}", "label": ("a_much", "b_slightly", "tie")[n % 3]} for n in range(24)]
    found = corrected("--json", "-", judged=judged, labels=labels).json
    assert [(row["label"], row["agreement"]["value"]) for row in found["confusion"]] == [("A", 1), ("B", 1), ("tie", 1)]
    assert [round(row["corrected"]["value"], 3) for row in found["rates"]] == [0.333] * 3
    assert found["items_without_answer"] == 0


def test_most_raters_decide_and_an_even_vote_is_no_label(corrected):
    more = [{"id": "i0", "label": "baseline", "rater": "Ben"}, {"id": "i1", "label": "proposed", "rater": "Ben"}]
    found = corrected("--json", "-", labels=[*LABELS, *more]).json
    assert (found["labelled"], found["labels_without_majority"]) == (39, 1)


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ([], "labels.jsonl: there is no label in it"),
        (LABELS[:9], "labels of 9 items; fewer than 10"),
        (
            [*LABELS[12:24], *({**line, "rater": "Ben", "label": "baseline"} for line in LABELS[12:16])],
            "labels.jsonl: 8 items have a label that most raters agree on",
        ),
        (LABELS[:15], "every label is 'proposed'; a judge cannot be measured"),
        (
            [{"id": f"i{n}", "label": "AB"[n % 2]} for n in range(12)],
            "people say 'A', 'B', and the judge 'baseline', 'proposed'; write the labels in the judge's words.",
        ),
        ([*LABELS, {"id": "x9", "label": "tie"}], "labels.jsonl: id: 'x9' is no item of the judgements."),
        ([*LABELS, LABELS[3]], "labels.jsonl:41: id: 'i3' has a label on line 4 already"),
        ([*LABELS, {"label": "tie"}], "labels.jsonl:41: id: is missing"),
        ([*LABELS, {"id": "i50"}], "labels.jsonl:41: label: must be a label, not null"),
        ([*LABELS, {"id": "i50", "label": 7}], "labels.jsonl:41: label: must be a label, not a number"),
    ],
)
def test_labels_that_cannot_be_used(corrected, labels, complaint):
    run = corrected("--json", "-", labels=labels)
    assert complaint in run.refusal


@pytest.mark.parametrize(
    ("judged", "more", "complaint"),
    [
        ([], (), "there is no judgement in it"),
        ([{"item": "a"}], (), "judged.jsonl:1: verdict: is missing, and so are outcome, label, answer"),
        ([{"item": "a", "verdict": "scored", "score": 3}], (), "has a score, not a label"),
        ([{"item": "a", "scheme": s, "verdict": "present"} for s in ("x", "y")], (), "of 2 judges or schemes (x, y)"),
        (JUDGED, ("--labelled", 20), "--labelled samples the recordings' own labels; leave out --labels or it"),
        (JUDGED, ("--risk", 0), "--risk and --confidence lie between 0 and 1"),
    ],
)
def test_judgements_that_cannot_be_used(corrected, judged, more, complaint):
    run = corrected("--json", "-", *more, judged=judged)
    assert complaint in run.refusal


def test_a_file_that_is_not_there(pearl_eval):
    run = pearl_eval("corrected", "--judgements", "j.jsonl")
    assert run.refusal == "pearl: j.jsonl: cannot be read: No such file or directory\n"


def test_judgements_without_labels_of_their_own(corrected):
    assert "carry no ground_truth; give --labels" in corrected(labels=None).refusal


def test_every_judges_report_takes_labels(run_pearl, write_lines, judge_endpoint, tmp_path):
    judge_endpoint.says = lambda body: "Ours is alike.\nPOST ONE" if "Ours 1" in str(body) else "Alike.\nBOTH"
    items = [
        {"id": f"i{n}", "reference": f"Text {n}.", "candidates": {"a": f"Ours {n} it is.", "b": f"Theirs {n}."}}
        for n in range(20)
    ]
    labels = write_lines(
        [{"id": f"i{n}", "label": "proposed" if n >= 10 else "tie"} for n in range(18)], "labels.jsonl"
    )
    words = ("judge", "authorship", "--items", write_lines(items, "items.jsonl"), "--choose", "order=random")
    out = tmp_path / "judged.jsonl"
    run = run_pearl(*words, "--labels", labels, "--json", "-", "--judgements", out, "--runs", 1)
    assert run.status == 0, run.err
    assert run.json["corrected"]["labelled"] == 18
    assert "--human" in run.json["command"]
    # the same from the file that the judge wrote
    again = run_pearl("eval", "corrected", "--judgements", out, "--labels", labels, "--json", "-").json
    assert again["rates"] == run.json["corrected"]["rates"]
    assert "by the labels alone" in run_pearl(*words, "--labels", labels, "--runs", 1).out
    bad = run_pearl(*words, "--labels", write_lines([{"id": "i1", "label": "tie"}], "few.jsonl"))
    assert "labels of 1 items" in bad.refusal


def test_personalised_judgements_are_of_items_too(run_pearl, write_lines, judge_endpoint, tmp_path):
    judge_endpoint.says = lambda body: "[[A]] [[90]]"
    items = [
        {
            "id": f"p{n}",
            "persona": {"home": "a town"},
            "responses": {"A": f"Hills {n}.", "B": f"Sea {n}."},
            "preferred": "A",
        }
        for n in range(12)
    ]
    out = tmp_path / "judged.jsonl"
    labels = write_lines([{"id": f"p{n}", "label": "AB"[n % 2]} for n in range(12)], "labels.jsonl")
    words = ("judge", "personalized", "--items", write_lines(items, "items.jsonl"), "--runs", 1)
    run = run_pearl(*words, "--labels", labels, "--records", out, "--json", "-")
    assert run.status == 0, run.err
    # always the first text: half A, half B, whatever people say
    assert [row["raw"]["value"] for row in run.json["corrected"]["rates"]] == [0.5, 0.5]
    assert json.loads(out.read_text().splitlines()[1])["swapped"] is True


def test_labels_of_items_whose_calls_failed_are_left_out(run_pearl, write_lines, judge_endpoint):
    judge_endpoint.says = lambda body: "[[A]] [[90]]"
    judge_endpoint.refuses = lambda number: (400, {}) if number == 1 else None
    items = [
        {"id": f"p{n}", "persona": "A cook.", "responses": {"A": f"Hills {n}.", "B": f"Sea {n}."}, "preferred": "A"}
        for n in range(12)
    ]
    labels = write_lines([{"id": f"p{n}", "label": "AB"[n % 2]} for n in range(12)], "labels.jsonl")
    words = ("--items", write_lines(items, "items.jsonl"), "--runs", 1, "--choose", "order=random")
    run = run_pearl("judge", "personalized", *words, "--labels", labels, "PEARL_MAX_IN_FLIGHT=1", "--json", "-")
    assert "is no item of the judgements" not in run.err
    assert (run.status, run.json["corrected"]["labelled"]) == (0, 11)


def test_detection_has_the_option_by_its_other_name(run_pearl, write_lines, judge_endpoint):
    """For its --labels is the number of labels; people may give levels."""
    judge_endpoint.says = lambda body: f"Answer: {0.9 if 'Once' in str(body['messages'][-1]) else 0.2}"
    items = [
        {"id": f"t{n}", "task": "email", "style": "storytelling", "text": f"{('Once', 'Now')[n % 2]} upon {n}."}
        for n in range(12)
    ]
    ratings = [
        {"item": f"t{n}", "style": "storytelling", "rater": rater, "label": ("very", "not")[n % 2]}
        for n in range(12)
        for rater in ("Ann", "Ben")
    ]
    words = ("--items", write_lines(items, "items.jsonl"), "--human", write_lines(ratings, "ratings.jsonl"))
    run = run_pearl("judge", "style-detect", *words, "--draws", 1, "--json", "-")
    assert run.status == 0, run.err
    assert [(row["label"], row["agreement"]["value"]) for row in run.json["corrected"]["confusion"]] == [
        ("absent", 1),
        ("present", 1),
    ]


TEXTS = [{"id": f"t{n}", "task": "email", "style": "storytelling", "text": f"Once upon {n}."} for n in range(12)]
PAIRS = [
    {"id": f"t{n}", "task": "email", "style": "storytelling", "request": "Why?", "text_a": f"A {n}", "text_b": f"B {n}"}
    for n in range(12)
]
PRESENT = [{"item": f"t{n}", "style": "storytelling", "label": ("present", "absent")[n % 2]} for n in range(12)]


@pytest.mark.parametrize(
    ("judge", "items", "words", "labels", "complaint"),
    [
        ("style-detect", TEXTS, ("--scheme", "yes_no", "--scheme", "probability"), PRESENT, "give one --scheme"),
        ("style-detect", TEXTS, ("--as", "a cook", "--as", "a smith"), PRESENT, "at most one --as"),
        ("style-detect", TEXTS, ("--reflect",), PRESENT, "no --reflect"),
        ("style-rank", PAIRS, ("--scheme", "rubric_style"), PRESENT, "give a --scheme that compares two texts"),
        ("style-detect", TEXTS[:-1], (), PRESENT, "'t11 (storytelling)' is no item"),
        ("style-rank", PAIRS, (), [*PRESENT, {"id": "t1", "label": "A"}], "'t1' is no item"),
        ("style-detect", TEXTS, ("--limit", 3), PRESENT, "has labels of 3 items; fewer than 10"),
    ],
)
def test_labels_of_no_use_are_told_before_asking(
    run_pearl, write_lines, judge_endpoint, judge, items, words, labels, complaint
):
    human = ("--human", write_lines(labels, "labels.jsonl"), "--dry-run")
    run = run_pearl("judge", judge, "--items", write_lines(items, "items.jsonl"), *words, *human)
    assert judge_endpoint.bodies == []
    assert complaint in run.refusal


def test_labels_of_items_that_are_not_sampled_are_left_out(run_pearl, write_lines, judge_endpoint):
    judge_endpoint.says = lambda body: "Answer: 0.9"
    words = ("--items", write_lines(TEXTS, "items.jsonl"), "--human", write_lines(PRESENT, "labels.jsonl"))
    run = run_pearl("judge", "style-detect", *words, "--limit", 11, "--draws", 1, "--json", "-")
    assert run.status == 0, run.err
    assert (run.json["corrected"]["items"], run.json["corrected"]["labelled"]) == (11, 11)


def test_judgements_are_written_though_labels_are_of_one_kind(run_pearl, write_lines, judge_endpoint, tmp_path):
    judge_endpoint.says = lambda body: "Answer: 0.9"
    labels, out = [{**line, "label": "present"} for line in PRESENT], tmp_path / "judged.jsonl"
    words = ("--items", write_lines(TEXTS, "items.jsonl"), "--human", write_lines(labels, "labels.jsonl"))
    run = run_pearl("judge", "style-detect", *words, "--draws", 1, "--judgements", out)
    assert (run.status, "every label is 'present'" in run.err) == (2, True)
    assert len(out.read_text().splitlines()) == 12
