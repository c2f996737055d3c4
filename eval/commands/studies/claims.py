"""``pearl eval claims``: the claims found in drafts, against spans that were labelled by reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from eval.asking.json_lines import check_fields, read_lines
from eval.commands.reporting import reporting
from eval.report.report import Report
from eval.report.tables import Json, Table, named
from pearl.claims import claims as finder
from pearl.claims.claims import CARRIED_OVER, COMMITMENT, DROPPED, UNSUPPORTED, Sample
from pearl.claims.strength import STRONGER, WEAKER
from pearl.errors import InputError
from pearl.stats.bootstrap import Bootstrap
from pearl.text.usable import check_text

ABOUT = """A line is a draft with what it was written from and the spans that somebody marked in it, those of
"dropped" in the request:

\b
  {"id": "1", "request": "...", "samples": ["..."], "draft": "... Skellmouth ...",
   "spans": [{"kind": "carried_over", "text": "Skellmouth"}, {"kind": "dropped", "text": "Nan"}]}

A claim is right where it covers half of a span of its kind, or lies half within it; a fact that is carried over may be
labelled unsupported and the other way round under "facts"."""
EXAMPLES = """
  pearl eval claims --labels labels.jsonl
  pearl eval claims --labels labels.jsonl --json - | jq .kinds
"""
FIELDS = {"id", "request", "samples", "draft", "spans"}
FACTS = "facts"
KINDS = {
    FACTS: (CARRIED_OVER, UNSUPPORTED),
    CARRIED_OVER: (CARRIED_OVER,),
    UNSUPPORTED: (UNSUPPORTED,),
    COMMITMENT: (COMMITMENT,),
    DROPPED: (DROPPED,),
    STRONGER: (STRONGER,),
    WEAKER: (WEAKER,),
}


@dataclass(frozen=True, slots=True)
class Span:
    kind: str
    start: int  # characters of the draft, or of the request where it is dropped
    end: int

    def covers(self, other: Span) -> bool:
        """True where half of the shorter one lies in both."""
        shared = min(self.end, other.end) - max(self.start, other.start)
        return 2 * shared >= min(self.end - self.start, other.end - other.start) and shared > 0


@dataclass(frozen=True, slots=True)
class LabelledDraft:
    labelled: Sequence[Span]
    found: Sequence[Span]


@reporting("eval", "claims")
def claims(
    labels: Path = typer.Option(..., metavar="F.jsonl", help="Drafts with labelled spans."),
) -> Report:
    """Measure how many of a draft's claims are found, and how many of those found are claims."""
    drafts = read_lines(labels, FIELDS, _draft, "draft").parsed
    bootstrap = Bootstrap([str(index) for index in range(len(drafts))])
    kinds = [_measured(name, kinds, drafts, bootstrap) for name, kinds in KINDS.items()]
    return Report({"n": len(drafts), "kinds": kinds}, claims_tables)


def claims_tables(result: Json) -> Iterator[Table]:
    caption = f"Claims of {result['n']:,} drafts, found by rule; 95% intervals by bootstrap over drafts."
    yield Table.of(caption, result["kinds"], named("kind labelled found precision recall"), result["command"])


def _draft(value: dict[str, Any], number: int) -> LabelledDraft:
    """Read a line, and find the draft's claims. Raises InputError for spans that are not there."""
    check_fields(value, "request", "samples", "draft", "spans")
    request, draft = check_text(value["request"], param="request"), check_text(value["draft"], param="draft")
    if not isinstance(value["samples"], list) or not isinstance(value["spans"], list):
        raise InputError("'samples' and 'spans' must be lists.", param="spans")
    samples = [Sample(str(index), check_text(text, param="samples")) for index, text in enumerate(value["samples"])]
    labelled = []
    for span in value["spans"]:
        kind, text = (span.get("kind"), span.get("text")) if isinstance(span, dict) else (None, None)
        if kind == FACTS or kind not in KINDS:
            raise InputError(f"{kind!r} is no kind of claim.", param="spans.kind")
        labelled.append(_span(kind, str(text), request if kind == DROPPED else draft))
    found = [
        Span(claim.kind, claim.start, claim.end)
        if claim.start is not None and claim.end is not None
        else _span(claim.kind, claim.text, request)
        for claim in finder.claims(draft, request, samples)
    ]
    return LabelledDraft(labelled, found)


def _span(kind: str, text: str, within: str) -> Span:
    start = within.find(text)
    if start < 0 or not text:
        raise InputError(f"{text!r} does not stand in the {'request' if kind == DROPPED else 'draft'}.", param="spans")
    return Span(kind, start, start + len(text))


def _measured(name: str, kinds: Sequence[str], drafts: Sequence[LabelledDraft], bootstrap: Bootstrap) -> dict[str, Any]:
    right, found, recalled, labelled = [], [], [], []  # counts, (N,) each
    for draft in drafts:
        ours = [span for span in draft.found if span.kind in kinds]
        theirs = [span for span in draft.labelled if span.kind in kinds]
        right.append(sum(any(span.covers(label) for label in theirs) for span in ours))
        recalled.append(sum(any(label.covers(span) for span in ours) for label in theirs))
        found.append(len(ours))
        labelled.append(len(theirs))
    return {
        "kind": name,
        "labelled": sum(labelled),
        "found": sum(found),
        "precision": bootstrap.ratio(right, found).to_json(),
        "recall": bootstrap.ratio(recalled, labelled).to_json(),
    }
