"""``pearl judge personalized``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.judge.options import (
    Ability,
    DryRun,
    Limit,
    MaxCost,
    PriceIn,
    PriceOut,
    Replay,
    RepliesFile,
    Seed,
    Temperature,
)
from eval.commands.scored import write_or_show
from pearl.options import IN_FLIGHT_OPTION, JSON_OPTION, LLM_OPTION, check_writable, write_json

EXAMPLES = """A line of the items is a person, two texts, and which of them this person chose:

\b
  {"id": "1", "persona": {"age": "34", "education": "..."}, "question": "...",
   "responses": {"A": "...", "B": "..."}, "preferred": "B"}

"responses" and "preferred" (C is a tie) are required; "persona" may be a text; "generator_a" and "generator_b" may name
the models that wrote the responses, the judge itself included. Presets: corrected asks in both orders and reads
strictly; as_published draws one order per item and reads like the published code. `pearl eval personalized` evaluates
the records that --records writes. --ablate asks everything again with these fields of the persona, or with none.

Examples:

\b
  pearl judge personalized --items people.jsonl --llm openai --dry-run
  pearl judge personalized --items people.jsonl --fields age,education --records few.jsonl --json -
  pearl judge personalized --items people.jsonl --no-persona --tie --no-certainty
  pearl judge personalized --items people.jsonl --ablate age,education --ablate age --ablate none
"""


def personalized(
    items: Path = typer.Option(
        ..., "--items", metavar="ITEMS.jsonl", help="People, each with two texts and their choice."
    ),
    llm: str | None = LLM_OPTION,
    persona: bool = typer.Option(True, "--persona/--no-persona", help="Show the judge the persona."),
    fields: str | None = typer.Option(
        None, "--fields", metavar="F,G", help="Fields of the persona to show; all by default."
    ),
    ablate: list[str] = typer.Option(
        [], "--ablate", metavar="F,G", help="Ask everything again with these fields, or none, and compare; repeatable."
    ),
    tie: bool = typer.Option(False, "--tie", help="Offer a tie as an answer."),
    certainty: bool = typer.Option(True, "--certainty/--no-certainty", help="Ask for a certainty of 1 to 100."),
    threshold: float = typer.Option(
        80.0, "--threshold", min=1, max=100, help="Certainty from which on a judge counts as certain."
    ),
    preset: str = typer.Option("corrected", "--preset", help="Preset: corrected or as_published."),
    runs: int = typer.Option(1, "--runs", min=1, help="Times to ask each question."),
    order: str | None = typer.Option(None, "--order", help="Order of the texts, if not the preset's: both or random."),
    temperature: Temperature = 0.7,
    max_tokens: int = typer.Option(64, "--max-tokens", min=1, help="Tokens in a reply at most."),
    ability: Ability = None,
    limit: Limit = None,
    seed: Seed = 0,
    max_in_flight: int = IN_FLIGHT_OPTION,
    replies: RepliesFile = None,
    replay: Replay = False,
    dry_run: DryRun = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_cost: MaxCost = None,
    records: Path | None = typer.Option(
        None,
        "--records",
        metavar="FILE.jsonl",
        help="Write each judgement on a line; for those of --ablate F, ask with --fields F.",
    ),
    json: str | None = JSON_OPTION,
) -> None:
    """Ask a judge which of two texts a described person would prefer, and measure how far to trust it."""
    from rich.console import Console

    from eval.asking.bench import Asking, bench
    from eval.asking.cost import Prices
    from eval.judges.authorship import PRESETS
    from eval.judges.items import sampled
    from eval.judges.persona_items import read_persona_items
    from eval.judges.persona_prompt import Mode, ablations
    from eval.judges.persona_trials import PersonaQuestions, PersonaTrials, check_told, told
    from eval.judges.self_preference import families_of
    from eval.report.head import Head

    for option, target in (("--records", records), ("--json", json)):
        check_writable(option, target)
    taken_order = PRESETS.chosen(preset, [f"order={order}"] if order else [])["order"]
    found, families = read_persona_items(items), families_of(ability)
    mode = Mode(persona, found.named("fields", fields) if fields else None, tie, certainty)
    modes = (mode, *ablations(mode, ablate, found))
    head = Head.of(
        "judge",
        "personalized",
        items=items,
        preset=preset,
        order=taken_order,
        persona=persona,
        no_persona=not persona,
        fields=fields or None,
        ablate=ablate,
        certainty=certainty,
        no_certainty=not certainty,
        tie=tie,
        runs=runs,
        threshold=threshold,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        ability=ability,
        limit=limit,
    ).to_json()
    asking = Asking(llm, max_in_flight, replies, replay, temperature, max_tokens, Prices(price_in, price_out), max_cost)
    sample = sampled(found.items, limit, seed)
    every_trials = [PersonaTrials(sample, each, runs, taken_order, seed) for each in modes]
    questions = PersonaQuestions(every_trials)
    with bench(asking, Console(stderr=True)) as at:
        head["judge"] = at.model.identity
        if dry_run:
            write_json(json or "-", head | at.estimate(questions))
            return
        asked = at.ask("judgements", questions)
        replies_left = asked.replies()
        every_told = [told(each, replies_left) for each in every_trials]
    check_told(every_told[0])
    # only now: they load what statistics need
    from eval.judges.persona_report import heard, persona_report
    from eval.judges.persona_tables import persona_tables
    from eval.judges.persona_trials import write_records
    from eval.judges.self_preference import Itself
    from eval.recorded.personalized.presets import preset_named
    from eval.recorded.personalized.report import PersonalizedOptions

    options = PersonalizedOptions(threshold, preset_named(preset), seed=seed)
    by_mode = [heard(*each, options.preset) for each in zip(every_trials, every_told, strict=True)]
    result = head | {
        **persona_report(by_mode, options, Itself(at.model.names, families), str(items)),
        "fields": found.fields,
        "passed_over": dict(found.passed_over),
        "elicitation": asked.to_json(),
    }
    if records:
        write_records(records, by_mode[0].told, by_mode[0].read)
    write_or_show(json, result, persona_tables)
