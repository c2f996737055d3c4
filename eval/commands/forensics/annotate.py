"""``pearl forensics annotate``: add votes on traits to pairs of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from eval.asking.bench import JudgeSession
from eval.asking.choices import Drawing
from eval.asking.verdict import counts
from eval.commands.judge.made import SharedOptions, ask_judge, ask_model
from eval.commands.options import PresetName, option
from eval.judges.judge import Questions
from eval.judges.traits import (
    ABOUT_PAIRS,
    JUDGE,
    PRESETS,
    PUBLISHED,
    TraitOptions,
    annotated,
    items_of,
    longest_reply,
    read_traits,
)
from eval.recorded.forensics.by_rule import BY_RULE, diction, with_rules, with_words_of, words_json
from eval.recorded.forensics.identity import with_models
from eval.recorded.forensics.pair_files import kind_of, read_pairs, write_pairs
from eval.recorded.forensics.pairs import MODEL_IDENTITY, AnnotatedPairs, Vote, named
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Json, Table
from pearl.cli.options import bundled, check_apart, check_writable
from pearl.errors import InputError

DRAWING = Drawing(temperature=0.0)
ABOUT = f"""{ABOUT_PAIRS}

A trait is a line such as "uses more irony" or a whole instruction, "Select the response that uses more irony". Traits
that need no model are counted by rule with --rules: length, lists, bold and italics, emojis, questions at the end,
pronouns, numbers, headings, greetings, punctuation and more; their annotators are marked so.

{PRESETS.help()}

{DRAWING.help()}"""
EXAMPLES = """
  pearl forensics annotate --pairs arena.csv --out arena.json --llm openai --dry-run
  pearl forensics annotate --pairs arena.csv --out arena.json --traits published --target-model gpt-5
  pearl forensics annotate --pairs drafts.json --out drafts.json --rules --words-of ann
  pearl forensics annotate --pairs drafts.json --out mine.json --traits published --traits mine.txt --votes 3
"""
EVERY = "all"  # of the target models
VotesOnPair = Annotated[int | None, Option(min=1, help="Votes on each pair; the preset's number by default.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsOptions(SharedOptions):
    """Options of annotate and discover. Votes are sampled at temperature 0; if a pair gets several votes, the order of
    the rules or texts differs."""

    items: Annotated[Path, option("--pairs", metavar="PAIRS", help="Pairs of texts: .json, .jsonl or .csv, or .gz.")]
    preset: PresetName = PRESETS.default
    drawing: Drawing = DRAWING

    def drawn(self) -> PairsOptions:
        """Return the options with the sampling numbers in ``choose`` moved to ``drawing``. Raises InputError for
        invalid numbers."""
        drawing, choose = self.drawing.plus(self.choose)
        return replace(self, drawing=drawing, choose=choose)

    def reply_options(self) -> dict[str, Any]:
        """The options that change replies or the choice of pairs, for the head of a result."""
        choose = [*(self.choose or ()), *self.drawing.words()]
        return {"preset": self.preset, "choose": choose, "limit": self.limit}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateOptions:
    """Options of ``pearl forensics annotate``. If ``votes`` is None, the preset's number is used."""

    out: Annotated[Path, Option(metavar="PAIRS", help="Write the pairs with the new annotations.")]
    votes: VotesOnPair = None
    rules: Annotated[bool, Option("--rules", help="Annotate by rule; no model is asked unless --traits is given.")] = (
        False
    )
    words_of: Annotated[
        str | None,
        Option(metavar="NAME", help="Annotate the words of the texts that this annotator chooses, by rule."),
    ] = None
    target_model: Annotated[
        list[str],
        Option(metavar="M", help="Annotate the texts of this model, or of all; asks as --rules does; repeatable."),
    ] = field(default_factory=list)
    reference_model: Annotated[
        list[str], Option(metavar="M", help="Compare targets with this model alone; repeatable.")
    ] = field(default_factory=list)


@bundled
def annotate(traits: TraitOptions, asking: PairsOptions, given: AnnotateOptions) -> None:
    """Annotate pairs of texts: which has more of each trait, by a chat model or by rule.

    Every reply is kept: repeat an interrupted command and it goes on where it stopped.
    """
    asking, outputs = asking.drawn(), Outputs(asking.json)
    others = {"--judgements": asking.judgements}
    outputs.check([asking.items], others)
    check_out(given.out, {**others, "--json": asking.json})
    if given.reference_model and not given.target_model:
        raise InputError("--reference-model needs --target-model.")
    asks = bool(traits.traits) or not (given.rules or given.words_of or given.target_model)
    for name in ("llm", "votes", "dry_run", "limit", "judgements"):
        if getattr(given if name == "votes" else asking, name) and not asks:
            raise InputError(
                f"--{name.replace('_', '-')}: --rules, --words-of and --target-model ask no model; leave it out, or "
                "name --traits, such as --traits published, to ask about those, too."
            )
    chosen: dict[str, Any] = PRESETS.chosen(asking.preset, asking.choose)
    chosen["votes"] = given.votes or int(chosen["votes"])
    rules = read_traits(traits.traits or [PUBLISHED]) if asks else ()
    options = replace(traits, **chosen, preset=asking.preset, seed=asking.drawing.seed, rules=rules)
    data, figures = by_rule(given, read_pairs(asking.items))
    if not asks:
        write_pairs(given.out, data)
        outputs.write(head_of(given, asking, None, None), Report(figures, rule_tables))
        return
    items = items_of(data, str(asking.items)).sampled(asking.limit, options.seed)

    def report(at: JudgeSession) -> Report:
        judgements, by_model = ask_judge(JUDGE, items, options, asking, at)
        write_pairs(given.out, annotated(data, judgements, options))
        if failed := sum(by_model["single_votes"]["failed"].values()):
            missing = f"{failed:,} votes are missing, for calls failed; repeat the command to ask again."
            at.console.print(missing, soft_wrap=True)
        return Report({**figures, **by_model}, annotation_tables)

    asked = replace(asking, drawing=asking.drawing.at_most(longest_reply(options)))
    head = partial(head_of, given, asking, options)
    ask_model(asked, outputs, head, lambda at: at.estimate(Questions(JUDGE, items.every, options)), report)


def check_out(out: Path, others: Mapping[str, str | Path | None]) -> None:
    """Check, before a model is asked, that the annotated pairs can be written to ``out``. Raises InputError if they
    cannot, for a CSV, and if ``out`` is one of ``others`` (by option)."""
    if kind_of(out) == ".csv":
        raise InputError(f"--out {out}: a CSV has no place for these annotators; write .json or .jsonl.")
    check_writable("--out", out)
    check_apart({"--out": out, **others})


def head_of(given: AnnotateOptions, asking: PairsOptions, options: TraitOptions | None, judge: str | None) -> Head:
    """The head of the result; ``options`` is None if no model was asked."""
    asked: dict[str, Any] = {"pairs": asking.items, "out": given.out, "rules": given.rules, "words_of": given.words_of}
    asked |= {"target_model": given.target_model, "reference_model": given.reference_model}
    if options:
        asked |= {
            "traits": options.traits,
            "per_call": options.per_call,
            "votes": options.votes,
            **asking.reply_options(),
        }
    return Head.of("forensics", "annotate", judge=judge, **asked)


def by_rule(given: AnnotateOptions, data: AnnotatedPairs) -> tuple[AnnotatedPairs, dict[str, Any]]:
    """Add the annotators that need no chat model (by rule, by words, by model identity), and count their votes."""
    words: dict[str, Any] = {}
    reference = named(data.annotators, given.words_of, "--words-of: ") if given.words_of else None
    if given.rules:
        data = with_rules(data)
    if reference:
        data, used = with_words_of(data, reference), diction(data.pairs, reference.id)
        words = {"words": {"of": reference.name, "more": words_json(used.more), "less": words_json(used.less)}}
    if given.target_model:
        data = with_models(data, () if EVERY in given.target_model else given.target_model, given.reference_model)
    counted = bool(given.rules or given.words_of)
    votes = [
        {
            "id": annotator.id,
            "name": annotator.name,
            "pairs": counts(vote.value for pair in data.pairs if (vote := pair.vote(annotator.id))),
        }
        for annotator in data.annotators.values()
        if (counted and BY_RULE in annotator.fields) or (given.target_model and annotator.kind == MODEL_IDENTITY)
    ]
    return data, {"n": len(data.pairs), "by_rule": votes, **words}


def annotation_tables(result: Json) -> Iterator[Table]:
    yield from JUDGE.tables(result)
    yield from rule_tables(result)


def rule_tables(result: Json) -> Iterator[Table]:
    """Tables of the votes by rule, and of the words that distinguish the texts that an annotator chooses."""
    names = [vote.value for vote in Vote if vote is not Vote.INVALID]
    rows = tuple((row["name"], *(f"{row['pairs'].get(name, 0):,}" for name in names)) for row in result["by_rule"])
    if rows:
        yield Table(f"{result['n']:,} pairs, annotated by rule.", ("annotator", *names), rows, result["command"])
    words = result.get("words", {"more": (), "less": ()})
    for way in ("more", "less"):
        cells = tuple(
            (use["word"], f"{use['rate']:.2f}", f"{use['other_rate']:.2f}", f"{use['z']:+.1f}") for use in words[way]
        )
        if cells:
            caption = f"Words that the texts chosen by {words['of']} have {way} often than the others."
            yield Table(caption, ("word", "in 100 words", "in the others", "z"), cells)
