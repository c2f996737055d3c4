"""``pearl judge items``: make items for the judges from published data and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from eval.asking.choices import PaperChoice, Presets
from eval.asking.json_lines import write_lines
from eval.benchmarks import choices as personas
from eval.benchmarks.build import READ, build_items, build_tables
from eval.benchmarks.pairs import BuildOptions
from eval.commands.options import Overrides, PresetName
from eval.commands.reporting import reporting
from eval.judges import quality_chats, style_pairs
from eval.recorded.quality import compose
from eval.recorded.style.styles import PERSONA_PRESETS
from eval.report.report import Report
from pearl.cli.options import check_unread, known, write_json
from pearl.errors import InputError
from pearl.settings import load_settings
from retriever.models.encoder import SentenceEncoder

KEPT, NOT_COMPARED = "kept", "none"
SEED = 0  # of samples and random orders
TIES = PaperChoice(
    "ties",
    {"dropped": "ties are left out", KEPT: "prism, empathic: ties are kept; ask with pearl judge personalized --tie"},
    "The paper asks with a tie as an answer and without.",
)
TARGETS = PaperChoice(
    "targets", style_pairs.TARGETS, "The paper compares judges of styles with those of helpfulness, and ranks prompts."
)
SET = PaperChoice(
    "set",
    {NOT_COMPARED: "no set beside yours"} | {name: f"{each.pairs:,} pairs" for name, each in compose.PUBLISHED.items()},
    "The paper prints how many pairs its sets have, and of which origins.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsOptions:
    own_family: Annotated[
        str | None, Option(metavar="NAME", help="Leave out responses of models whose name contains this (prism).")
    ] = None
    limit: Annotated[
        int | None,
        Option(min=1, help="Number of persona items at most (opinionqa: of each question); the paper's by default."),
    ] = None
    judgements: Annotated[
        Path | None,
        Option(metavar="FILE.jsonl", help="Judgements of style-detect, whose scores replace the texts' own (styled)."),
    ] = None
    keep: Annotated[
        int | None, Option(min=2, help="Dissimilar texts to keep per persona and request; 10 by default (styled).")
    ] = None
    preset: PresetName = ""
    choose: Overrides = None


Items = list[dict[str, Any]]
Make = Callable[[list[Path], ItemsOptions, dict[str, str]], tuple[Items, Report]]


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of data that items are made from. ``takes``: the options that apply to this kind, but not to every
    kind."""

    make: Make
    presets: Presets
    takes: tuple[str, ...] = ()


def from_people(source: str, data: list[Path], given: ItemsOptions, chosen: dict[str, str]) -> tuple[Items, Report]:
    ties = chosen.pop(TIES.name) == KEPT
    encode = SentenceEncoder(load_settings().encoder).encode_documents
    options = BuildOptions(chosen, encode, ties, given.own_family, given.limit, SEED)
    items, figures = build_items(source, data[0], options)
    return items, Report(figures, build_tables)


def from_styled(data: list[Path], given: ItemsOptions, chosen: dict[str, str]) -> tuple[Items, Report]:
    options = style_pairs.PairOptions(given.keep or 10, chosen.pop(TARGETS.name), SEED)
    scored = options.targets not in style_pairs.STEERED
    detected = style_pairs.detected_scores(given.judgements) if given.judgements else None
    texts = style_pairs.read_responses(data[0], detected, **chosen, scored=scored)
    encode = SentenceEncoder(load_settings().encoder).encode_documents
    built = style_pairs.build_pairs(texts.parsed, options, encode)
    if not built.lines:
        steered = "a text that a prompt steered and one for nobody (style-write --persona nobody)"
        needed = "two texts of personas to pair" if scored else steered
        raise InputError(f"{data[0]}: no request has {needed}, both by one generator.")
    figures = {
        "preset": given.preset,
        "choices": chosen,
        "passed_over": dict(texts.passed_over),
        "lines": len(built.lines),
        "counts": dict(built.counts),
    }
    return built.lines, Report(figures, lambda result: [style_pairs.pairs_table(result)])


def from_ranked(data: list[Path], given: ItemsOptions, chosen: dict[str, str]) -> tuple[Items, Report]:
    name = None if chosen["set"] == NOT_COMPARED else chosen["set"]
    pairs, figures = compose.compose(compose.read_responses(data[0]), chosen["orders"], SEED, name)
    return pairs, Report(figures, compose.compose_tables)


def from_quality(data: list[Path], given: ItemsOptions, chosen: dict[str, str]) -> tuple[Items, Report]:
    chats, figures = quality_chats.chats_of(data, **chosen)
    return chats, Report(figures, quality_chats.tables)


PEOPLE = personas.PRESETS.plus(TIES, "dropped")
SOURCES: Mapping[str, Source] = {
    **{name: Source(partial(from_people, name), PEOPLE, ("own_family", "limit")) for name in READ},
    "styled": Source(from_styled, PERSONA_PRESETS.plus(TARGETS, style_pairs.EACH), ("judgements", "keep")),
    "ranked": Source(from_ranked, compose.PRESETS.plus(SET, NOT_COMPARED)),
    "quality": Source(from_quality, quality_chats.PRESETS),
}
ABOUT = """For `pearl judge personalized`, published data in a folder, as their authors have them; nothing is fetched:

\b
  prism      survey.jsonl and utterances.jsonl
  opinionqa  a folder a wave, each with info.csv and responses.csv
  empathic   the essays (*EMP*train*.csv), the people (*PER*train*.csv) and articles*.csv
  reddit     synthetic_dataset.jsonl

@PEOPLE

For `pearl judge style-rank`, styled: texts that follow their persona most, paired with those that follow it least. A
line is a text, the persona it was written for, and how much of each style it has; `pearl judge style-write` writes
such lines:

\b
  {"id": "1", "task": "email", "request": "What is a prime number?", "text": "...", "generator": "ours",
   "persona": "0", "scores": {"poetic and lyrical": 0.9, "storytelling": 0.4, "scholarly-yet-friendly": 0.1}}

A persona is 0 to 4, the paper's, or has "styles": [...]; a text without one was written for no persona. Scores may come
from --judgements instead, if their items have the ids of the texts.

@STYLED

For `pearl judge quality`, ranked: all pairs of responses to an instruction, most of the raters decide which is
preferred; without a majority a pair is left out. "ranks" has the rank that each rater gave, 1 for the best:

\b
  {"instruction": "12", "text": "...", "origin": "human", "ranks": [1, 1, 2]}
  {"instruction": "12", "text": "...", "origin": "AI", "ranks": [2, 2, 1]}

A triplet that pearl eval quality --annotations reads, with its texts, is three responses of origin AI to one
instruction. A preference that follows from the origin, or a single vote, is given as the ranks of one rater.

@RANKED

For `pearl train chat`, quality: conversations of the records of pearl eval quality, pairs in both orders and scored
texts. Two versions of a paragraph with different scores are a pair, too. With reasons a record needs "rationale", those
that somebody gave for its label; LAMP's chats have them behind "Some Thoughts:", or as the answer's "reason".

@QUALITY"""
for _place, _name in (("@PEOPLE", "prism"), ("@STYLED", "styled"), ("@RANKED", "ranked"), ("@QUALITY", "quality")):
    ABOUT = ABOUT.replace(_place, SOURCES[_name].presets.help())
EXAMPLES = """
  pearl judge items --from prism --data prism-alignment --own-family gpt --out prism.jsonl
  pearl judge items --from empathic --data ec --choose ties=kept --out ec.jsonl --json -
  pearl judge items --from styled --data texts.jsonl --judgements detected.jsonl --choose targets=own --out pairs.jsonl
  pearl judge items --from ranked --data stories.jsonl --choose set=art-or-artifice --out stories.json
  pearl judge items --from quality --data lamp_PRE.json --choose variant=P --out chats.jsonl
"""


@reporting("judge", "items", writes=("out",))
def items(
    source: Annotated[str, Option("--from", help=f"Data to make items from: {', '.join(SOURCES)}; see below.")],
    data: Annotated[list[Path], Option(metavar="PATH", help="Folder or file of the data; repeatable for quality.")],
    out: Annotated[Path, Option(metavar="FILE", help="Write the items.")],
    given: ItemsOptions,
) -> Report:
    """Make items for judges from published data, written texts or ratings, and say what was taken, dropped and why."""
    kind = SOURCES[known("from", source, SOURCES)]
    for name in ("own_family", "limit", "judgements", "keep"):
        if getattr(given, name) is not None and name not in kind.takes:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag}: does nothing for items from {source}; leave it out.")
    if len(data) > 1 and source != "quality":
        raise InputError(f"--data is given {len(data)} times and takes one path; give one.")
    check_unread("--out", out, [path for pattern in READ.get(source, ()) for path in data[0].rglob(pattern)])
    given = replace(given, preset=given.preset or kind.presets.default)
    chosen = kind.presets.chosen(given.preset, given.choose)
    told = {"preset": given.preset, "choose": [f"{name}={value}" for name, value in chosen.items()]}
    made, report = kind.make(data, given, chosen)
    if source == "ranked":
        write_json(str(out), made)
    else:
        write_lines(out, made, called=f"--out {out}")
    return replace(report, options=told)
