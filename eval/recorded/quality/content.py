"""Scores of writing by origin (author, student or model), and by whether the prompt was short or detailed.

All texts are written for the same instructions (papers/writing-quality-rewards.txt, section 7 and figure 5).

Dimensions in comments: N texts, I instructions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from eval.asking.json_lines import at_least_one, check_fields, check_number, optional_id
from eval.recorded.quality.scorers import TextScorer
from eval.report.tables import Json, Table, named, shown
from pearl.errors import InputError
from pearl.stats.bootstrap import Bootstrap, Floats, drawn
from pearl.text.usable import check_id, check_text, json_type
from pearl.text.words import count_words
from retriever.reward.record_files import parse_objects

SHORT, DETAILED = "short", "detailed"
PROMPTS = (SHORT, DETAILED)
ANYHOW = "any"  # where no line says how long the prompt was
NO_INTERVAL = {"value": None, "low": None, "high": None}
QUARTILES = {"p5": 0.05, "p25": 0.25, "p75": 0.75, "p95": 0.95}


@dataclass(frozen=True, slots=True)
class OriginText:
    """A text written for an instruction, with its origin and its kind of prompt."""

    instruction: str
    origin: str  # who wrote it
    prompt: str  # SHORT, DETAILED or ANYHOW
    text: str
    score: float | None = None  # the recorded one


def read_texts(paths: Sequence[Path]) -> list[OriginText]:
    """Read the texts of all files. Raises InputError that names file, record and field; also if a file has no texts, or
    only some records name a prompt."""

    def parse(value: dict[str, Any], number: int) -> list[OriginText]:
        if "responses" in value:
            return _published(value)
        check_fields(value, "instruction", "origin", "text")
        prompt = optional_id(value, "prompt")
        if prompt not in (None, *PROMPTS):
            raise InputError(f"must be {' or '.join(PROMPTS)}.", param="prompt")
        text = OriginText(
            check_id(value["instruction"], param="instruction"),
            check_id(value["origin"], param="origin"),
            prompt or ANYHOW,
            check_text(value["text"]),
        )
        return [text]

    texts: list[OriginText] = []
    for path in paths:
        texts += at_least_one(path, chain.from_iterable(parse_objects(path, parse)), "text")
        if len({text.prompt == ANYHOW for text in texts}) > 1:
            raise InputError(f"{path}: some lines name a prompt and others do not; name it on all or none.")
    return texts


def _published(value: Mapping[str, Any]) -> list[OriginText]:
    """Read the responses to an instruction in the authors' format. The prompt is ``instruction``, which is detailed if
    it equals ``full_instruction``. Equal responses are kept once."""
    check_fields(value, "instruction", "full_instruction", "responses")
    instruction, full_instruction = (
        check_text(value[name], param=name) for name in ("instruction", "full_instruction")
    )
    if not isinstance(value["responses"], list):
        raise InputError(f"must be a list, not {json_type(value['responses'])}.", param="responses")
    texts = []
    for index, response in enumerate(value["responses"]):
        fields = response if isinstance(response, dict) else {}
        at = f"responses[{index}]"
        score = fields.get("score_pre")
        texts.append(
            OriginText(
                full_instruction,
                check_id(fields.get("origin"), param=f"{at}.origin"),
                DETAILED if instruction == full_instruction else SHORT,
                check_text(fields.get("response"), param=f"{at}.response"),
                None if score is None else check_number(score, f"{at}.score_pre"),
            )
        )
    return list(dict.fromkeys(texts))


def recorded_scorer(texts: Sequence[OriginText]) -> TextScorer | None:
    """A scorer that returns the scores recorded in the file; None if a text has no score."""
    known = {text.text: text.score for text in texts}
    if None in known.values():
        return None
    return TextScorer.of(
        "recorded", "the text with the higher score", lambda wanted: np.array([known[text] for text in wanted], float)
    )


def content_report(texts: Sequence[OriginText], scorer: TextScorer, reference: str | None) -> dict[str, Any]:
    """Scores by prompt and origin, their differences from the ``reference`` origin on the same instructions, and how
    much a detailed prompt raises them. Raises InputError if no text is by the reference."""
    origins = list(dict.fromkeys(text.origin for text in texts))
    if reference is not None and reference not in origins:
        raise InputError(f"--reference {reference}: there are {', '.join(origins)}.")
    scores = np.asarray(scorer.scores([text.text for text in texts]), np.float64)  # (N,)
    words = np.array([count_words(text.text) for text in texts], float)
    members = {
        (prompt, origin): [index for index, text in enumerate(texts) if (text.prompt, text.origin) == (prompt, origin)]
        for prompt in (*PROMPTS, ANYHOW)
        for origin in origins
    }
    instructions = [text.instruction for text in texts]
    means = {group: _means(scores, instructions, indices) for group, indices in members.items()}
    groups = []
    for (prompt, origin), indices in members.items():
        if not indices:
            continue
        names = drawn([instructions[index] for index in indices])
        bootstrap, group_scores = Bootstrap(names), scores[indices]
        other = means.get((prompt, reference or ""), {})
        groups.append(
            {
                "prompt": prompt,
                "origin": origin,
                "n": len(indices),
                "median": bootstrap.median(group_scores).to_json(),
                "quantiles": {name: round(float(np.quantile(group_scores, at)), 6) for name, at in QUARTILES.items()},
                "words": float(np.median(words[indices])),
                "less_reference": None if origin == reference else _paired(means[prompt, origin], other),
            }
        )
    gains = {origin: _paired(means[DETAILED, origin], means[SHORT, origin]) or NO_INTERVAL for origin in origins}
    everybody = Bootstrap(drawn(instructions))
    return {
        "n": len(texts),
        "instructions": len(set(instructions)),
        "scorer": scorer.name,
        "reference": reference,
        "groups": groups,
        "detail": [{"origin": origin, **gain} for origin, gain in gains.items()],
        "with_words": everybody.spearman(scores, words).to_json(),
    }


def _means(scores: Floats, instructions: Sequence[str], indices: Sequence[int]) -> dict[str, float]:
    """The mean score for each instruction, over the texts with these indices."""
    scores_of: dict[str, list[float]] = defaultdict(list)
    for index in indices:
        scores_of[instructions[index]].append(scores[index])
    return {name: float(np.mean(values)) for name, values in scores_of.items()}


def _paired(one: dict[str, float], other: dict[str, float]) -> dict[str, Any] | None:
    """The mean difference over the instructions that both have; None for fewer than two, which have no interval."""
    shared = [name for name in one if name in other]
    if len(shared) < 2:
        return None
    differences = [one[name] - other[name] for name in shared]  # (I,)
    return Bootstrap(shared).mean(differences).to_json()


def content_tables(result: Json) -> Iterator[Table]:
    """Yield a table of scores by prompt and origin, then a table of the gain of a detailed prompt."""
    over = "instructions" if result["instructions"] > 1 else "texts"
    caption = (
        f"Scores by {result['scorer']} of {result['n']:,} texts for {result['instructions']:,} instructions, also less "
        f"{result['reference'] or 'the reference'}; 95% intervals by bootstrap over {over}. Score against words: "
        f"Spearman {shown(result['with_words'], 2)}."
    )
    columns = named("prompt origin n median quantiles.p5 quantiles.p95 less_reference words")
    yield Table.of(caption, result["groups"], columns, result["command"])
    gained = [{"origin": row["origin"], "gain": row} for row in result["detail"] if row["value"] is not None]
    if gained:
        yield Table.plain("Detailed prompt less short prompt, by instruction.", gained)
