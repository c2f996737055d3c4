"""Clusters of texts by their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def clusters_of(vectors: NDArray[np.floating[Any]], count: int, seed: int) -> list[list[int]]:
    """The rows of ``vectors``, (texts, dimensions), in ``count`` clusters by k-means, those nearest to the mean first.

    Copies are one point, and there are no more clusters than points.
    """
    from sklearn.cluster import KMeans

    means = KMeans(min(count, len(np.unique(vectors, axis=0))), n_init=10, random_state=seed).fit(vectors)
    distances = means.transform(vectors)  # (texts, clusters)
    members = (np.flatnonzero(means.labels_ == cluster) for cluster in range(distances.shape[1]))
    return [rows[np.argsort(distances[rows, cluster], kind="stable")].tolist() for cluster, rows in enumerate(members)]
