"""Pairs of texts to annotate: a person's texts with a model's drafts for the same requests, or two models' answers to
the same prompts. The traits that tell the two apart are their manner (papers/feedback-forensics.txt, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.asking.json_lines import at_least_one, read_lines
from eval.recorded.forensics.identity import identity_annotator, with_models
from eval.recorded.forensics.pairs import HUMAN, AnnotatedPairs, Annotator, Pair, Vote, coin, pair_id, short_id
from pearl.errors import InputError
from pearl.models.asking.ask import EMPTY_ANSWER
from pearl.models.asking.patience import Failed
from pearl.models.asking.write import CUT_OFF, WrittenText
from pearl.models.chat.base import Reply
from pearl.records import Document
from pearl.text.answers.reasoning import without_reasoning
from pearl.text.history.files import decompressed, read_histories, reading
from pearl.text.usable import check_text

PERSON = Annotator(
    short_id("person"), {"name": "person", "description": "Always prefer the person's own text", "type": HUMAN}
)


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    user: str
    document: Document

    @property
    def request(self) -> str:
        return self.document.request or ""


def answered(path: Path, users: Sequence[str], most: int) -> list[AnsweredRequest]:
    """Read the most recent texts that answer a request, at most ``most`` per user, oldest first; of all users if none
    is named.

    Of several texts for the same request only the last is used. Raises InputError for an unknown user, and if no text
    answers a request.
    """
    histories = read_histories(path, timestamp_required=False)
    for user in users:
        if user not in histories:
            raise InputError(f"--user {user}: {path} has no text of this user.")
    requests: list[AnsweredRequest] = []
    for user in users or histories:
        with_request = [document for document in histories[user] if document.request and document.request.strip()]
        ordered = sorted(with_request, key=lambda document: document.timestamp or 0.0)
        last = {document.request: document.id for document in ordered}
        latest = [document for document in ordered if last[document.request] == document.id][-most:]
        requests += [AnsweredRequest(user, document) for document in latest]
    if not requests:
        raise InputError(f"{path}: request: no text answers a request.")
    return requests


def manner_pairs(cases: Sequence[AnsweredRequest], drafts: Sequence[str | None], model: str) -> AnnotatedPairs:
    """Pair each draft with the person's text, in random order. An annotator votes for the person's text in every pair;
    an annotator per user does so only in that user's pairs."""
    pairs = []
    for case, draft in zip(cases, drafts, strict=True):
        if draft is None:
            continue
        written, drafted = {"text": case.document.text, "model": case.user}, {"text": draft, "model": model}
        swapped = coin(0, case.request, case.document.text, draft)
        a, b = (drafted, written) if swapped else (written, drafted)
        fields = {
            "id": pair_id(a, b, case.request),
            "prompt": case.request,
            "response_a": a,
            "response_b": b,
            "annotations": {},
            "metadata": {"user": case.user, "document": case.document.id},
        }
        pairs.append(Pair(fields).with_votes({PERSON.id: Vote.B if swapped else Vote.A}))
    metadata = {
        "version": "2.0",
        "description": f"Texts of people and drafts of {model} for the same requests",
        "default_annotator": PERSON.id,
        "available_metadata_keys_per_comparison": ["user", "document"],
    }
    data = AnnotatedPairs({PERSON.id: PERSON}, tuple(pairs), metadata)
    users = list(dict.fromkeys(case.user for case, draft in zip(cases, drafts, strict=True) if draft is not None))
    return with_models(data, users, [model]) if pairs else data


NAMES = ("prompt", "request")


def read_prompts(path: Path) -> list[str]:
    """Read the distinct prompts of a file: JSON Lines with a ``prompt`` or ``request``, or text with one prompt per
    line.

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
        raise InputError("is missing.", param=NAMES[0])
    return check_text(value[name], param=name)


def answer_of(reply: Reply | Failed) -> WrittenText:
    """Return the model's answer without its reasoning, or the failure."""
    if isinstance(reply, Failed):
        return WrittenText(None, reply.reason)
    text = without_reasoning(reply.text).strip()
    return WrittenText(text or None, None if text else EMPTY_ANSWER, reply.finish_reason == CUT_OFF)


def model_pairs(
    prompts: Sequence[str], answers: Sequence[Sequence[str | None]], models: tuple[str, str]
) -> AnnotatedPairs:
    """Pair two models' answers to each prompt that both answered, in random order. Each model has an annotator that
    always votes for its answer."""
    pairs = []
    for prompt, *texts in zip(prompts, *answers, strict=True):
        if None in texts:
            continue
        both = [{"text": text, "model": model} for text, model in zip(texts, models, strict=True)]
        a, b = reversed(both) if coin(0, prompt, *texts) else both
        fields = {"id": pair_id(a, b, prompt), "prompt": prompt, "response_a": a, "response_b": b, "annotations": {}}
        pairs.append(Pair(fields))
    metadata = {
        "version": "2.0",
        "description": f"Answers of {' and '.join(models)} to the same prompts",
        "default_annotator": identity_annotator(models[0]).id,
    }
    data = AnnotatedPairs({}, tuple(pairs), metadata)
    return with_models(data, models) if pairs else data
