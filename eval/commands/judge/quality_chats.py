"""``pearl judge quality-chats``"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from eval.commands.reporting import reporting
from eval.report.report import Report
from eval.report.tables import Json, Table
from pearl.cli.options import known
from pearl.errors import InputError

if TYPE_CHECKING:
    from retriever.reward.records import QualityPair, QualityRecord, ScoredParagraph

NONE, INPUT, OUTPUT = "none", "input", "output"
RATIONALES = {
    NONE: "the question, and the verdict",
    INPUT: "the reasons stand below the question, and the verdict is learned; when it is asked there are none",
    OUTPUT: "the reasons are asked for and learned, too, before the verdict; judge with pearl judge quality --reasons",
}
VARIANTS = ("P", "R", "PR")

ABOUT = """The records are those of pearl eval quality: pairs, each in both orders (P), and scored texts (R).
Two versions of a paragraph with different scores are a pair, too.
With --rationale a record needs "rationale", the reasons that somebody gave for its label; LAMP's chats have them
behind "Some Thoughts:", or as the answer's "reason":

\b
@RATIONALES""".replace("@RATIONALES", "\n".join(f"  {name}: {says}" for name, says in RATIONALES.items()))
EXAMPLES = """
  pearl judge quality-chats --data lamp_PRE.json --variant P --out chats.jsonl
  pearl judge quality-chats --data reasoned.jsonl --rationale input --out chats.jsonl --json -
  pearl train chat --data chats.jsonl --base embedded --out work/judge
"""


@reporting("judge", "quality-chats", writes=("out",))
def quality_chats(
    data: list[Path] = typer.Option(..., metavar="F.json", help="Pairs and scored texts; repeatable."),
    out: Path = typer.Option(..., metavar="CHATS.jsonl", help="Write a conversation a line."),
    variant: str = typer.Option("PR", help="P for pairs, R for scored texts, PR for both."),
    rationale: str = typer.Option(NONE, help="Place of the reasons: none, input or output, see below."),
) -> Report:
    """Write the conversations that `pearl train chat` makes a judge of writing quality from."""
    from eval.asking.json_lines import write_lines
    from retriever.reward.originals import preferred_versions
    from retriever.reward.records import QualityPair, ScoredParagraph, read_quality

    known("variant", variant, VARIANTS)
    known("rationale", rationale, RATIONALES)
    records = [record for path in data for record in read_quality(path)]
    if "P" in variant and rationale == NONE:  # nobody gave reasons for these
        scored = [record for record in records if isinstance(record, ScoredParagraph) and not record.off_scale]
        place = {record.text: record.line for record in scored}
        given = [record for record in records if isinstance(record, QualityPair)]
        made = preferred_versions([*given, *scored])[len({(pair.better, pair.worse) for pair in given}) :]
        records += [QualityPair(place[better], better, worse, 1) for better, worse in made]
    counts: Counter[str] = Counter()
    chats = [{"messages": turns} for turns in _conversations(records, variant, rationale, counts)]
    if not chats:
        left_out = ", ".join(f"{count:,} {why}" for why, count in counts.items()) or "the files are empty"
        raise InputError(
            f"--data: no record is left for --variant {variant}: {left_out}.", param="data", code="no_records"
        )
    write_lines(out, chats, called=f"--out {out}")
    return Report({"conversations": len(chats), "records": dict(counts)}, _tables)


def _tables(result: Json) -> Iterator[Table]:
    rows = tuple((name, f"{count:,}") for name, count in result["records"].items())
    yield Table(f"{result['conversations']:,} conversations.", ("records", "number"), rows, result["command"])


def _conversations(
    records: Sequence[QualityRecord], variant: str, rationale: str, counts: Counter[str]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the turns of each conversation; count what is left out."""
    from retriever.reward.records import QualityPair, ScoredParagraph

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
    from eval.judges.quality import PAIR, POINTS, answer, question, system
    from retriever.reward.records import QualityPair

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
