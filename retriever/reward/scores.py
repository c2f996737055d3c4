"""The scores of a reward model named by an option or setting, or a clear error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pearl.errors import InputError
from pearl.stats.bootstrap import Floats
from retriever.reward.model import RewardModel


def load_scores(name: str, called: str) -> Callable[[Sequence[str]], Floats]:
    """Load the function that scores texts from 1 to 10; ``called`` names the option or setting in errors.

    Raises InputError for a model that cannot be used, and for one that only decides pairs.
    """
    try:
        model = RewardModel.load(name)
    except InputError as error:
        raise InputError(f"{called}: {error.message}", param="model", code=error.code) from error
    if not model.scores_paragraphs:
        raise InputError(
            f"{called}: decides pairs and gives no scores; name a model trained with --variant R or PR.",
            param="model",
            code="no_scores",
        )
    return model.score
