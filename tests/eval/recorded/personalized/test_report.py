from __future__ import annotations

import pytest

from eval.recorded.personalized.judgements import read_recording
from eval.recorded.personalized.preflight import CHECKS
from eval.recorded.personalized.presets import PRESETS
from eval.recorded.personalized.reading import disagreements, read_verdicts
from eval.recorded.personalized.report import PersonalizedOptions, personalized_report, recording_report
from eval.report.checks import preflight

FOLDER = "data/personalized-judge"
AP, EC = "ap_all_features_all_features", "ec_all_features"
LLAMA = "meta-llama_Meta-Llama-3-70B-Instruct"
# (high, low): the first eight are those of data/README.md; the other files have no certainty
RECORDED = {
    f"{AP}_command-r-plus_jun5": ((346, 361), (160, 164)),
    f"{AP}_gpt-4o_jun5": ((229, 243), (266, 280)),
    f"{AP}_{LLAMA}": ((493, 520), (5, 5)),
    f"{AP}_gpt-3.5-turbo": ((375, 473), (34, 52)),
    f"{EC}_gpt-4o": ((4, 4), (295, 503)),
    f"{EC}_gpt-3.5-turbo": ((250, 481), (15, 29)),
    f"{EC}_command-r-plus": ((0, 0), (276, 510)),
    f"{EC}_all_features_{LLAMA}": ((241, 479), (17, 31)),
    f"{EC}_with_tie_all_features_command-r-plus": ((0, 0), (224, 521)),
    f"{EC}_with_tie_all_features_gpt-3.5-turbo": ((0, 0), (200, 521)),
    f"{EC}_with_tie_all_features_gpt-4o": ((0, 0), (217, 521)),
    f"{EC}_with_tie_all_features_{LLAMA}": ((0, 0), (202, 521)),
    "ec_no_persona_all_features_command-r-plus": ((0, 0), (254, 510)),
}
# table 2 of the paper leaves unread replies out; of its two counts that its own accuracies contradict, the accuracies
PUBLISHED = RECORDED | {
    f"{AP}_gpt-3.5-turbo": ((375, 473), (34, 51)),
    f"{EC}_gpt-4o": ((4, 4), (295, 502)),
    f"{EC}_gpt-3.5-turbo": ((250, 472), (15, 29)),
    f"{EC}_all_features_{LLAMA}": ((241, 478), (17, 31)),
}
# one reply names no text, and was read as B for its first word, "Based"
CORRECTED = RECORDED | {f"{AP}_gpt-4o_jun5": ((229, 243), (265, 280))}


@pytest.fixture(scope="module")
def recordings(shared):
    paths = sorted((shared / FOLDER).glob("*.jsonl.gz"))
    return {path.name.removesuffix(".jsonl.gz"): read_recording(path) for path in paths}


@pytest.mark.parametrize(
    ("preset", "expected"), [("recorded", RECORDED), ("as_published", PUBLISHED), ("corrected", CORRECTED)]
)
def test_the_counts_of_the_recorded_files(recordings, preset, expected):
    assert set(recordings) == set(expected)
    for name, recording in recordings.items():
        read = read_verdicts(recording, **PRESETS.chosen(preset))
        high = read.certainty >= 80
        found = [(int(read.correct[part].sum()), int(part.sum())) for part in (high, ~high)]
        assert tuple(found) == expected[name], name
        assert len(recording.judgements) == sum(read.kinds.values())


def test_the_report_has_the_same_counts(recordings):
    name = f"{EC}_gpt-4o"
    found = recording_report(read_verdicts(recordings[name], **PRESETS.chosen("recorded")), PersonalizedOptions())
    assert (found["high"]["correct"], found["high"]["total"]) == (4, 4)
    assert (found["low"]["correct"], found["low"]["total"]) == (295, 503)
    assert (found["n"], found["correct"], found["counted"]) == (507, 299, 507)
    assert found["accuracies"]["invalid_dropped"]["total"] == 506
    assert sum(found["verdicts"].values()) == 507


PR_CHECKS = {
    "constant_distractor": 525,
    "distractor_equals_target": 1,
    "distractor_by_the_user": 14,
    "stale_neighbour": 524,
    "stale_persona": 511,
    "persona_leaked": 283,
    "length_tells_gold": 495,
    "frequency_tells_gold": 524,
}


def test_what_is_wrong_with_the_recorded_files(recordings):
    for name, recording in recordings.items():
        checks = {finding.check: len(finding.records) for finding in preflight(CHECKS, recording)}
        if not name.startswith("ap_"):
            assert set(checks) == {"duplicate_distractor", "frequency_tells_gold"}
        elif len(recording.judgements) == 525:
            assert checks == PR_CHECKS
        else:  # the file of two records less, the one with the neighbour's own fields
            assert set(checks) == set(PR_CHECKS)
            assert (checks["constant_distractor"], checks["stale_neighbour"]) == (523, 522)


@pytest.mark.slow
def test_where_the_recorded_answers_and_our_parser_differ(recordings):
    found = {name: disagreements(recording) for name, recording in recordings.items()}
    assert {name: lines["answer"] for name, lines in found.items() if lines["answer"]} == {f"{AP}_gpt-4o_jun5": [29]}
    assert not any(lines["acc"] or lines["certainty"] for lines in found.values())
    assert sum(lines["raw_replies"] for lines in found.values()) == 525 * 3 + 523


def report(path, **options):
    return personalized_report([path], PersonalizedOptions(**options))["files"][0]


def test_the_contract(judged, write_lines):
    path = write_lines(judged(), "r.jsonl.gz")
    found = report(path)
    assert list(found)[:7] == ["file", "n", "correct", "accuracy", "high", "low", "auroc"]
    assert found["file"] == str(path)
    assert (found["n"], found["correct"], found["accuracy"]) == (40, 20, 0.5)
    assert found["high"] == {"correct": 20, "total": 20, "accuracy": 1.0}
    assert found["low"] == {"correct": 0, "total": 20, "accuracy": 0.0}
    assert found["auroc"] == 1.0
    assert found["preflight"] == []
    assert found["intervals"]["accuracy"]["low"] < 0.5 < found["intervals"]["accuracy"]["high"]
    assert found["clusters"] == 5
    assert found["resampled"] == "personas"


def test_the_threshold_is_high_itself(judged, write_lines):
    path = write_lines(judged(4, certainty="70"))
    assert report(path, threshold=70.0)["high"]["total"] == 4
    assert report(path, threshold=70.5)["high"] == {"correct": 0, "total": 0, "accuracy": None}


def test_both_accuracies_and_why_replies_are_invalid(judged, write_lines):
    found = report(write_lines([*judged(4), *judged(2, answer="[", res=None)]))
    assert found["accuracies"]["invalid_wrong"]["accuracy"] == 2 / 6
    assert found["accuracies"]["invalid_dropped"]["accuracy"] == 2 / 4
    assert found["invalid_reasons"] == {"no_verdict": 2}
    assert found["verdicts"]["invalid"] == 2


def test_figures_that_are_undefined_say_why(judged, write_lines):
    found = report(write_lines(judged(8, certainty="NA")))
    assert (found["auroc"], found["brier"]) == (None, None)
    assert found["undefined"]["auroc"] == "no record has a certainty"
    sure = [line for line in judged(16) if line["acc"]]
    assert report(write_lines(sure))["undefined"]["auroc"].startswith("the records with a certainty are all right")


def test_nothing_that_can_be_counted(judged, write_lines):
    path = write_lines(judged(4, answer="[", res=None))
    found = report(path, preset="as_published", **PRESETS.chosen("as_published"))
    assert (found["n"], found["counted"], found["accuracy"], found["auroc"]) == (4, 0, None, None)
    assert found["accuracies"]["invalid_wrong"]["accuracy"] == 0.0
    assert found["accuracies"]["invalid_dropped"]["accuracy"] is None


def test_trivial_answers_stand_beside_the_judge(judged, write_lines):
    rows = {row["name"]: row for row in report(write_lines(judged()))["baselines"]}
    assert list(rows) == ["majority", "first", "second", "longer", "shorter", "commoner", "rarer", "persona_words"]
    assert rows["first"]["correct"] == 20
    assert rows["first"]["difference"]["value"] == 0
    assert rows["rarer"]["undecided"] == 40  # every text is shown once
    assert all(row["p_holm"] >= row["p_value"] for row in rows.values())


def test_without_texts_there_are_fewer(write_lines):
    lines = [{"ground_truth": "AB"[index % 2], "answer": "A", "certainty": 50 + index} for index in range(20)]
    found = report(write_lines(lines))
    assert [row["name"] for row in found["baselines"]] == ["majority", "first", "second"]
    assert found["resampled"] == "records"
    assert found["preferences"]["first"]["judge"]["value"] == 1.0
    assert found["preferences"]["longer"] == {"n": 0, "judge": None, "gold": None}


def test_ties_are_right_only_for_a_judge_that_says_so(write_lines):
    lines = [{"ground_truth": "ABC"[index % 3], "answer": "C"} for index in range(12)]
    found = report(write_lines(lines))
    assert (found["correct"], found["verdicts"]["tie"]) == (4, 12)
    rows = {row["name"]: row["correct"] for row in found["baselines"]}
    assert (rows["first"], rows["second"], rows["majority"]) == (4, 4, 4)
    assert found["preferences"]["first"]["n"] == 0
