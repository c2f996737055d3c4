"""The record of one training, which its steps hand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.console import Console

from pearl.budget import Budget
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from training.data.embeddings import KeptEncoder
from training.data.histories import Corpus
from training.options import TrainingOptions

# the share of the budget that has passed when a step ends; what is measured with is scored last, and measured in what
# is left: a cross-encoder reads a pair in a sixth of the time that scoring it takes. The first requests to train on
# are scored however small the budget is: an artifact that says not to use it says more than an error
SCORED_TRAIN, SCORED_DEV, EMBEDDED_BY, FITTED, WRITTEN, SCORED_TEST = 0.32, 0.42, 0.52, 0.80, 0.88, 0.95


@dataclass(frozen=True)  # without slots, which would leave no place for the kept encoder
class Run:
    """One training."""

    options: TrainingOptions  # all choices, and the folders to write to and to resume from
    corpora: Sequence[Corpus]  # of ``options.histories``, in their order
    loaded: SentenceEncoder
    budget: Budget
    console: Console

    @cached_property
    def encoder(self) -> KeptEncoder:
        """The encoder, with the vectors that the working folder keeps."""
        options = self.options
        return KeptEncoder(self.loaded, options.work / "embeddings", model_fingerprint(options.encoder))

    def say(self, note: str) -> None:
        """Write a note on the console."""
        self.console.print(f"Note: {note}.", highlight=False, markup=False, soft_wrap=True)
