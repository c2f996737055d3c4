"""The perplexity of texts under the embedded model, kept: a second run loads no model."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from pearl.runtime.progress import watched
from pearl.settings import EMBEDDED, load_settings
from retriever.models.kept_losses import KeptLosses, computed_by, kept_losses, loss_key

TOKENS = 512  # of a text
PROMPT = "A paragraph:\n\n"
TOGETHER = 32  # texts between two commits


def perplexity(texts: Sequence[str]) -> list[float]:
    """The loss of each text per token, in nats, over its first TOKENS tokens.

    Raises ChatError if the embedded model is not installed, StoreError if the losses cannot be kept.
    """
    computed = computed_by(EMBEDDED)
    keys = {text: loss_key(*computed, PROMPT, TOKENS, text) for text in texts}
    with kept_losses(load_settings().home) as kept:
        losses = kept.known(list(keys.values()))
        missing = {text: key for text, key in keys.items() if key not in losses}
        if missing:
            losses |= _computed(missing, kept)
    return [losses[keys[text]] for text in texts]


def _computed(keys: dict[str, bytes], kept: KeptLosses) -> dict[bytes, float]:
    """The losses of texts by one load of the model, each kept soon after it is known."""
    from retriever.models.auxiliary import Group
    from retriever.models.load_auxiliary import load_auxiliary

    model = load_auxiliary(EMBEDDED)
    prompt = (tuple(model.encode(PROMPT)),)
    texts = list(keys)
    losses: dict[bytes, float] = {}
    with watched(Console(stderr=True)) as watch:
        line = watch("perplexity", len(texts))
        for start in range(0, len(texts), TOGETHER):
            some = texts[start : start + TOGETHER]
            found = model.likelihoods([Group(prompt, (tuple(model.encode(text, TOKENS)),)) for text in some])
            new = {keys[text]: -likelihood.mean for text, (likelihood,) in zip(some, found, strict=True)}
            kept.keep(new)
            losses |= new
            for _ in new:
                line.advance()
    return losses
