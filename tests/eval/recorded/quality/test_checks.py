"""Faults of the records, and paragraphs that were trained on."""

from __future__ import annotations

from pathlib import Path

from eval.recorded.quality.checks import PAIR_CHECKS, leaks
from eval.report.checks import preflight
from retriever.reward.originals import underlying
from retriever.reward.records import EditTrace, QualityPair, ScoredParagraph

DRAFT = (
    "The harbour was quiet that morning, and the gulls sat in a row along the wall while the old ferry waited with its "
    "engine running for the two passengers who came every day at seven and never spoke to each other or to anyone."
)
EDITED = DRAFT.replace("was quiet that morning", "lay still").replace("or to anyone", "once")
OTHER = "Nobody had told Marta that the house was sold. She stood before the door with the key and listened for steps."


def test_each_fault_names_its_records():
    pairs = [
        QualityPair(1, DRAFT, EDITED, 1),
        QualityPair(2, EDITED, DRAFT, 1),
        QualityPair(3, DRAFT, EDITED, 1),
        QualityPair(4, OTHER, OTHER + " ", 2),
        QualityPair(5, OTHER, DRAFT, 2),
        QualityPair(6, DRAFT + " ", OTHER, 2),
    ]
    assert {finding.check: finding.records for finding in preflight(PAIR_CHECKS, pairs)} == {
        "equal_texts": (4,),
        "duplicate_pair": (1, 3),
        "both_orders": (1, 2, 3, 5, 6),
        "contradicting_labels": (1, 2, 3, 5, 6),
    }
    assert preflight(PAIR_CHECKS, pairs[:1]) == []


def test_an_edited_text_has_the_paragraph_of_its_draft():
    first, second, third, fourth = underlying([DRAFT, OTHER, EDITED, DRAFT])
    assert first == third == fourth != second
    assert len(set(underlying(["A.", "B.", "", "A."]))) == 3


def test_paragraphs_that_were_trained_on_are_named():
    tested = [QualityPair(1, OTHER, OTHER + " She left.", 2), QualityPair(2, OTHER[:40], EDITED, 1)]
    trained = [(Path("train.json"), ScoredParagraph(9, DRAFT, 4)), (Path("edits.json"), EditTrace(3, "A.", (), "B."))]
    found = leaks(tested, trained)
    assert found is not None
    assert (found.check, found.records) == ("in_training", (2,))
    assert found.message == ("Paragraphs that were trained on, edited or not. 1 of 2 items: 2 is train.json:9.")
    assert leaks(tested[:1], trained) is None
