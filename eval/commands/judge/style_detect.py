"""``pearl judge style-detect``"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from eval.commands.judge.options import (
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
from pearl.options import IN_FLIGHT_OPTION, JSON_OPTION, LLM_OPTION, check_writable, write_json

EXAMPLES = """A line of the items is a text, and one style to look for:

\b
  {"id": "1", "task": "email", "style": "storytelling", "text": "...", "generator": "ours"}

"task" (email, tweet or summary), "style" and "text" are required; an unknown style needs its "definition". Schemes:
yes_no, likert_3 (three labels), likert_10 (1 to 10), probability. Presets: corrected shows the judge the definition
that people were shown; as_published the name alone, and the headings as printed. An even vote of the draws gives no
label. `pearl eval style` compares the output of --judgements with people's labels.

Examples:

\b
  pearl judge style-detect --items texts.jsonl --llm openai --dry-run --price-in 0.15 --price-out 0.6
  pearl judge style-detect --items texts.jsonl --scheme yes_no --scheme likert_10 --reflect --json -
  pearl judge style-detect --items texts.jsonl --as "a typical person" --as "a retired judge" --draws 15
"""


def style_detect(
    items: Path = typer.Option(..., "--items", metavar="ITEMS.jsonl", help="Texts, each with the style to look for."),
    scheme: list[str] = typer.Option(["probability"], "--scheme", help="Scheme of asking, see below; repeatable."),
    llm: str | None = LLM_OPTION,
    preset: str = typer.Option("corrected", "--preset", help="Preset: corrected or as_published."),
    draws: int = typer.Option(30, "--draws", min=1, help="Times to ask each question."),
    labels: int = typer.Option(
        2, "--labels", min=2, max=3, help="Number of labels: 2 (absent, present) or 3 (not, somewhat, very)."
    ),
    reflect: bool = typer.Option(
        False, "--reflect", help="Ask again, showing the judge its own answer; not in the estimate."
    ),
    judge_as: list[str] = typer.Option(
        [], "--as", metavar="PERSONA", help='Judge as this persona, for example "a typical person"; repeatable.'
    ),
    protected: bool = typer.Option(False, "--protected", help="Judge as each of 21 personas of protected groups."),
    style_shown: str | None = typer.Option(
        None, "--style-shown", help="Form of the style, if not the preset's: name or definition."
    ),
    headings: str | None = typer.Option(
        None, "--headings", help="Headings of the texts, if not the preset's: printed or task."
    ),
    even: str | None = typer.Option(
        None, "--even", help="Label of an even vote, if not the preset's: no_label or cautious (the lesser one)."
    ),
    temperature: Temperature = 0.7,
    max_tokens: int = typer.Option(
        64, "--max-tokens", min=1, help="Tokens in a reply at most; a reply cut off there is invalid."
    ),
    limit: Limit = None,
    seed: Seed = 0,
    max_in_flight: int = IN_FLIGHT_OPTION,
    replies: RepliesFile = None,
    replay: Replay = False,
    dry_run: DryRun = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_cost: MaxCost = None,
    judgements: Path | None = typer.Option(None, metavar="FILE.jsonl", help="Write each judgement on a line."),
    json: str | None = JSON_OPTION,
) -> None:
    """Ask a judge in many draws whether a text has a style, and measure how far the draws agree."""
    from rich.console import Console

    from eval.asking.bench import Asking, bench
    from eval.asking.cost import Prices
    from eval.asking.json_lines import write_lines
    from eval.judges.items import sampled
    from eval.judges.style_detect_items import read_style_items
    from eval.judges.style_detect_presets import chosen
    from eval.judges.style_detect_trials import JudgedRound, Questions, Reflections, Trials, judgement_lines
    from eval.judges.style_scales import scales_named
    from eval.recorded.style.lines import REFLECTED
    from eval.recorded.style.roles import personas_of
    from eval.report.head import Head
    from eval.report.report import Outputs, Report

    for option, target in (("--judgements", judgements), ("--json", json)):
        check_writable(option, target)
    taken, scales = chosen(preset, style_shown, headings, even), scales_named(scheme, labels)
    personas = personas_of(judge_as, protected=protected)
    found = read_style_items(items)
    head = Head.of(
        "judge",
        "style-detect",
        items=items,
        scheme=[scale.name for scale in scales],
        preset=preset,
        style_shown=taken.style_shown,
        headings=taken.headings,
        even=taken.even,
        draws=draws,
        labels=labels,
        reflect=reflect,
        **{"--as": list(personas)},  # type: ignore[arg-type]
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        limit=limit,
    )
    asking = Asking(llm, max_in_flight, replies, replay, temperature, max_tokens, Prices(price_in, price_out), max_cost)
    trials = Trials(sampled(found.parsed, limit, seed), taken, scales, draws, personas or (None,))
    questions = Questions(trials)
    with bench(asking, Console(stderr=True)) as at:
        head = replace(head, judge=at.model.identity)
        if dry_run:
            write_json(json or "-", head.to_json() | at.estimate(questions))
            return
        asked = at.ask("judgements", questions)
        rounds = [JudgedRound(list(trials.judged(asked.replies())), asked.replies)]
        elicitation = asked.to_json()
        if reflect:
            again = Reflections(trials, rounds[0].judged)
            asked = at.after(asked, at.model.decoding).ask("reflections", again)
            rounds.append(JudgedRound(list(again.judged(asked.replies())), asked.replies, REFLECTED))
            elicitation["reflection"] = asked.to_json()
        if judgements:
            lines = judgement_lines(trials, at.model.identity, rounds, labels)
            write_lines(judgements, lines, called=f"--judgements {judgements}")
    # only now: they load what statistics need
    from eval.judges.style_detect import detection_report
    from eval.judges.style_detect_tables import detection_tables

    figures = detection_report(found, trials, rounds, labels, seed) | {"elicitation": elicitation}
    Outputs(json).write(Report(head, figures, detection_tables))
