"""The likeness of drafts to their person's own texts, until a better measure takes this one's place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pearl.stats import Floats
from retriever.models.encoder import Encoder


def likeness(encoder: Encoder, drafts: Sequence[str], own: Sequence[Sequence[str]]) -> Floats:
    """The mean cosine of each draft with the texts that its person had written by then, (N,); 0 for a blank draft."""
    vectors = encoder.encode_documents(list(drafts))
    texts = list(dict.fromkeys(text for each in own for text in each))
    known = dict(zip(texts, encoder.encode_documents(texts), strict=True)) if texts else {}
    found = [
        float(np.mean([vector @ known[text] for text in mine])) if draft.strip() and mine else 0.0
        for draft, vector, mine in zip(drafts, vectors, own, strict=True)
    ]
    return np.asarray(found, np.float64)
