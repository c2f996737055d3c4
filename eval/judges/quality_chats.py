"""Conversations for ``pearl train chat``, from which a model learns to judge writing quality
(papers/writing-quality-rewards.txt, section 4): the judge's question about a pair or a scored text, and the right
answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.asking.choices import PaperChoice, Preset, Presets
from eval.judges.quality import PAIR, POINTS, answer, question, system
from eval.report.tables import Json, Table
from pearl.errors import InputError
from retriever.reward.originals import preferred_versions
from retriever.reward.records import QualityPair, QualityRecord, ScoredParagraph, read_quality

NONE, INPUT, OUTPUT = "none", "input", "output"
VARIANT = PaperChoice(
    "variant",
    {"PR": "both", "P": "pairs, each in both orders", "R": "scored texts"},
    "The paper trains on pairs, on scored texts and on both.",
)
RATIONALE = PaperChoice(
    "rationale",
    {
        NONE: "the question, and the verdict",
        INPUT: "the reasons stand below the question, and the verdict is learned; when it is asked there are none",
        OUTPUT: "the reasons are asked for and learned, too, before the verdict; judge with pearl judge quality "
        "--reasons",
    },
    "The paper trains with the reasons of editors in three ways.",
)
PRESETS = Presets(
    (VARIANT, RATIONALE),
    (Preset("default", "Pairs and scored texts, without reasons.", {"variant": "PR", "rationale": NONE}),),
)


def chats_of(data: Iterable[Path], variant: str, rationale: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Make conversations to train a judge on; count the records used and left out. Raises InputError without any."""
    records = [record for path in data for record in read_quality(path)]
    if "P" in variant and rationale == NONE:  # nobody gave reasons for these
        scored = [record for record in records if isinstance(record, ScoredParagraph) and not record.off_scale]
        line = {record.text: record.line for record in scored}
        given = [record for record in records if isinstance(record, QualityPair)]
        made = preferred_versions([*given, *scored])[len({(pair.better, pair.worse) for pair in given}) :]
        records += [QualityPair(line[better], better, worse, 1) for better, worse in made]
    counts: Counter[str] = Counter()
    chats = [{"messages": turns} for turns in _conversations(records, variant, rationale, counts)]
    if not chats:
        left_out = ", ".join(f"{count:,} {why}" for why, count in counts.items()) or "the files are empty"
        raise InputError(f"--data: no record is left for variant={variant}: {left_out}.")
    return chats, {"conversations": len(chats), "records": dict(counts)}


def tables(result: Json) -> Iterator[Table]:
    rows = tuple((name, f"{count:,}") for name, count in result["records"].items())
    yield Table(f"{result['conversations']:,} conversations.", ("records", "number"), rows, result["command"])


def _conversations(
    records: Sequence[QualityRecord], variant: str, rationale: str, counts: Counter[str]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the turns of each conversation; count the records used and left out."""
    seen: set[tuple[str, str]] = set()
    for record in records:
        if isinstance(record, QualityPair) and "P" in variant:
            if rationale == NONE and (record.better, record.worse) in seen:  # as where a set holds both orders
                counts["repeated pairs, left out"] += 1
                continue
            seen.add((record.better, record.worse))
            other = replace(record, first=record.second, second=record.first, preferred=3 - record.preferred)
            shown: tuple[QualityPair | ScoredParagraph, ...] = (record, other)
        elif isinstance(record, ScoredParagraph) and "R" in variant and not record.off_scale:
            shown = (record,)
        else:
            off_scale = isinstance(record, ScoredParagraph) and record.off_scale
            counts["score off the scale" if off_scale else "not of the variant"] += 1
            continue
        if rationale != NONE and not record.rationale:
            counts["without a rationale"] += 1
            continue
        counts["pairs" if len(shown) == 2 else "scored texts"] += 1
        # reasons name the texts by their places, so a pair with reasons keeps its order
        yield from (_turns(order, rationale) for order in (shown if rationale == NONE else shown[:1]))


def _turns(record: QualityPair | ScoredParagraph, rationale: str) -> list[dict[str, Any]]:
    request, reasons = question(record), rationale == OUTPUT
    if rationale == INPUT:
        request = f"{request}\n\nThe reasons that an editor gave:\n{record.rationale}"
    return [
        {
            "role": "system",
            "content": system(PAIR if isinstance(record, QualityPair) else POINTS, reasons=reasons).content,
        },
        {"role": "user", "content": request},
        {"role": "assistant", "content": answer(record, reasons=reasons)},
    ]
