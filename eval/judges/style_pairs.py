"""Pairs of texts for the style ranking judge, from texts that were written for personas (three styles each) and scored
for each style (papers/style-judges.txt, 3.2.2 and appendix E.1).

Texts that name a style of their persona are dropped, then texts that resemble others. Of each persona's other texts,
two are kept: those that follow the styles most and least, or two at random for no persona. All kept texts for the same
request are paired.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from eval.asking.json_lines import Lines, check_fields, check_number, check_object, optional_id, read_items, read_lines
from eval.judges.items import clusters_of
from eval.recorded.style.styles import (
    RICH,
    check_style,
    check_styles,
    check_task,
    names_style,
    personas_by,
    style_named,
)
from eval.report.tables import Json, Table
from pearl.errors import InputError
from pearl.text.usable import check_id, check_text
from retriever.models.encoder import Vectors

# the texts

NEEDED = ("task", "request", "text")
FIELDS = frozenset({"id", "generator", "persona", "styles", "scores", "prompt", *NEEDED})
Personas = Mapping[str, tuple[str, ...]]
Scores = Mapping[str, Mapping[str, float]]  # of a text, by its id, and of a style


@dataclass(frozen=True, slots=True)
class Response:
    """A text written for a request. ``score``: its mean score for the ``styles`` asked for; 0 if there are none."""

    id: str
    task: str
    request: str
    text: str
    generator: str | None
    persona: str | None
    styles: tuple[str, ...]
    score: float
    prompt: str | None = None


def read_responses(
    path: Path, judged: Scores | None = None, persona_1: str = RICH, *, scored: bool = True
) -> Lines[Response]:
    """Read texts. ``judged``: scores that replace those in the file; ``scored``: whether scores are needed. Raises
    InputError that names file, line and field."""
    parse = partial(_parse, judged=judged, personas=personas_by(persona_1), scored=scored)
    return read_items(path, FIELDS, parse)


def _parse(value: dict[str, Any], number: int, *, judged: Scores | None, personas: Personas, scored: bool) -> Response:
    check_fields(value, *NEEDED)
    name = optional_id(value) or f"line {number}"
    persona = optional_id(value, "persona")
    styles = _styles(value, persona, personas)
    scores = _scores(value) if judged is None else judged.get(name, {})
    return Response(
        name,
        check_task(value["task"]),
        check_text(value["request"], param="request"),
        check_text(value["text"], param="text"),
        optional_id(value, "generator"),
        persona,
        styles,
        _mean(name, styles, scores, judged) if scored else 0.0,
        optional_id(value, "prompt"),
    )


def _styles(value: dict[str, Any], persona: str | None, personas: Personas) -> tuple[str, ...]:
    if persona is None:
        return ()
    if value.get("styles") is not None:
        return check_styles(value["styles"], needed=True)
    if persona not in personas:
        raise InputError(f"'{persona}' is none of {', '.join(personas)}; give its \"styles\".", param="persona")
    return personas[persona]


def _mean(name: str, styles: tuple[str, ...], scores: Mapping[str, float], judged: Scores | None) -> float:
    for style in styles:
        if style not in scores:
            unread = "--judgements have no readable answer; leave the text out, or ask in more draws"
            absent = "give it, or --judgements of style-detect"
            why = absent if judged is None else unread
            raise InputError(f"'{name}' has no score for '{style}': {why}.", param="scores")
    return fmean(scores[style] for style in styles) if styles else 0.0


def _scores(value: Mapping[str, Any]) -> dict[str, float]:
    scores = {} if value.get("scores") is None else check_object(value["scores"], "scores")
    return {
        check_style(style, param="scores"): check_number(score, f"scores.{style}") for style, score in scores.items()
    }


def detected_scores(path: Path) -> Scores:
    """Read the judgements of one judge by one scheme; return the mean score of each text for each style. Lines without
    a score are skipped. Raises InputError that names file, line and field."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    judges: set[str] = set()

    def parse(value: dict[str, Any], number: int) -> None:
        check_fields(value, "item", "style", "scheme", "judge")
        told = f", told to be {value['judge_persona']}" if value.get("judge_persona") else ""
        judges.add(f"{value['scheme']} by {value['judge']}{told}")
        if len(judges) > 1:
            raise InputError(f"has {' and '.join(sorted(judges))}; give those of one.", param="scheme")
        if value.get("score") is not None:
            style = check_text(value["style"], param="style")
            # judged by its own definition, a style may be none that a persona asks for
            scores[check_id(value["item"], param="item")][style_named(style) or style].append(
                check_number(value["score"], "score")
            )

    read_lines(path, frozenset(), parse, "judgement")
    return {item: {style: fmean(drawn) for style, drawn in styles.items()} for item, styles in scores.items()}


# the pairs

EACH, OWN, NONE = "each", "own", "none"
PROMPTS, PROMPTS_ALL = "prompts", "prompts_all"
TARGETS = {
    EACH: "each pair by the styles of every persona of its texts' group, as published",
    OWN: "each pair by the styles of its own texts' personas",
    NONE: "each pair once and by no style, for helpfulness",
    PROMPTS: "each text that a prompt steered with one for nobody, by all styles and by each, for eval style --prompts",
    PROMPTS_ALL: "the same by all styles only, for the schemes that name no style",
}
STEERED = (PROMPTS, PROMPTS_ALL)
COUNTED = {
    "responses": "texts",
    "dropped_naming_a_style": "dropped, for they name a style of their persona",
    "dropped_as_similar": "dropped, for they resemble others of their persona",
    "groups": "requests, each of a generator",
    "personas_with_fewer_than_two": "personas with fewer than two texts left",
    "personas_all_alike": "personas whose two texts have the same score",
    "pairs": "pairs",
}
Encode = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Options of pairing. ``keep``: how many dissimilar texts of a persona two are chosen from; ``targets``: a key of
    TARGETS."""

    keep: int = 10
    targets: str = EACH
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PairLines:
    lines: list[dict[str, Any]]
    counts: Counter[str]


def build_pairs(responses: Sequence[Response], options: PairOptions, encode: Encode) -> PairLines:
    """Pair the texts of each request. ``encode``: makes vectors of texts, if a persona has more than ``keep``."""
    lines: list[dict[str, Any]] = []
    groups: dict[tuple[str, str, str], list[Response]] = defaultdict(list)
    for response in responses:
        groups[response.task, response.request, response.generator or ""].append(response)
    counts = Counter(responses=len(responses), groups=len(groups))
    for key, group in groups.items():
        chance = random.Random(f"{options.seed} {key}")
        if options.targets in STEERED:
            plain = [response for response in group if not response.styles]
            steered = [response for response in group if response.styles and response.prompt] if plain else []
            pairs = [(response, plain[place % len(plain)]) for place, response in enumerate(steered)]
            lines_of = partial(_steered_lines, options.targets)
        else:
            chosen = list(_chosen(group, options, encode, chance, counts))
            pairs = list(combinations(chosen, 2))
            personas = {response.persona: response.styles for response in chosen if response.styles}
            lines_of = partial(_lines, options.targets, personas)
        for pair in pairs:
            counts["pairs"] += 1
            lines += lines_of(f"pair {counts['pairs']}", *chance.sample(pair, 2))
    return PairLines(lines, counts)


def _chosen(
    group: Iterable[Response], options: PairOptions, encode: Encode, chance: random.Random, counts: Counter[str]
) -> Iterator[Response]:
    """Yield the two texts of each persona that are kept."""
    by_persona: dict[str | None, list[Response]] = defaultdict(list)
    for response in group:
        by_persona[response.persona].append(response)
    for written in by_persona.values():
        silent = [response for response in written if not names_style(response.text, response.styles)]
        unlike = [silent[place] for place in distinct([response.text for response in silent], options, encode)]
        two = extremes(unlike) if unlike and unlike[0].styles else chance.sample(unlike, min(2, len(unlike)))
        counts["dropped_naming_a_style"] += len(written) - len(silent)
        counts["dropped_as_similar"] += len(silent) - len(unlike)
        counts["personas_with_fewer_than_two"] += len(two) < 2
        counts["personas_all_alike"] += len(two) == 2 and bool(two[0].styles) and two[0].score == two[1].score
        yield from two


def extremes(responses: Sequence[Response]) -> Sequence[Response]:
    """Return the text with the highest score and the text with the lowest score."""
    if len(responses) < 2:
        return responses
    ordered = sorted(responses, key=lambda response: -response.score)
    return ordered[0], ordered[-1]


def distinct(texts: Sequence[str], options: PairOptions, encode: Encode) -> list[int]:
    """Return the indices of at most ``keep`` dissimilar texts: the text nearest to the mean of each k-means cluster."""
    if len(texts) <= options.keep:
        return list(range(len(texts)))
    return sorted(nearest for nearest, *_ in clusters_of(encode(texts), options.keep, options.seed))


def _lines(
    targets: str, personas: Mapping[str | None, Sequence[str]], name: str, a: Response, b: Response
) -> Iterator[dict[str, Any]]:
    line: dict[str, Any] = {"task": a.task, "request": a.request, "text_a": a.text, "text_b": b.text}
    about = {"generator": a.generator, "persona_a": a.persona, "persona_b": b.persona}
    line |= {key: value for key, value in about.items() if value is not None}
    if targets == NONE:
        yield {"id": name, **line}
        return
    for persona, styles in personas.items():
        if targets == EACH or persona in (a.persona, b.persona):
            yield {"id": f"{name}, {persona}", "persona": persona, "style": list(styles), **line}


def _steered_lines(targets: str, name: str, a: Response, b: Response) -> Iterator[dict[str, Any]]:
    """Yield the items that compare a text that a prompt steered with a text that was written without styles."""
    side, steered = ("a", a) if a.styles else ("b", b)
    line = {"task": a.task, "request": a.request, "text_a": a.text, "text_b": b.text, f"prompt_{side}": steered.prompt}
    line |= {"persona": steered.persona} | ({"generator": a.generator} if a.generator else {})
    alone = [] if targets == PROMPTS_ALL else [[style] for style in steered.styles]
    for styles in ([*steered.styles], *alone):
        yield {"id": f"{name}, {', '.join(styles)}", "style": styles, **line}


def pairs_table(result: Json) -> Table:
    """Return the table that counts the texts used and left out in building pairs."""
    counts = result["counts"]
    rows = [(title, f"{counts.get(name, 0):,}") for name, title in COUNTED.items()]
    rows.append(("items: a pair and the styles to judge it by", f"{result['lines']:,}"))
    return Table("Pairs for the style ranking judge.", ("what", "number"), tuple(rows), result["command"])
