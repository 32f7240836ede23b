"""Clusters of items: those that are nearest are joined first, by the mean distance of their members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import InputError
from torcheer.netview.analysis.points import Matrix
from torcheer.netview.analysis.similarities import Metric, SimilarityMatrix, similarity


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
    """Of a row for each item, or of a matrix that `similarity` made. Some thousands of items take seconds."""
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
    tree = _tree(distances)
    return Clusters(tree=tree, order=_leaves(tree))


def _tree(distances: Matrix) -> Matrix:
    """Follows nearest neighbours until two are each other's, joins them, and goes on from where it was."""
    num_items = len(distances)
    apart = distances.copy()
    numpy.fill_diagonal(apart, numpy.inf)
    sizes = numpy.ones(num_items)
    joined: list[tuple[int, int, float]] = []
    chain: list[int] = []
    while len(joined) < num_items - 1:
        if not chain:
            chain.append(int(numpy.argmax(sizes > 0)))
        here = chain[-1]
        nearest = int(numpy.argmin(apart[here]))
        # Where several are as near, the one that led here: else it would go in a circle.
        if len(chain) > 1 and apart[here, chain[-2]] <= apart[here, nearest]:
            nearest = chain[-2]
            del chain[-2:]
            joined.append((nearest, here, float(apart[here, nearest])))
            _join(apart, sizes, gone=nearest, stays=here)
        else:
            chain.append(nearest)
    return _numbered(sorted(joined, key=lambda join: join[2]), num_items)


def _join(apart: Matrix, sizes: Matrix, *, gone: int, stays: int) -> None:
    total = sizes[gone] + sizes[stays]
    row = (apart[gone] * sizes[gone] + apart[stays] * sizes[stays]) / total
    row[[gone, stays]] = numpy.inf
    apart[stays], apart[:, stays] = row, row
    apart[gone], apart[:, gone] = numpy.inf, numpy.inf
    sizes[gone], sizes[stays] = 0.0, total


def _numbered(joined: list[tuple[int, int, float]], num_items: int) -> Matrix:
    """The same with numbers of clusters instead of members."""
    above = numpy.arange(
        num_items
    )  # of each item: the row of another member, up to the one that stands for all
    cluster = numpy.arange(num_items)
    counts = numpy.ones(num_items)
    tree = numpy.zeros((max(num_items - 1, 0), 4))
    for row, (one, other, distance) in enumerate(joined):
        roots = _root(above, one), _root(above, other)
        numbers = sorted(int(cluster[root]) for root in roots)
        counts[roots[1]] += counts[roots[0]]
        above[roots[0]] = roots[1]
        cluster[roots[1]] = num_items + row
        tree[row] = *numbers, distance, counts[roots[1]]
    return tree


def _root(above: NDArray[numpy.int64], item: int) -> int:
    while above[item] != item:
        above[item] = above[above[item]]
        item = int(above[item])
    return item


def _leaves(tree: Matrix) -> NDArray[numpy.int64]:
    num_items = len(tree) + 1
    waiting, order = [2 * num_items - 2], []
    while waiting:
        number = waiting.pop()
        if number < num_items:
            order.append(number)
        else:
            one, other = tree[number - num_items, :2]
            waiting += [int(other), int(one)]
    return numpy.array(order)
