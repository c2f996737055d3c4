"""``pearl judge style-pairs``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import EncoderName, Overrides, PresetName, Seed
from eval.commands.reporting import reporting
from eval.recorded.style.styles import PERSONA_PRESETS
from eval.report.report import Report
from pearl.cli.options import known
from pearl.errors import InputError

ABOUT = """A line of the responses is a text, the persona it was written for, and how much of each style it has:

\b
  {"id": "1", "task": "email", "request": "What is a prime number?", "text": "...", "generator": "ours",
   "persona": "0", "scores": {"poetic and lyrical": 0.9, "storytelling": 0.4, "scholarly-yet-friendly": 0.1}}

A persona is 0 to 4, the paper's, or has "styles": [...]; a text without one was written for no persona. Scores may come
from `pearl judge style-detect --judgements` instead, if its items have the ids of the responses. `pearl judge
style-write` writes such responses.

Targets: "each" judges a pair by the styles of every persona of its request, as published; "own" by those of its own
texts; "none" once and by no style, for helpfulness. "prompts" pairs what a prompt steered with what was written for
nobody, judged by all its styles and by each, for `pearl eval style --prompts`; "prompts_all" by all of them only.

""" + PERSONA_PRESETS.help()
EXAMPLES = """
  pearl judge style-pairs --responses responses.jsonl --out pairs.jsonl
  pearl judge style-pairs --responses responses.jsonl --judgements detected.jsonl --targets own --out pairs.jsonl
"""


@reporting("judge", "style-pairs", writes=("out",), presets=PERSONA_PRESETS)
def style_pairs(
    responses: Path = typer.Option(..., metavar="R.jsonl", help="Texts written for personas."),
    out: Path = typer.Option(..., metavar="PAIRS.jsonl", help="Write the items for `pearl judge style-rank`."),
    judgements: Path | None = typer.Option(
        None, metavar="FILE.jsonl", help="Judgements of style-detect, whose scores replace the responses' own."
    ),
    keep: int = typer.Option(10, min=2, help="Keep at most this many dissimilar texts per persona and request."),
    targets: str = typer.Option("each", help="Styles to judge pairs by: each, own, none, prompts or prompts_all."),
    preset: PresetName = "corrected",
    choose: Overrides = None,
    encoder: EncoderName = None,
    seed: Seed = 0,
) -> Report:
    """Pair the texts that follow their persona most with those that follow it least, for the style ranking judge."""
    from eval.asking.json_lines import write_lines
    from eval.judges import style_pairs as pairs
    from pearl.settings import load_settings
    from retriever.models.encoder import SentenceEncoder

    options = pairs.PairOptions(keep, known("targets", targets, pairs.TARGETS), seed)
    chosen = PERSONA_PRESETS.chosen(preset, choose)
    scored = options.targets not in pairs.STEERED
    detected = pairs.detected_scores(judgements) if judgements else None
    texts = pairs.read_responses(responses, detected, **chosen, scored=scored)
    encode = SentenceEncoder(load_settings(encoder=encoder).encoder).encode_documents
    built = pairs.build_pairs(texts.parsed, options, encode)
    if not built.lines:
        steered = "a text that a prompt steered and one for nobody (style-write --persona nobody)"
        needed = "two texts of personas to pair" if scored else steered
        raise InputError(f"{responses}: no request has {needed}, both by one generator.", code="no_pair")
    write_lines(out, built.lines, called=f"--out {out}")
    figures = {
        "preset": preset,
        "choices": chosen,
        "passed_over": dict(texts.passed_over),
        "lines": len(built.lines),
        "counts": dict(built.counts),
    }
    return Report(figures, lambda result: [pairs.pairs_table(result)])
