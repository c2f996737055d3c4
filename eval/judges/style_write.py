"""Writing texts for the style judges (papers/style-judges.txt, 3.2 and appendices B, C and E): a chat model writes
several texts for each request, persona and prompt, which ``pearl judge items`` and ``style-detect`` read.

It is declared as a judge, since it asks a model in the same way: every text is kept, and no request is repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from typer import Option

from eval.asking.choices import Preset, Presets
from eval.asking.json_lines import check_fields, optional_id, read_items
from eval.asking.reply import EMPTY
from eval.asking.verdict import Invalid
from eval.judges.items import Items
from eval.judges.judge import Judge, Judgement, Judgements, Messages, SecondRound, Trial, grouped, verdict_counts
from eval.recorded.style.choices import DEFINITION, NAME, STYLE_SHOWN
from eval.recorded.style.styles import (
    PERSONA_1,
    PERSONAS,
    RICH,
    SCHOLARLY,
    STYLES,
    TASKS,
    check_task,
    names_style,
    personas_by,
)
from eval.report.tables import NOTHING, Columns, Json, Table
from pearl.cli.options import known
from pearl.models.chat.base import Message
from pearl.text.answers.marks import unfenced
from pearl.text.usable import check_text
from pearl.text.words import count_words

PRESETS = Presets(
    (
        PERSONA_1,
        STYLE_SHOWN,
    ),
    (
        Preset("corrected", "Writers read what raters read.", {"persona_1": RICH, "style_shown": DEFINITION}),
        Preset("as_published", "Names, as figure 12 has them.", {"persona_1": SCHOLARLY, "style_shown": NAME}),
    ),
)
NOBODY = "nobody"  # of the personas: no style is asked for
DEFAULT, REWRITE = "default", "rewrite"
ASKS: Mapping[str, str] = {
    "email": "Write an email that answers this question.",
    "tweet": "Write a tweet of at most 280 characters that answers this question.",
    "summary": "Summarise this Reddit post: its main ideas, and nothing else.",
    "post": "Write a post that answers this question.",
    "comment": "Write a comment on this post.",
    "commit": "Write the commit message for this change: a subject line, an empty line, and why it is made.",
}
# figures 7 to 9, in our words: how a writer is told of the styles, by the name of the prompt
SYSTEM: Mapping[str, str] = {
    DEFAULT: "You are a helpful assistant.",
    "preferences": "These are the styles that you like to write in:\n{styles}",
    "agent": (
        "You are an agent that writes one kind of text ({task}) for a query. Give all of its customary parts, and keep "
        "to its usual length. These parameters set its style:\n{styles}"
    ),
    "neutral": "Turn the query into one kind of text ({task}). Apply these rules of form:\n{styles}",
    "prefer": "You prefer texts of this kind ({task}) that have:\n{styles}",
    REWRITE: "Rewrite a text ({task}) so that it meets the wanted styles, and keep it short.",
}
_REWRITE = """\
WHAT IT ANSWERS:
{request}

THE TEXT:
{text}

WANTED STYLES:
{styles}

Rewrite the text so that each of these styles is strong in it and nobody could take it for the first one; keep every \
fact. Write the new text and nothing else."""
ABOUT_ITEMS = f"""A line of the items is a request, and the kind of text that is to answer it:

\b
  {{"id": "prime", "task": "email", "request": "What is a prime number?"}}

"task" is one of {", ".join(TASKS)}; for a summary or a comment the request is the post, for a commit it is the change.
Each persona asks for three styles, "nobody" for none. Prompts: {", ".join(SYSTEM)} (a first text is rewritten)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    preset: str = PRESETS.default
    persona_1: str = RICH
    style_shown: str = DEFINITION
    seed: int = 0
    persona: Annotated[
        list[str], Option(help=f"Persona to write for: {', '.join(PERSONAS)} or nobody; all by default; repeatable.")
    ] = field(default_factory=list)
    prompt: Annotated[list[str], Option(help="Prompt that tells of the styles, see below; repeatable.")] = field(
        default_factory=lambda: ["preferences"]
    )
    draws: Annotated[int, Option(min=1, help="Texts to write for each request, persona and prompt.")] = 30


@dataclass(frozen=True, slots=True)
class WritingRequest:
    line: int
    id: str
    task: str
    request: str


def load(path: Path, options: WriteOptions) -> tuple[Items[WritingRequest], WriteOptions]:
    """Read the requests. Raises InputError for an unknown persona or prompt, and for a bad line."""
    personas = [known("persona", name, (*PERSONAS, NOBODY)) for name in options.persona or (*PERSONAS, NOBODY)]
    prompts = [known("prompt", name, [name for name in SYSTEM if name != DEFAULT]) for name in options.prompt]

    def parse(value: dict[str, Any], number: int) -> WritingRequest:
        check_fields(value, "task", "request")
        request = check_text(value["request"], param="request")
        return WritingRequest(number, optional_id(value) or f"line {number}", check_task(value["task"]), request)

    settled = replace(options, persona=list(dict.fromkeys(personas)), prompt=list(dict.fromkeys(prompts)))
    return Items.of(read_items(path, {"id", "task", "request"}, parse)), settled


def trials(items: Sequence[WritingRequest], options: WriteOptions) -> Iterator[Trial[WritingRequest]]:
    """Yield trials whose ``way`` is a persona and a prompt; "nobody" has no styles, so only the default prompt."""
    ways = [(name, prompt) for name in options.persona for prompt in options.prompt if name != NOBODY]
    ways += [(NOBODY, DEFAULT)] if NOBODY in options.persona else []
    for place, item in enumerate(items):
        for way in ways:
            yield from (Trial(place, item, draw, way=way) for draw in range(options.draws))


def ask(trial: Trial[WritingRequest], options: WriteOptions) -> Messages:
    """Ask for a text; for the prompt "rewrite", for a first text without styles, which is rewritten later."""
    prompt = DEFAULT if trial.way[1] == REWRITE else trial.way[1]
    system = SYSTEM[prompt].format(task=trial.item.task, styles=_named(trial, options))
    return Message("system", system), Message("user", f"{ASKS[trial.item.task]}\n\n{trial.item.request}")


def rewrite(judgement: Judgement[WritingRequest], reply: str, options: WriteOptions) -> Messages | None:
    trial = judgement.trial
    if trial.way[1] != REWRITE or not isinstance(judgement.verdict, str):
        return None
    user = _REWRITE.format(request=trial.item.request, text=judgement.verdict, styles=_named(trial, options))
    return Message("system", SYSTEM[REWRITE].format(task=trial.item.task)), Message("user", user)


def styles_of(trial: Trial[WritingRequest], options: WriteOptions) -> tuple[str, ...]:
    return personas_by(options.persona_1).get(trial.way[0], ())


def _named(trial: Trial[WritingRequest], options: WriteOptions) -> str:
    named = options.style_shown == NAME
    return "\n".join(f"- {style}" if named else f"- {style}: {STYLES[style]}" for style in styles_of(trial, options))


def read(reply: str, trial: Trial[WritingRequest], options: WriteOptions) -> str | Invalid:
    """Return the text alone, without reasoning, a fence around it, or remarks to the user."""
    return unfenced(reply) or Invalid(EMPTY)


def lines(judgements: Judgements[WritingRequest], options: WriteOptions) -> Iterator[dict[str, Any]]:
    """Yield a record for each text; trials without a text are skipped."""
    for judgement in judgements.every:
        trial, (persona, prompt) = judgement.trial, judgement.trial.way
        if isinstance(judgement.verdict, str):
            yield {
                "id": f"{trial.item.id}, {persona}, {prompt}, {trial.run}, {judgements.model}",
                "task": trial.item.task,
                "request": trial.item.request,
                "text": judgement.verdict,
                "generator": judgements.model,
                **({} if persona == NOBODY else {"persona": persona, "styles": list(styles_of(trial, options))}),
                "prompt": prompt,
            }


def figures(judgements: Judgements[WritingRequest], options: WriteOptions) -> dict[str, Any]:
    """Count the texts by task, persona and prompt, and texts that name their style; compute their mean length."""
    every = judgements.every
    counts = verdict_counts(judgement for judgement in every if not isinstance(judgement.verdict, str))
    written = grouped(every, lambda trial: (trial.item.task, *trial.way))
    return {
        "preset": options.preset,
        "choices": PRESETS.values_in(options),
        "draws": options.draws,
        **judgements.about_items(),
        "items": len(judgements.items.every),
        "texts": sum(isinstance(judgement.verdict, str) for judgement in every),
        "invalid": counts["invalid"],
        "failed": counts["failed"],
        "written": [
            {"task": task, "persona": persona, "prompt": prompt} | _written(of_prompt, options)
            for (task, persona, prompt), of_prompt in sorted(written.items())
        ],
    }


def _written(judgements: Sequence[Judgement[WritingRequest]], options: WriteOptions) -> dict[str, Any]:
    written = [judgement for judgement in judgements if isinstance(judgement.verdict, str)]
    texts = [(judgement.verdict, styles_of(judgement.trial, options)) for judgement in written]
    return {
        "texts": len(texts),
        "without_text": len(judgements) - len(texts),
        "different": len({text for text, _ in texts}),
        "naming_a_style": sum(names_style(text, styles) for text, styles in texts),
        "mean_words": fmean(count_words(text) for text, _ in texts) if texts else None,
    }


def tables(result: Json) -> Iterable[Table]:
    columns: Columns = {"task": "task", "persona": "persona", "prompt": "prompt", "texts": "texts"}
    columns |= {"different": "different", "none": "without_text", "name a style": "naming_a_style"}
    columns["mean words"] = lambda row: NOTHING if row["mean_words"] is None else f"{row['mean_words']:.0f}"
    caption = f"{result['texts']:,} texts for {result['items']:,} requests, written by {result['judge']}."
    yield Table.of(caption, result["written"], columns, result["command"])


JUDGE = Judge(
    name="style-write",
    summary="Let a chat model write texts for personas and styles, for the style judges to judge.",
    source="papers/style-judges.txt, section 3.2, appendices B, C and E",
    about_items=ABOUT_ITEMS,
    examples=(
        "--items requests.jsonl --llm openai --dry-run",
        "--items requests.jsonl --draws 30 --responses responses.jsonl",
        "--items requests.jsonl --prompt prefer --prompt agent --persona 0 --persona nobody --responses prompts.jsonl",
    ),
    options=WriteOptions,
    presets=PRESETS,
    load=load,
    trials=trials,
    ask=ask,
    read=read,
    again=SecondRound(
        "rewriting", "rewritten texts", wanted=lambda options: REWRITE in options.prompt, ask=rewrite, replaces=True
    ),
    figures=figures,
    tables=tables,
    lines=lines,
    max_tokens=1024,
    writes=True,
    output="responses",
    output_help="Write each text on a line, for style-detect and pearl judge items.",
)
