"""``pearl forensics annotate``"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from eval.asking.bench import bench
from eval.asking.json_lines import write_lines
from eval.asking.verdict import counts
from eval.commands.forensics.asking import PairsOptions, check_out
from eval.judges.judge import Questions, run
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
from eval.recorded.forensics.pair_files import read_pairs, write_pairs
from eval.recorded.forensics.pairs import MODEL_IDENTITY, AnnotatedPairs, Vote, named
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Json, Table
from pearl.cli.options import bundled, write_json
from pearl.errors import InputError

ABOUT = f"""{ABOUT_PAIRS}

A trait is a line such as "uses more irony" or a whole instruction, "Select the response that uses more irony". Traits
that need no model are counted by rule with --rules: length, lists, bold and italics, emojis, questions at the end,
pronouns, numbers, headings, greetings, punctuation and more; their annotators are marked so.

{PRESETS.help()}"""
EXAMPLES = """
  pearl forensics annotate --pairs arena.csv --out arena.json --llm openai --dry-run --price-in 0.3 --price-out 2.5
  pearl forensics annotate --pairs arena.csv --out arena.json --traits published --target-model gpt-5
  pearl forensics annotate --pairs drafts.json --out drafts.json --rules --words-of ann
  pearl forensics annotate --pairs drafts.json --out mine.json --traits published --traits mine.txt --votes 3
"""
EVERY = "all"  # of the target models


@bundled
def annotate(
    traits: TraitOptions,
    asking: PairsOptions,
    out: Path = typer.Option(..., metavar="PAIRS", help="Write the pairs with the new annotations."),
    votes: int | None = typer.Option(None, min=1, help="Votes on each pair; the preset's number by default."),
    rules: bool = typer.Option(False, "--rules", help="Annotate by rule; no model is asked unless --traits is given."),
    words_of: str | None = typer.Option(
        None, metavar="NAME", help="Annotate the words of the texts that this annotator chooses, by rule."
    ),
    target_model: list[str] = typer.Option(
        [], metavar="M", help="Annotate the texts of this model, or of all; asks as --rules does; repeatable."
    ),
    reference_model: list[str] = typer.Option(
        [], metavar="M", help="Compare targets with this model alone; repeatable."
    ),
) -> None:
    """Annotate pairs of texts: which has more of each trait, by a chat model or by rule.

    Every reply is kept: repeat an interrupted command and it goes on where it stopped.
    """
    run_task(Task(traits, asking, out, votes, rules, words_of, tuple(target_model), tuple(reference_model)))


@dataclass(frozen=True, slots=True)
class Task:
    """The pairs to annotate, and the annotators. ``votes`` None: the preset's number."""

    traits: TraitOptions
    asking: PairsOptions
    out: Path
    votes: int | None
    rules: bool
    words_of: str | None
    targets: tuple[str, ...]
    references: tuple[str, ...]

    @property
    def judges(self) -> bool:
        """True when a chat model is asked."""
        by_rule = self.rules or self.words_of or self.targets
        return bool(self.traits.traits) or not by_rule

    def options(self) -> TraitOptions:
        """The judge's options as they hold. Raises InputError for unknown choices and unusable traits."""
        chosen: dict[str, Any] = PRESETS.chosen(self.asking.preset, self.asking.choose)
        chosen["preset"] = self.asking.preset
        chosen["votes"] = self.votes or int(chosen["votes"])
        rules = read_traits(self.traits.traits or [PUBLISHED]) if self.judges else ()
        return replace(self.traits, **chosen, seed=self.asking.seed, rules=rules)

    def head(self, options: TraitOptions, judge: str | None) -> Head:
        asking = self.asking
        asked: dict[str, Any] = {"pairs": asking.items, "out": self.out, "rules": self.rules, "words_of": self.words_of}
        asked |= {"target_model": list(self.targets), "reference_model": list(self.references)}
        if self.judges:
            asked |= {"traits": options.traits, "per_call": options.per_call, "votes": options.votes}
            asked |= asking.drawing()
        return Head.of("forensics", "annotate", judge=judge, **asked, seed=asking.seed)


def run_task(task: Task) -> None:
    """Annotate, write the pairs and the figures. Raises InputError for options and files that cannot be used."""
    outputs = Outputs(task.asking.json)
    others = {"--judgements": task.asking.judgements}
    outputs.check([task.asking.items], others)
    check_out(task.out, {**others, "--json": task.asking.json})
    if task.references and not task.targets:
        raise InputError("--reference-model needs --target-model.", param="reference_model")
    for name in ("llm", "votes", "dry_run", "replay", "limit", "judgements"):
        if getattr(task if name == "votes" else task.asking, name) and not task.judges:
            raise InputError(
                f"--{name.replace('_', '-')}: --rules, --words-of and --target-model ask no model; leave it out, or "
                "name --traits, such as --traits published, to ask about those, too.",
                param=name,
            )
    options = task.options()
    data, figures = by_rule(task, read_pairs(task.asking.items))
    if task.judges:
        judge_pairs(task, options, data, figures, outputs)
        return
    write_pairs(task.out, data)
    outputs.write(task.head(options, None), Report(figures, rule_tables))


def by_rule(task: Task, data: AnnotatedPairs) -> tuple[AnnotatedPairs, dict[str, Any]]:
    """The data set with the annotators that ask nobody, and how they voted."""
    words: dict[str, Any] = {}
    reference = named(data.annotators, task.words_of, "--words-of: ") if task.words_of else None
    if task.rules:
        data = with_rules(data)
    if reference:
        data, used = with_words_of(data, reference), diction(data.pairs, reference.id)
        words = {"words": {"of": reference.name, "more": words_json(used.more), "less": words_json(used.less)}}
    if task.targets:
        data = with_models(data, () if EVERY in task.targets else task.targets, task.references)
    counted = bool(task.rules or task.words_of)
    votes = [
        {
            "id": annotator.id,
            "name": annotator.name,
            "pairs": counts(vote.value for pair in data.pairs if (vote := pair.vote(annotator.id))),
        }
        for annotator in data.annotators.values()
        if (counted and BY_RULE in annotator.fields) or (task.targets and annotator.kind == MODEL_IDENTITY)
    ]
    return data, {"n": len(data.pairs), "by_rule": votes, **words}


def judge_pairs(
    task: Task, options: TraitOptions, data: AnnotatedPairs, figures: dict[str, Any], outputs: Outputs
) -> None:
    """Ask the model for what is not kept, and write everything; a dry run writes its estimate alone."""
    console = Console(stderr=True)
    every = items_of(data, str(task.asking.items))
    items = every.sampled(task.asking.limit, options.seed)
    asking = replace(task.asking, max_tokens=task.asking.max_tokens or longest_reply(options))
    with bench(asking.asking(), console) as at:
        head = task.head(options, at.model.identity)
        if asking.dry_run:
            write_json(asking.json or "-", head.to_json() | at.estimate(Questions(JUDGE, items.every, options)))
            return
        judgements = run(JUDGE, items, options, at)
        judged = JUDGE.figures(judgements, options)
        if asking.judgements:
            lines = JUDGE.lines(judgements, options)
            write_lines(asking.judgements, lines, called=f"--judgements {asking.judgements}")
    write_pairs(task.out, annotated(data, judgements, options))
    if failed := sum(judged["single_votes"]["failed"].values()):
        console.print(
            f"{failed:,} votes are missing, for calls failed; repeat the command to ask again.", soft_wrap=True
        )
    whole = {**figures, **judged, "elicitation": dict(judgements.elicitation)}
    outputs.write(head, Report(whole, annotation_tables))


def annotation_tables(result: Json) -> Iterator[Table]:
    yield from JUDGE.tables(result)
    yield from rule_tables(result)


def rule_tables(result: Json) -> Iterator[Table]:
    """The votes by rule, and the words that tell the texts of an annotator from the others."""
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
