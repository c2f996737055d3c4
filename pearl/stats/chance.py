"""A permutation test for choosing among many settings: one is taken only if its gain over the default exceeds chance.

The best of many settings looks good by chance alone. So its gain is compared with the best gain in random permutations:
in each cluster of records (a user, or a request) the results of default and setting are exchanged or not, which makes
no difference where no setting is better.

Dimensions in comments: N records, U clusters, R random permutations, F features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from pearl.stats.bootstrap import Floats

CHANCE = 0.05  # the share of random exchanges whose best setting may gain as much
EXCHANGES = 2000
ROUNDED = 1e-9  # more than sums in another order differ by


def permutation_p_value(
    default: Floats, settings: Iterable[Floats], figure: Callable[[Floats], Floats], clusters: ArrayLike
) -> float:
    """Return the permutation p-value of the best setting's gain over the default; 1 if no setting gains anything.

    ``default`` and each of ``settings`` are features, (N, F). ``figure`` computes the metric from their sums, (R, F) ->
    (R,); an undefined metric counts as no gain. ``clusters``: the cluster of each record, (N,).
    """
    names, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(EXCHANGES, len(names)))  # one for all settings
    real, exchanged = 0.0, np.zeros(EXCHANGES)  # what the default gains over itself
    for setting in settings:
        middle = ((setting + default) / 2).sum(axis=0)
        by_cluster = np.zeros((len(names), default.shape[1]))  # (U, F)
        np.add.at(by_cluster, cluster, (setting - default) / 2)

        def gains(off: Floats, middle: Floats = middle) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                return figure(middle + off) - figure(middle - off)

        real = float(np.fmax(real, gains(by_cluster.sum(axis=0, keepdims=True))[0]))
        exchanged = np.fmax(exchanged, gains(signs @ by_cluster))
    return float((exchanged >= real - ROUNDED).mean())


def exchange_p(first: Floats, second: Floats, figure: Callable[[Floats], Floats], clusters: ArrayLike) -> float:
    """Return the two-sided permutation p-value of the difference between two settings' metrics; with few clusters it
    cannot be small. ``figure`` and ``clusters`` are as in :func:`permutation_p_value`."""
    sides = [permutation_p_value(one, [other], figure, clusters) for one, other in ((first, second), (second, first))]
    return min(1.0, 2 * max(min(sides), 1 / EXCHANGES))
