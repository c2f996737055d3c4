"""The answers of two models to the same prompts, as pairs to annotate: what tells them apart is the models' manner
(papers/feedback-forensics.txt, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.asking.json_lines import at_least_one, read_lines
from eval.recorded.forensics.identity import identity_annotator, with_models
from eval.recorded.forensics.pairs import AnnotatedPairs, Pair, coin, pair_id
from pearl.answers.reasoning import without_reasoning
from pearl.asking.ask import EMPTY_ANSWER
from pearl.asking.patience import Failed
from pearl.asking.write import CUT_OFF, WrittenText
from pearl.chat.base import Reply
from pearl.errors import InputError
from pearl.history.files import decompressed, reading
from pearl.text.usable import check_text

NAMES = ("prompt", "request")


def read_prompts(path: Path) -> list[str]:
    """The prompts of a file, each once: JSON Lines with a ``prompt`` or ``request``, or a prompt a line of text.

    Raises InputError that names file, line and field.
    """
    if ".jsonl" in path.suffixes:
        return list(dict.fromkeys(read_lines(path, {"id", *NAMES}, _prompt, "prompt").parsed))
    with reading(path) as raw, decompressed(raw) as file:
        content = file.read()
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 (byte {error.start}); re-encode the file.") from None
    prompts = (check_text(line.strip(), param="prompt") for line in lines if line.strip())
    return list(dict.fromkeys(at_least_one(path, prompts, "prompt")))


def _prompt(value: dict[str, Any], number: int) -> str:
    name = next((name for name in NAMES if name in value), None)
    if name is None:
        raise InputError("is missing.", param=NAMES[0], code="missing_field")
    return check_text(value[name], param=name)


def answer_of(reply: Reply | Failed) -> WrittenText:
    """The answer as the model gave it, without what it thought aloud."""
    if isinstance(reply, Failed):
        return WrittenText(None, reply.reason)
    text = without_reasoning(reply.text).strip()
    return WrittenText(text or None, None if text else EMPTY_ANSWER, reply.finish_reason == CUT_OFF)


def model_pairs(
    prompts: Sequence[str], answers: Sequence[Sequence[str | None]], models: tuple[str, str], seed: int
) -> AnnotatedPairs:
    """A pair for each prompt that both models answered, in random order, with an annotator for each model that always
    prefers its answer."""
    pairs = []
    for prompt, *texts in zip(prompts, *answers, strict=True):
        if None in texts:
            continue
        both = [{"text": text, "model": model} for text, model in zip(texts, models, strict=True)]
        a, b = reversed(both) if coin(seed, prompt, *texts) else both
        fields = {"id": pair_id(a, b, prompt), "prompt": prompt, "response_a": a, "response_b": b, "annotations": {}}
        pairs.append(Pair(fields))
    metadata = {
        "version": "2.0",
        "description": f"Answers of {' and '.join(models)} to the same prompts",
        "default_annotator": identity_annotator(models[0]).id,
    }
    data = AnnotatedPairs({}, tuple(pairs), metadata)
    return with_models(data, models) if pairs else data
