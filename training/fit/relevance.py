"""The warm start of the cross-encoder: learning which of the user's texts answered a request."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from retriever.models.files import model_fingerprint
from training.data.records import Example
from training.fit.cross_encoder import CrossEncoderOptions, GroupFitting, new_cross_encoder
from training.fit.head import plain
from training.fit.kept import CrossEncoderFit, digest_of_texts, kept_or_fitted
from training.run import Run

GAIN = 50.0  # nats: the softmax then puts everything on the one text that answers the request
TAU = 5.0
PER_USER = 20
NEGATIVES = 3
LONGEST_NAME = 60  # characters of a folder's name, four bytes each at most, of which a file system takes 255


def fit_relevance(
    run: Run, histories: Mapping[str, Sequence[Document]], options: CrossEncoderOptions, seconds: float | None
) -> CrossEncoderFit:
    """Fit a cross-encoder to tell the text that answered a request from other texts. It is the baseline RelevanceCE,
    and the calibrated cross-encoder starts from it. It reads documents without their own requests, and is kept in the
    working folder for the next run."""
    base = run.options.base
    groups = relevance_groups(histories, options.seed)
    options = replace(options, reading=replace(options.reading, own_requests=False))
    model = new_cross_encoder(base, options, run.options.own_device)
    if len(groups) < 2:
        return CrossEncoderFit(model, {"groups": len(groups), "steps": 0})
    made_of = {"base": base, "options": asdict(options), "texts": digest_of_texts(groups)}
    if base != EMBEDDED:
        made_of["content"] = model_fingerprint(base)
    cut = max(1, min(len(groups) // 10, 200))
    # what is kept there says what it was made of, so names of one beginning only take each other's place
    folder = run.options.work / "-".join(("relevance", *(corpus.name for corpus in run.corpora)))[:LONGEST_NAME]
    fitting = GroupFitting(groups[cut:], groups[:cut], plain(TAU), options, seconds)
    return kept_or_fitted(model, fitting, folder, made_of)


def relevance_groups(histories: Mapping[str, Sequence[Document]], seed: int) -> list[Example]:
    """Make groups in random order: a request, the text that answered it, and other texts of the same user.

    Documents come without their own requests, which would give the answer away.
    """
    groups = []
    for user in sorted(histories):
        draw = random.Random(f"{seed}:{user}:relevance")
        documents = [document for document in histories[user] if document.request]
        for document in draw.sample(documents, min(PER_USER, len(documents))):
            others = [other for other in documents if other.text != document.text]
            negatives = draw.sample(others, min(NEGATIVES, len(others)))
            if negatives:
                texts = tuple(Document(text.id, text.text) for text in (document, *negatives))
                gains = np.array([GAIN, *(0.0 for _ in negatives)], np.float32)
                groups.append(Example(user, document.id, Request(document.request or ""), texts, gains))
    random.Random(seed).shuffle(groups)
    return groups
