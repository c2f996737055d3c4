"""Choosing among settings by what they would have done for past texts, unless that is no better than chance.

The gain that is told is measured across folds: for the texts of each fold that setting counts which all other texts
choose.

Dimensions in comments: N texts, O options.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pearl.stats.bootstrap import Bootstrap, Estimate, Floats
from pearl.stats.chance import CHANCE, share_by_chance

FOLDS = 10


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """``place`` is the chosen option's, ``best`` that of the highest mean; they differ where it may be chance, and the
    first option, the default, stays. ``by_chance``: the share of random exchanges whose best option gains as
    much; ``held_out``: for each text the option that the other folds choose, (N,)."""

    place: int
    best: int
    by_chance: float
    held_out: NDArray[np.intp]

    def gain(self, values: Floats) -> Estimate:
        """The mean that the held-out choices gain over the default, of values (N, O)."""
        texts = np.arange(len(values))
        return Bootstrap([str(text) for text in texts]).mean(values[texts, self.held_out] - values[:, 0])


def choose_option(values: Floats) -> OptionChoice:
    """The option with the highest mean if its gain over the first one is above chance: values (N, O).

    Of equal ones the first is the best. The texts are in order of time; every tenth is in the same fold.
    """
    folds = np.arange(len(values)) % FOLDS
    held_out = np.array([int(values[folds != fold].mean(axis=0).argmax()) for fold in folds], np.intp)
    best = int(values.mean(axis=0).argmax())
    by_chance = share_by_chance(values[:, :1], values.T[1:, :, None], lambda sums: sums[:, 0], np.arange(len(values)))
    return OptionChoice(best if best and by_chance <= CHANCE else 0, best, by_chance, held_out)
