"""What analyses of runs, NetView and Features have in common: similarity, and points in fewer dimensions.

t-SNE, UMAP and the PCA of many points run in a process each (`python -m` of this module), a few at a time. It
reads one line of JSON and the points from its input. After its last report come the new places of the points.
"""

from __future__ import annotations

import importlib.util
import io
import re
import sys
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from contextlib import aclosing, redirect_stdout
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.analysis import Array, SimilarityMatrix, label_contrast, principal_components
from torcheer.app.background_threads import in_thread
from torcheer.app.processes import Processes, Reader, Report, begin_reports, end_with_input
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_messages import ReduceQuestion, ReductionAnswer
from torcheer.app.runs.run_records import data_of, entry_of
from torcheer.app.wire import binary_frame, copied
from torcheer.errors import FileFormatError, InputError
from torcheer.run import EmbeddingHead

Matrix = NDArray[numpy.float32]


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs with the same label against pairs with different ones. Null where there are none."""

    within: float | None
    between: float | None
    contrast: float | None  # how much more alike those of one label are


def contrast_of(matrix: SimilarityMatrix, labels: Array | None) -> Contrast | None:
    """None without labels."""
    if labels is None:
        return None
    return copied(Contrast, label_contrast(replace(matrix, labels=labels)))


def undefined_words(matrix: SimilarityMatrix, what: str) -> str:
    """What is said of items that are not similar to anything, not even to themselves; empty without any."""
    count = int(numpy.isnan(numpy.diagonal(matrix.values)).sum())
    some = f"1 {what} has" if count == 1 else f"{count:,} {what}s have"
    return f"{some} no {matrix.metric}: all units are alike, or silent" if count else ""


MIN_POINTS: Final = 4  # of t-SNE and UMAP
_BLOCK: Final = 1 << 14  # points that are placed at a time
_TSNE_ITERATIONS: Final = 1000
_TSNE_DIMS: Final = 50  # to which points of more dimensions are brought first
_MAX_SIDE: Final = 4096  # of a matrix whose eigenvectors are found exactly
_SEED: Final = 0

LIBRARIES: Final = {"tsne": ("sklearn", "t-SNE", "scikit-learn"), "umap": ("umap", "UMAP", "umap-learn")}


class Order(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    num_points: int
    num_dims: int  # that the points have
    wanted_dims: int
    neighbours: float
    metric: str
    num_of_axes: int = 0  # PCA: on the axes of so many points, which come first; 0 for those of their own


class Reduction(Report, frozen=True, kw_only=True):
    shares: Sequence[float] = ()  # of PCA


class Reduced(NamedTuple):
    places: NDArray[Any]
    note: str = ""  # what people should know of them
    shares: Sequence[float] = ()


Says = Callable[[float, str], None]


def reduce_points(points: Matrix, order: Order, says: Says) -> Reduced:
    note, finite, bad = "", points, ~numpy.isfinite(points)
    if num_bad := int(bad.any(axis=1).sum()):
        finite = numpy.where(bad, numpy.float32(0), points)
        what = "1 point has" if num_bad == 1 else f"{num_bad:,} points have"
        note = f"{what} NaN or infinity among the coordinates: zero stands for it."
    # Of PCA, they have no say in what the axes are.
    points = points if order.method == "pca" else finite
    if order.metric == "cosine" and order.method != "umap":
        # On the unit sphere, Euclid's distances are in the order of the angles.
        points = points / numpy.maximum(numpy.linalg.norm(points, axis=1, keepdims=True), 1e-30)
    found = _METHODS[order.method](points, order, says)
    return found._replace(note=" ".join(filter(None, (note, found.note))))


def _pca(points: Matrix, order: Order, says: Says) -> Reduced:
    """On the principal axes of the points, or of those that come first."""
    first, own = points[: order.num_of_axes], points[order.num_of_axes :]
    given = first if order.num_of_axes else own
    is_there = numpy.isfinite(given).all(axis=1)
    places, shares = numpy.zeros((len(own), order.wanted_dims)), numpy.zeros(order.wanted_dims)
    if is_there.any():
        mean, axes, found = _principal_axes(given if is_there.all() else given[is_there], order.wanted_dims)
        for at in range(0, len(own), _BLOCK):
            block = numpy.nan_to_num(own[at : at + _BLOCK], posinf=0.0, neginf=0.0)
            places[at : at + _BLOCK, : len(axes)] = (block - mean) @ axes.T
        shares[: len(axes)] = found
    return Reduced(places, shares=() if order.num_of_axes else shares.tolist())


def principal_places(points: Matrix, wanted: int) -> tuple[NDArray[numpy.float64], float]:
    """The points on their principal axes, and which share of the variance these hold."""
    mean, axes, shares = _principal_axes(points, wanted)
    places = numpy.zeros((len(points), wanted))
    for at in range(0, len(points), _BLOCK):
        places[at : at + _BLOCK, : len(axes)] = (points[at : at + _BLOCK] - mean) @ axes.T
    # An axis may point either way: the farthest point has it positive.
    farthest = numpy.abs(places).argmax(axis=0)
    places *= numpy.where(places[farthest, range(wanted)] < 0, -1.0, 1.0)
    return places, float(shares.sum()) if len(shares) else 1.0


def _principal_axes(
    points: Matrix, wanted: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """The mean, a row for each axis, whose largest part is positive, and the variance's share in each."""
    if min(points.shape) <= _MAX_SIDE:
        found = principal_components(points, wanted)
        return found.mean, found.axes, found.shares
    mean = points.mean(axis=0, dtype=numpy.float64)
    scale = numpy.float32(float(numpy.abs(points).max()) or 1.0)
    centred = (points - mean.astype(numpy.float32)) / scale
    axes = _largest_axes(centred, wanted).T
    axes *= numpy.where(axes[range(wanted), numpy.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    squares = numpy.square(centred @ axes.T.astype(numpy.float32), dtype=numpy.float64).sum(axis=0)
    total = float(numpy.square(centred, dtype=numpy.float64).sum())
    return mean, axes, squares / (total or 1.0)


def _largest_axes(centred: Matrix, wanted: int) -> NDArray[numpy.float64]:
    """The space of the largest axes, turned until it stays where it is: all axes would take too long."""
    space = numpy.random.default_rng(_SEED).standard_normal((centred.shape[1], wanted + 12))
    for _ in range(12):
        space = numpy.linalg.qr(centred.T @ (centred @ space.astype(numpy.float32)))[0].astype(numpy.float64)
    inside = (centred @ space.astype(numpy.float32)).astype(numpy.float64)
    turned = numpy.linalg.eigh(inside.T @ inside)[1][:, ::-1][:, :wanted]
    return numpy.asarray(space @ turned)


def _tsne(points: Matrix, order: Order, says: Says) -> Reduced:
    from sklearn.manifold import TSNE

    notes = []
    if points.shape[1] > _TSNE_DIMS:
        points = principal_places(points, _TSNE_DIMS)[0].astype(numpy.float32)
        notes.append(f"PCA brought them to {_TSNE_DIMS} dimensions first.")
    perplexity = min(order.neighbours, (len(points) - 1) / 3)
    if perplexity < order.neighbours:
        notes.append(f"The perplexity is {perplexity:.3g}: there are too few points for more.")
    method = TSNE(
        n_components=order.wanted_dims,
        perplexity=perplexity,
        max_iter=_TSNE_ITERATIONS,
        init="pca" if points.shape[1] >= order.wanted_dims else "random",
        random_state=_SEED,
        verbose=2,  # it then prints how far it is, every 50 iterations
    )
    says(0.0, "t-SNE looks for neighbours.")
    with redirect_stdout(_Listening(r"Iteration (\d+)", _TSNE_ITERATIONS, says)):
        return Reduced(method.fit_transform(points), " ".join(notes))


def _umap(points: Matrix, order: Order, says: Says) -> Reduced:
    says(0.0, "UMAP is being started, which takes a while.")
    from umap import UMAP

    neighbours = max(2, min(round(order.neighbours), len(points) - 1))
    note = (
        "" if neighbours >= order.neighbours else f"It looked at {neighbours} neighbours: there are no more."
    )
    says(0.0, "UMAP looks for neighbours.")
    method = UMAP(
        n_components=order.wanted_dims,
        n_neighbors=neighbours,
        metric=order.metric,
        # The usual beginning needs more points than dimensions, with room to spare.
        init="spectral" if len(points) > 4 * order.wanted_dims + 4 else "random",
        random_state=_SEED,
        n_jobs=1,
        verbose=True,
        tqdm_kwds={
            "file": _Listening(r"(\d+)%", 100, says),
            "desc": "",
            "disable": False,
            "mininterval": 0.2,
        },
    )
    return Reduced(method.fit_transform(points), note)


_METHODS: Final = {"pca": _pca, "tsne": _tsne, "umap": _umap}


class _Listening(io.StringIO):
    """Hears what a library prints, for how far it is."""

    def __init__(self, pattern: str, most: int, says: Says) -> None:
        super().__init__()
        self._pattern = re.compile(pattern)
        self._most = most
        self._says = says

    def write(self, text: str) -> int:
        for found in self._pattern.finditer(text):
            self._says(min(1.0, int(found[1]) / self._most), "")
        return len(text)


def main() -> None:
    reports = begin_reports()
    given = sys.stdin.buffer
    order = msgspec.json.decode(given.readline(), type=Order)
    data = given.read(4 * (order.num_of_axes + order.num_points) * order.num_dims)
    end_with_input(given)
    reports.write(*_reduction(memoryview(data), order, reports.say))


def _reduction(given: memoryview, order: Order, says: Says) -> tuple[Reduction, bytes]:
    points = numpy.frombuffer(given, dtype="<f4").reshape(-1, order.num_dims)
    found = reduce_points(points, order, says)
    data = numpy.nan_to_num(found.places.astype("<f4")).tobytes()
    report = Reduction(progress=1.0, is_done=True, note=found.note, shares=found.shares, num_bytes=len(data))
    return report, data


MAX_POINTS: Final = {"pca": 1_000_000, "tsne": 20_000, "umap": 100_000}
_MAX_BYTES: Final = 1 << 30
_MOST_HERE: Final = 1 << 20  # numbers: the PCA of more takes a process of its own
_KEPT_BYTES: Final = 64 << 20
_MODULE: Final = "torcheer.app.shared_analyses"
_DAMAGED: Final = "the embedding is damaged: its bytes do not fit its points and dimensions."
_FAILED: Final = "the points could not be brought to fewer dimensions: the server's log says why."


class Reductions:
    def __init__(self) -> None:
        self._processes = Processes(_MODULE, Reduction, _FAILED, _KEPT_BYTES)
        # PCA is what is seen until another method is done: it does not wait for that.
        self._pcas = Processes(_MODULE, Reduction, _FAILED, _KEPT_BYTES)

    async def follow(
        self, run: OpenRun, question: ReduceQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        order, logged_at = await run.slow_turns.take(_order, run, question)
        key = (run, question.record, logged_at, question.axes_of, order)

        async def read() -> memoryview:
            points = await run.slow_turns.take(
                _points, run, question.record, order.num_points, order.num_dims
            )
            if not question.axes_of:
                return points
            size = order.num_of_axes, order.num_dims
            first = await run.slow_turns.take(_points, run, question.axes_of, *size)
            return memoryview(b"".join((first, points)))

        async with aclosing(self.reduced(key, order, read, question.id, page)) as frames:
            async for frame in frames:
                yield frame

    async def reduced(
        self, key: Hashable, order: Order, read: Reader, number: int, page: object
    ) -> AsyncGenerator[bytes, None]:
        """How far it is, and in the end the points. `number` is that of the question."""
        processes = self._pcas if order.method == "pca" else self._processes
        num_values = (order.num_of_axes + order.num_points) * order.num_dims
        if order.method == "pca" and num_values <= _MOST_HERE and processes.kept(key) is None:
            processes.keep(key, *await in_thread(_reduction, await read(), order, lambda *_: None))
        async with aclosing(processes.results(key, order, page, read)) as results:
            async for report, places in results:
                sizes = {"num_points": order.num_points, "num_dims": order.wanted_dims}
                yield binary_frame(copied(ReductionAnswer, report, id=number, **sizes), places)


def _order(run: OpenRun, question: ReduceQuestion) -> tuple[Order, float]:
    """What is wanted, and when the points were logged. Refused where it cannot be done."""
    head, logged_at = _embedding(run, question.record)
    check_method(question.method, head.num_points, question.num_dims)
    first = _embedding(run, question.axes_of)[0] if question.axes_of else None
    if first is not None and (first.num_dims != head.num_dims or question.method != "pca"):
        raise InputError("these axes are of points with other dimensions, or of another method.")
    order = Order(
        method=question.method,
        num_points=head.num_points,
        num_dims=head.num_dims,
        wanted_dims=question.num_dims,
        neighbours=question.neighbours,
        metric=question.metric,
        num_of_axes=0 if first is None else first.num_points,
    )
    return order, logged_at


def _embedding(run: OpenRun, record: str) -> tuple[EmbeddingHead, float]:
    """What a record says of its points, and when they were logged."""
    entry = entry_of(run, record)
    head = entry.head
    if not isinstance(head, EmbeddingHead):
        raise InputError("this record is no embedding.")
    if head.num_dims < 1 or not head.matrix_bytes == 4 * head.num_points * head.num_dims <= entry.num_bytes:
        raise FileFormatError(_DAMAGED)
    return head, entry.time


def _points(run: OpenRun, record: str, num_points: int, num_dims: int) -> memoryview:
    data = data_of(run, record, _MAX_BYTES)
    num_bytes = 4 * num_points * num_dims
    if len(data) < num_bytes:
        raise FileFormatError(_DAMAGED)
    return memoryview(data)[:num_bytes]


def check_method(method: str, num_points: int, num_dims: int) -> None:
    """Refused where it is not installed, or cannot be done with so many."""
    module, title, package = LIBRARIES.get(method, ("numpy", "PCA", ""))
    if method != "pca" and num_dims not in (2, 3):
        raise InputError(f"{title} makes two or three dimensions, and {num_dims} are wanted.")
    if importlib.util.find_spec(module) is None:
        raise InputError(
            f"{title} needs {package}, which is not here: pip install 'torcheer[projector]', then try again."
        )
    if num_points > MAX_POINTS[method]:
        raise InputError(
            f"{title} of {num_points:,} points takes too long: {MAX_POINTS[method]:,} is the most. "
            "Log fewer points, or choose another method."
        )
    least = 1 if method == "pca" else MIN_POINTS
    if num_points < least:
        raise InputError(f"{title} needs {least} points at least, and there are {num_points}.")


if __name__ == "__main__":
    main()
