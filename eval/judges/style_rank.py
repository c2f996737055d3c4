"""The style ranking judge (papers/style-judges.txt, 4.2, tables 10 to 12): which of two texts has more of the wanted
styles, or better does what was asked? Either both texts are compared, in both orders, or each text gets points by a
rubric. Several draws (repetitions) on an item are combined into a label: a, b or a tie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import numpy as np
from typer import Option

from eval.asking.choices import PaperChoice, Preset, Presets
from eval.asking.json_lines import check_fields, optional_id, read_items
from eval.asking.lines import folded
from eval.asking.reading import NOUNS, Label, Labels, Scale
from eval.asking.reply import NOT_OFFERED
from eval.asking.verdict import Answer, Given, Invalid, Points, Score, Verdict, counts, kind, reason_of
from eval.judges import pairwise
from eval.judges import style_rank_prompts as prompts
from eval.judges.items import Fences, Items
from eval.judges.judge import Judge, Judgement, Judgements, Messages, Trial, grouped, verdict_counts
from eval.recorded.style.choices import CAUTIOUS, DEFINITION, DROPPED, EVEN, HALF, NAME, NO_LABEL, STYLE_SHOWN, TIES
from eval.recorded.style.labels import LABELS, RANKING, A, B, DrawLabels, label_draws
from eval.recorded.style.styles import STYLES, TASKS, check_styles, check_task, names_style
from eval.report.checks import NOTE, Check, item_check, repeat_check
from eval.report.tables import NOTHING, Json, Table, checks_table, counts_cell, kappa_cell, shown
from eval.stats.agreement import self_consistency
from pearl.cli.options import known
from pearl.models.chat.base import Message
from pearl.stats.bootstrap import Bootstrap, drawn
from pearl.text.usable import check_text

# what is asked

WRITER, ASSISTANT = "writer", "assistant"
PERSPECTIVE = PaperChoice(
    "perspective",
    {
        WRITER: "a text may have all points of a rubric, whoever seems to have written it",
        ASSISTANT: "the last points of a rubric are for texts that an AI assistant could have written",
    },
    "By the criterion of tables 11 and 12 a text in a person's own voice has three points for helpfulness at most.",
)
CORRECTED = {"half": DROPPED, "style_shown": DEFINITION, "even": NO_LABEL, "perspective": WRITER}
AS_PUBLISHED = {"half": TIES, "style_shown": NAME, "even": CAUTIOUS, "perspective": ASSISTANT}
PRESETS = Presets(
    (HALF, STYLE_SHOWN, EVEN, PERSPECTIVE),
    (
        Preset("corrected", "Styles are defined; what is not decided has no label.", CORRECTED),
        Preset("as_published", "Styles by name; what is not decided is a tie.", AS_PUBLISHED),
    ),
)


@dataclass(frozen=True, slots=True)
class RankScheme:
    """A way of asking. ``pairs``: both texts are shown, in both orders (else one text); ``styled``: the styles are
    named; ``justified``: the reply gives reasons before its verdict."""

    description: str
    pairs: bool
    styled: bool
    justified: bool = False


SCHEMES: Mapping[str, RankScheme] = {
    "ab_style": RankScheme("which of two texts follows the styles better", True, True),
    "ab_helpfulness": RankScheme("which of two texts does better what was asked", True, False),
    "rubric_style": RankScheme("0 to 5 points for each text, for following the styles", False, True),
    "rubric_helpfulness": RankScheme("0 to 5 points for each text, for doing what was asked", False, False),
    "validation_style": RankScheme("which of two texts fits the styles better, with reasons", True, True, True),
    "validation_default": RankScheme("which of two texts the judge prefers, with reasons", True, False, True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions:
    preset: str = PRESETS.default
    half: str = DROPPED
    style_shown: str = DEFINITION
    even: str = NO_LABEL
    perspective: str = WRITER
    seed: int = 0
    scheme: Annotated[str, Option(help="Scheme of ranking, see below.")] = "ab_style"
    draws: Annotated[int, Option(min=1, help="Times to ask each question.")] = 30

    @property
    def way(self) -> RankScheme:
        return SCHEMES[self.scheme]


# the items

NEEDED = ("task", "request", "text_a", "text_b")
SOURCES = ("generator", "generator_a", "generator_b", "persona", "persona_a", "persona_b", "prompt_a", "prompt_b")
ABOUT_ITEMS = f"""A line of the items is two texts for one request, and the style, or styles, they should have:

\b
  {{"id": "1", "task": "email", "style": ["storytelling", "poetic and lyrical"], "request": "What is a prime number?",
   "text_a": "...", "text_b": "...", "generator_a": "ours", "generator_b": "theirs"}}

"task" ({", ".join(TASKS)}), "request" and both texts are required, and "style" if styles are judged.

\b
Schemes of --scheme, the first by default:
{chr(10).join(f"  {name}: {scheme.description}" for name, scheme in SCHEMES.items())}

Two texts are shown in both orders, a changed choice is a tie, and most draws decide; of points the higher mean decides.
A reply has 64 tokens by default, one with reasons 512. `pearl judge items --from styled` makes such items, and `pearl
eval style` compares what --judgements writes with people's own labels."""


@dataclass(frozen=True, slots=True)
class RankItem:
    """Two texts, a and b, for the same request; ``sources``: the fields of SOURCES that the file has."""

    line: int
    id: str
    task: str
    styles: tuple[str, ...]
    request: str
    texts: tuple[str, str]
    sources: Mapping[str, str]

    @property
    def cluster(self) -> str:
        """Return the cluster to resample: task and request, since pairs for the same request are not independent."""
        return f"{self.task} {self.request}"


def load(path: Path, options: RankOptions) -> tuple[Items[RankItem], RankOptions]:
    """Read the items, each with a style if styles are judged. Raises InputError that names file, line and field."""
    styled = SCHEMES[known("scheme", options.scheme, SCHEMES)].styled

    def parse(value: dict[str, Any], number: int) -> RankItem:
        check_fields(value, *NEEDED, *(("style",) if styled else ()))
        return RankItem(
            number,
            optional_id(value) or f"line {number}",
            check_task(value["task"]),
            check_styles(value.get("style"), needed=styled),
            check_text(value["request"], param="request"),
            (check_text(value["text_a"], param="text_a"), check_text(value["text_b"], param="text_b")),
            {name: source for name in SOURCES if (source := optional_id(value, name)) is not None},
        )

    return Items.of(read_items(path, {"id", "style", *NEEDED, *SOURCES}, parse)), options


CHECKS: Sequence[Check[Sequence[RankItem]]] = (
    pairwise.IDENTICAL_TEXTS,
    item_check(
        *("text_is_request", NOTE, "A text is the request itself."),
        lambda item: folded(item.request) in map(folded, item.texts),
    ),
    item_check(
        *("style_named", NOTE, "A text names a style that it is judged by, which tells the judge without showing it."),
        lambda item: any(names_style(text, item.styles) for text in item.texts),
    ),
    repeat_check(
        *("same_pair", NOTE, "The same two texts for the same styles again."),
        lambda item: (item.cluster, *sorted(item.styles), "", *sorted(map(folded, item.texts))),
    ),
)

# the prompts, in our words: the texts are data, and each stands between marks that are broken where a text holds them

FENCES = Fences(("request", "output_a", "output_b", "response"))


def ask(trial: Trial[RankItem], options: RankOptions) -> Messages:
    """Write the messages that ask to compare both texts, or to give points to the text shown first."""
    item, styled = trial.item, options.way.styled
    parts = [f"Instruction: {prompts.ASKED_FOR[item.task]}\n{FENCES.around('request', item.request)}"]
    if styled:
        defined = options.style_shown == DEFINITION
        styles = (f"- {name}: {STYLES[name]}" if defined else f"- {name}" for name in item.styles)
        parts.append("\n".join(("Writing styles:", *styles)))
    first, second = trial.shown(item.texts)
    text_a, text_b = FENCES.around("output_a", first), FENCES.around("output_b", second)
    data = prompts.DATA.format(mark="output_a" if options.way.pairs else "response")
    if options.way.justified:
        noun = item.task.upper()
        label_a, label_b = (f"{noun} ONE", f"{noun} TWO") if styled else ("OPTION A", "OPTION B")
        system = prompts.VALIDATION[styled].format(task=item.task, one=label_a, two=label_b, data=data)
        parts += [f"{label_a}:\n{text_a}", f"{label_b}:\n{text_b}"]
        parts.append("Give your reasons first, and your decision on the last line.")
    elif options.way.pairs:
        wanted = "writing styles" if styled else "instruction"
        system = prompts.AB.format(wanted=wanted, data=data, example=prompts.EXAMPLE[styled])
        parts += [text_a, text_b, "Which is best, Output (a) or Output (b)?"]
    else:
        rubric = prompts.POINTS_FOR[styled].format(**prompts.PERSPECTIVES[options.perspective])
        system = prompts.RUBRIC.format(rubric=rubric, data=data)
        parts.append(FENCES.around("response", first))
        parts.append("Justify the points, then write Score: <total points> on the last line.")
    return Message("system", system), Message("user", "\n\n".join(parts))


# the replies

_OUTPUT = r"(?:output|option|response)[\s:_-]{0,3}"


def _output(letter: str, answer: Answer) -> Label[Verdict]:
    named = rf"{_OUTPUT}\(?{letter}|\({letter}\)|(?-i:{letter.upper()})"
    return Label(f"Output ({letter})", Given(answer), rf"(?:{_OUTPUT})?\(?{letter}\)?", named)


CHOICES: Labels[Verdict] = Labels(
    (
        _output("a", Answer.A),
        _output("b", Answer.B),
        Label("", Invalid(NOT_OFFERED), rf"{_OUTPUT}\(?[c-e]\)?|tie|both|neither|none|either"),
    ),
    nouns=(*NOUNS, "best"),
    leads=True,
    announces=(
        r"the\s+(?:best|better)(?:\s+(?:output|one|response))?\s+is\b|i\s+(?:would\s+)?(?:choose|pick|prefer|select)\b"
        r"|which\s+is\s+best,\s+output\s+\(a\)\s+or\s+output\s+\(b\)\?"
    ),
)
POINTS = Scale(0, 5, once=True, says="Score")
JUSTIFIED: Mapping[bool, Labels[Verdict]] = {  # by whether styles are judged
    styled: Labels(
        tuple(
            Label(f"{noun} {name}", Given(answer), rf"{noun}\s+{name}")
            for noun in nouns
            for name, answer in zip(names, (Answer.A, Answer.B), strict=True)
        )
    )
    for styled, nouns, names in (
        (True, tuple(task.upper() for task in TASKS), ("ONE", "TWO")),
        (False, ("OPTION",), ("A", "B")),
    )
}


def read(reply: str, trial: Trial[RankItem], options: RankOptions) -> Verdict | Points:
    """Parse a verdict (A is Output (a), the text shown first), or the points of the text shown first."""
    request, first, second = trial.item.request, *trial.shown(trial.item.texts)
    if options.way.justified:
        return JUSTIFIED[options.way.styled].read(reply, (request, first, second))
    return CHOICES.read(reply, (request, first, second)) if options.way.pairs else POINTS.read(reply, (request, first))


# the label of an item, from its draws

NAMES = (*LABELS[RANKING], NO_LABEL)
PARTS = {True: ("ab", "ba"), False: (A, B)}  # of a draw: the orders of two texts, or the texts that are scored


def rank(every: Sequence[Judgement[RankItem]], options: RankOptions) -> list[DrawLabels]:
    parts, labels = PARTS[options.way.pairs], []
    for of_item in grouped(every, lambda trial: trial.place).values():
        draws = [
            {parts[judgement.trial.swapped]: _text_or_score(judgement.of_item()) for judgement in draw}
            for draw in grouped(of_item, lambda trial: trial.run).values()
        ]
        labels.append(label_draws(RANKING, draws, options.half, options.even))
    return labels


def _text_or_score(verdict: Verdict | Points) -> str | float | None:
    if isinstance(verdict, Given):
        return A if verdict.answer is Answer.A else B
    return verdict.value if isinstance(verdict, Score) else None


# the figures


def figures(judgements: Judgements[RankItem], options: RankOptions) -> dict[str, Any]:
    """Compute the judge's report: what was compared and how, checks of the items, figures, and each item's label.
    Intervals are by bootstrap over requests, since several pairs share a request."""
    every, items = judgements.every, judgements.items.every
    ranked = list(zip(items, rank(every, options), strict=True))
    taken = np.array([float(draws.label == A) - float(draws.label == B) for _, draws in ranked])
    bootstrap = Bootstrap(drawn([item.cluster for item in items], [item.id for item in items]), seed=options.seed)
    return {
        "scheme": options.scheme,
        "preset": options.preset,
        "choices": PRESETS.values_in(options),
        "draws": options.draws,
        **judgements.about_items(),
        "n": len(every),
        "items": len(items),
        "requests": len({item.cluster for item in items}),
        **verdict_counts(every),
        **label_figures(ranked, options.seed),
        "prefers_longer": pairwise.prefers_longer(taken, [item.texts for item in items], bootstrap),
        **pairwise.position(pairwise.PairColumns.of(every, lambda item: item.cluster), options.seed),
        "scores": None if options.way.pairs else scores(every),
        "tasks": [
            {"task": task} | label_figures([pair for pair in ranked if pair[0].task == task], options.seed)
            for task in sorted({item.task for item in items})
        ],
        "ranked": [
            {"item": item.id, "label": draws.label, "draws": draws.votes, "mean_scores": draws.means}
            for item, draws in ranked
        ],
    }


def label_figures(ranked: Sequence[tuple[RankItem, DrawLabels]], seed: int) -> dict[str, Any]:
    """Count each label among items and among their draws, and measure how far an item's draws agree."""
    clusters = drawn([item.cluster for item, _ in ranked], [item.id for item, _ in ranked])
    bootstrap = Bootstrap(clusters, seed=seed)
    labels = [draws.label or NO_LABEL for _, draws in ranked]
    by_draw = {
        (str(place), str(draw)): label
        for place, (_, draws) in enumerate(ranked)
        for draw, label in enumerate(draws.draws)
        if label is not None
    }
    return {
        "labels": {
            name: {"count": labels.count(name)} | (bootstrap.share([label == name for label in labels]).to_json() or {})
            for name in NAMES
        },
        "draw_labels": {name: sum(draws.votes[name] for _, draws in ranked) for name in NAMES},
        **self_consistency(by_draw, LABELS[RANKING], {str(i): name for i, name in enumerate(clusters)}, seed),
    }


def scores(every: Sequence[Judgement[RankItem]]) -> dict[str, Any]:
    """Return the points given to text a and to text b: their mean, and how often each number was given."""
    points: dict[str, list[float]] = {A: [], B: []}
    for judgement in every:
        if isinstance(judgement.verdict, Score):
            points[B if judgement.trial.swapped else A].append(judgement.verdict.value)
    return {
        text: {"mean": fmean(values) if values else None, "counts": counts(f"{value:g}" for value in values)}
        for text, values in points.items()
    }


def lines(judgements: Judgements[RankItem], options: RankOptions) -> Iterator[dict[str, Any]]:
    """Yield a record for each trial, as ``pearl eval style`` reads it. A digest of the request tells which pairs are
    resampled together. Records of helpfulness schemes name no style."""
    pairs = options.way.pairs
    for judgement, text in judgements.first.with_texts():
        trial, verdict = judgement.trial, judgement.verdict
        styles = list(trial.item.styles) if options.way.styled else []
        yield {
            "kind": RANKING,
            "item": trial.item.id,
            "task": trial.item.task,
            "style": styles[0] if len(styles) == 1 else styles or None,
            "scheme": options.scheme,
            "judge": judgements.model,
            **trial.item.sources,
            "request": sha256(trial.item.cluster.encode()).hexdigest()[:16],
            "draw": trial.run,
            "order" if pairs else "response": PARTS[pairs][trial.swapped],
            "verdict": kind(verdict),
            "score": verdict.value if isinstance(verdict, Score) else None,
            "reason": reason_of(verdict),
            "reply": text,
        }


# the tables


def tables(result: Json) -> Iterator[Table]:
    """Yield the tables of labels over all items and by task, of the judge's reliability, and of faults of the items."""
    caption = (
        f"{result['items']:,} pairs for {result['requests']:,} requests, {result['draws']} draws by {result['judge']}, "
        f"scheme {result['scheme']}, preset {result['preset']}; 95% intervals by bootstrap over requests."
    )
    rows = tuple(
        (name, *(f"{shown(of, 3)} ({of['count']:,})" for of in part["labels"].values()), kappa_cell(part))
        for name, part in (("all", result), *((part["task"], part) for part in result["tasks"]))
    )
    columns = ("task", "a", "tie", "b", "no label", "Randolph's kappa of the draws")
    yield Table(caption, columns, rows, result["command"])
    unread = result["verdicts"].get("invalid", 0) + result["verdicts"].get("error", 0)
    reasons = counts_cell({**result["invalid"], **result["failed"]})
    worth = [
        ("judgements", f"{result['n']:,}", "all that were asked for"),
        ("without an answer", f"{unread:,}", reasons),
        ("ranks the longer text higher", shown(result["prefers_longer"], 3), "0.5 where length does not matter"),
    ]
    if result["scores"] is None:
        worth += [
            ("takes Output (a)", shown(result["p_first"], 3), "0.5 where position does not matter"),
            ("flip rate", shown(result["flip_rate"], 3), "the other order changes the choice"),
        ]
    for text, of in (result["scores"] or {}).items():
        points = NOTHING if of["mean"] is None else f"{of['mean']:.2f}"
        worth.append((f"mean score of text {text}", points, "0 to 5 points"))
    yield Table("What the judge is worth.", ("figure", "value", "reading"), tuple(worth))
    yield from checks_table(result["preflight"])


JUDGE = Judge(
    name="style-rank",
    summary="Ask a judge which of two texts has more of the wanted style, or answers better, and how far to trust it.",
    source="papers/style-judges.txt, section 4.2, tables 10 to 12",
    about_items=ABOUT_ITEMS,
    examples=(
        "--items pairs.jsonl --llm openai --dry-run",
        "--items pairs.jsonl --scheme rubric_style --draws 10 --json -",
        "--items pairs.jsonl --preset as_published --judgements judged.jsonl",
    ),
    options=RankOptions,
    presets=PRESETS,
    load=load,
    checks=CHECKS,
    trials=lambda items, options: pairwise.in_orders(items, options.draws, pairwise.BOTH, options.seed),
    ask=ask,
    read=read,
    figures=figures,
    tables=tables,
    lines=lines,
    max_tokens=lambda options: 64 if options.way.pairs and not options.way.justified else 512,
    unlabelled=lambda options: (
        None if options.way.pairs else "give a --scheme that compares two texts; a rubric gives points"
    ),
    styles=lambda item, options: item.styles if options.way.styled else (),
)
