"""The documents that each system shows for a request: a retriever's best documents, strangers' documents, or none."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice
from typing import Any

import numpy as np

from eval.drafts.cases import Case, rounds
from eval.drafts.stance import STANCES, stance
from eval.retrieval.gains import containment
from eval.retrieval.scoring import score_records
from pearl.errors import ContextExceeded, InputError
from pearl.models.chat.base import ChatModel, Message
from pearl.models.prompts import MESSAGE_OVERHEAD, Prompt, PromptBuilder, PromptInputs, draft_prompt
from pearl.records import Document, ScoredDocument
from retriever.base import Retriever, choose, oldest_first, order

ZERO_SHOT, K_SHOT, RAG = "zero-shot", "k-shot", "rag"
RAG_SYSTEM = "You draft texts as their author would write them. Use the following texts by the author:\n\n{texts}"
MODEL, BASELINE, TRIVIAL = "model", "baseline", "trivial"  # kinds of systems


@dataclass(frozen=True, slots=True)
class SystemSelection:
    """The documents that a system shows for one case."""

    documents: tuple[Document, ...] = ()  # in the prompt, best first
    top: ScoredDocument | None = None  # the best of all, with s1, if a retriever ranked them
    scores: tuple[float, ...] = ()  # of the documents


@dataclass(frozen=True, slots=True)
class System:
    """A way to get a draft for each case: documents to show to a chat model, or ready texts."""

    name: str
    kind: str  # MODEL, measured; BASELINE, which it must beat; or TRIVIAL, without a chat model
    shown: tuple[SystemSelection, ...]  # for each case
    texts: tuple[str, ...] | None = None  # drafts, where no chat model writes them
    threshold: float | None = None  # a retriever's theta, None for never
    build: PromptBuilder = draft_prompt

    def documents(self, among: Iterable[Any]) -> list[tuple[Document, ...]]:
        """Return the documents shown for each case for which ``among`` is true."""
        return [selection.documents for selection in compress(self.shown, among)]


def retrieved(
    name: str, retriever: Retriever, cases: Sequence[Case], k: int, *, kind: str, exactly: bool = False
) -> System:
    """Make a system that shows the documents that the service would show with this retriever, at most k; ``exactly``:
    always k, if there are as many. Raises InputError for a score that is not finite."""
    records = [case.record for case in cases]
    shown = []
    for record, scores in zip(records, score_records(name, retriever, records).scores, strict=True):
        indices = oldest_first(record.documents)
        ranking = order([record.documents[index] for index in indices], scores[indices].astype(np.float32))
        best = choose(ranking, k, retriever.calibration, exactly=exactly)
        documents = tuple(scored.document for scored in best)
        shown.append(SystemSelection(documents, ranking[0], tuple(scored.score for scored in best)))
    return System(name, kind, tuple(shown), threshold=retriever.calibration.threshold)


def zero_shot_system(cases: Sequence[Case]) -> System:
    """Make a system that shows no documents: drafts are made from the request alone (ZSHOT-NP of section 5.1)."""
    return System(ZERO_SHOT, BASELINE, tuple(SystemSelection() for _ in cases))


def k_shot_system(
    cases: Sequence[Case],
    everyone: Sequence[Case],
    k: int,
    seed: int = 0,
    *,
    balanced: bool,
    near_duplicates: float | None = None,
) -> System:
    """Make a system that shows the same k random documents of other users for every request, spread over users
    (KSHOT-NP of section B.3).

    Skipped are documents of the request's own user, and those that contain at least ``near_duplicates`` of its target.
    ``balanced`` alternates between the stances. Raises InputError if nothing is left to show.
    """
    drawn = _strangers(everyone, seed, balanced=balanced)
    shown = []
    for case in cases:
        others = (stranger.document for stranger in drawn if stranger.owner != case.owner)
        if near_duplicates is not None:
            others = (other for other in others if containment(case.target, other.text) < near_duplicates)
        documents = tuple(islice(others, k))
        if not documents:
            raise InputError(
                "--k-shot: there is no document of other users to show: none takes a stance, or each nearly is the "
                "target of one of the requests; leave it out."
            )
        shown.append(SystemSelection(documents))
    return System(K_SHOT, BASELINE, tuple(shown))


@dataclass(frozen=True, slots=True)
class Stranger:
    owner: str
    document: Document


def _strangers(everyone: Sequence[Case], seed: int, *, balanced: bool) -> list[Stranger]:
    """Return everybody's documents in random order, the first of each user before any second. ``balanced``: only
    documents that take a stance, in alternation while there are both."""
    by_owner: dict[str, dict[str, Stranger]] = defaultdict(dict)
    for case in everyone:  # records of one user share documents
        by_owner[case.owner] |= {document.text: Stranger(case.owner, document) for document in case.record.documents}
    generator = random.Random(seed)
    shuffled = []
    for by_text in by_owner.values():
        usable = [stranger for text, stranger in by_text.items() if not balanced or stance(text)]
        shuffled.append(generator.sample(usable, len(usable)))
    generator.shuffle(shuffled)
    in_rounds = rounds(shuffled)
    return list(chain.from_iterable(map(_in_turns, in_rounds) if balanced else in_rounds))


def _in_turns(strangers: Sequence[Stranger]) -> Iterable[Stranger]:
    """Alternate between the stances, then append what is left."""
    return chain.from_iterable(
        rounds([stranger for stranger in strangers if stance(stranger.document.text) == label] for label in STANCES)
    )


def rag_prompt(inputs: PromptInputs, model: ChatModel, max_tokens: int) -> Prompt:
    """Build the prompt of a RAG service as people build it in a day, such as benchmarks/rag_service.py: texts in the
    system message, the request below. Texts without room are left out, the last first. Raises ContextExceeded."""
    for count in range(len(inputs.documents), -1, -1):
        used = inputs.documents[:count]
        texts = "\n\n".join(document.text for document in used)
        messages = Message("system", RAG_SYSTEM.format(texts=texts)), Message("user", inputs.request)
        tokens = sum(model.count_tokens(message.content) + MESSAGE_OVERHEAD for message in messages)
        if tokens + max_tokens <= model.context_tokens:
            return Prompt(messages, used, 0)
    raise ContextExceeded("The request is too long for the model: shorten it.")


def copied(system: System) -> System:
    """Make a system whose drafts are the retriever's best documents, word for word."""
    texts = tuple(shown.top.document.text if shown.top else "" for shown in system.shown)
    return System(f"copy of {system.name}", TRIVIAL, system.shown, texts)


def constant(text: str, size: int) -> System:
    """Make a system whose draft for every request is ``text``."""
    return System(f"always {text}", TRIVIAL, tuple(SystemSelection() for _ in range(size)), (text,) * size)
