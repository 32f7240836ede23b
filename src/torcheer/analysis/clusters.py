"""Clusters of items: those that are nearest are joined first, by the mean distance of their members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.analysis.libraries import needed
from torcheer.analysis.rows import Matrix
from torcheer.analysis.similarity import Metric, SimilarityMatrix, similarity
from torcheer.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clusters:
    """A tree of items.

    Row i of `tree` makes cluster `num_items + i`: the numbers of the two that are joined, their distance, and
    how many items are then in it. Numbers below `num_items` are items. SciPy's dendrogram draws such an
    array.
    """

    tree: Matrix
    order: NDArray[numpy.int64]  # items as they stand below the tree, so that no branches cross

    @property
    def num_items(self) -> int:
        return len(self.order)

    def cut(self, num_clusters: int) -> NDArray[numpy.int64]:
        """For each item the number of its cluster, where the tree is cut into so many."""
        if not 1 <= num_clusters <= self.num_items:
            raise InputError(
                f"{self.num_items:,} items cannot be cut into {num_clusters} clusters: ask for 1 to "
                f"{self.num_items:,}."
            )
        members = numpy.arange(self.num_items)
        for row, (one, other) in enumerate(self.tree[: self.num_items - num_clusters, :2]):
            members[(members == one) | (members == other)] = self.num_items + row
        _, first, number = numpy.unique(members, return_index=True, return_inverse=True)
        return numpy.argsort(numpy.argsort(first))[number]


def clusters(points: ArrayLike | SimilarityMatrix, *, metric: Metric = "correlation") -> Clusters:
    """Of a row for each item, or of a matrix that `similarity` made.

    Needs SciPy: `pip install 'torcheer[analysis]'`.
    """
    hierarchy = needed("scipy.cluster.hierarchy", "a tree of clusters")
    matrix = points if isinstance(points, SimilarityMatrix) else similarity(points, metric=metric)
    back = numpy.argsort(matrix.order)
    distances = matrix.distances[numpy.ix_(back, back)]
    undefined = numpy.flatnonzero(numpy.isnan(numpy.diagonal(distances)))
    if len(undefined):
        raise InputError(
            f"the {matrix.metric} of item {undefined[0]} with others is not defined, since its units are all "
            f"alike ({len(undefined)} of {len(back):,} items): leave such items out, or take "
            "metric='euclidean'."
        )
    if len(distances) == 1:
        return Clusters(tree=numpy.zeros((0, 4)), order=numpy.zeros(1, numpy.int64))
    tree = hierarchy.linkage(distances[numpy.triu_indices(len(distances), 1)], "average")
    return Clusters(tree=tree, order=hierarchy.leaves_list(tree).astype(numpy.int64))
