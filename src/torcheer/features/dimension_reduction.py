"""Project and RunningPCA: fewer units that keep the distances, or the variance, of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.errors import InputError

Applied = Callable[[Tensor], Tensor]  # keeps the first dimension, that of samples


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def working_dtype(dtype: torch.dtype, layer: str, what: str) -> torch.dtype:
    """The dtype to compute in: float32, and float64 where float32 would lose digits."""
    if dtype.is_complex:
        raise InputError(
            f"{what} of layer {layer!r}: its values are complex ({dtype_name(dtype)}). Turn them into real "
            "ones first, with a function such as torch.abs."
        )
    return torch.float32 if dtype.itemsize <= (4 if dtype.is_floating_point else 2) else torch.float64


def rows_of(values: Tensor, num_units: int, layer: str, what: str) -> Tensor:
    """One row for each sample. Another number of units than at the beginning is refused."""
    rows = values.reshape(len(values), -1) if values.numel() else values.reshape(len(values), num_units)
    if rows.shape[1] != num_units:
        raise InputError(
            f"{what} of layer {layer!r}: it began with samples of {num_units:,} units, and now one has "
            f"{rows.shape[1]:,}. Where samples differ in size, pool them first."
        )
    return rows


# A projection is a very sparse random matrix. The units are cut into as many runs of neighbours as a column
# has entries, and each column has one entry in each run, at a random place and with a random sign. So every
# unit counts with the same weight on average, and none twice. A column is added up run by run, element by
# element for all samples: the result for a sample is the same to the last bit whatever else is in the batch,
# on any number of threads, and on any machine.


@dataclass(frozen=True, slots=True)
class Project:
    """To `num_units` units, whatever the shape of a sample, with distances kept as well as they can be.

    - `density`: the share of entries that are not zero; "auto" is 1/√units. Each of them is ±√(1/(density ×
      num_units)).
    - `seed`: with the number of units, it decides on the matrix: on every machine and in every version.

    Computed in float32, or in float64 where values have more digits. A layer that has no more units than
    asked for is only flattened: its distances are kept as they are.
    """

    num_units: int
    density: float | Literal["auto"] = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        if type(self.num_units) is not int or self.num_units < 1:
            raise InputError(
                f"Project takes the number of units to keep, such as Project(512), not {self.num_units!r}."
            )
        if self.density != "auto" and not (type(self.density) in (int, float) and 0 < self.density <= 1):
            raise InputError(
                f"density is {self.density!r}: it is a share above 0 and up to 1, or 'auto' for 1/√units."
            )
        if type(self.seed) is not int or self.seed < 0:
            raise InputError(f"seed is {self.seed!r}: take a whole number from 0.")

    @property
    def words(self) -> str:
        density = "" if self.density == "auto" else f"density {self.density!r}, "
        return f"project {self.num_units} ({density}seed {self.seed})"

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        return _Projection(self, layer, math.prod(shape), working_dtype(dtype, layer, self.words))

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return ("unit",)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseMatrix:
    """One entry in each run of units for each column: where in the run, and its sign."""

    edges: tuple[int, ...]  # of the runs: the first unit of each, and the number of units
    places: NDArray[Any]  # runs by columns, counted from the start of the run
    signs: NDArray[Any]  # runs by columns, 1 or -1

    def scale(self, run: int) -> float:
        """The size of each entry in a run: √(1/(density × columns)), with the density of that run."""
        return math.sqrt((self.edges[run + 1] - self.edges[run]) / self.places.shape[1])


def draw_matrix(
    num_units: int, num_columns: int, *, density: float | Literal["auto"], seed: int
) -> SparseMatrix:
    """The same for the same numbers, always: only the raw bits of PCG64 and whole numbers go into it."""
    wanted = math.sqrt(num_units) if density == "auto" else density * num_units
    num_runs = min(num_units, max(1, round(wanted)))
    edges = tuple(run * num_units // num_runs for run in range(num_runs + 1))
    # NumPy promises the stream of a bit generator for good, but not what its distributions make of it.
    bits = numpy.random.PCG64(numpy.random.SeedSequence([seed, num_units]))
    drawn = bits.random_raw(num_columns * num_runs).reshape(num_columns, num_runs)
    lengths, half = numpy.diff(numpy.array(edges)).astype(numpy.uint64), numpy.uint64(32)
    places = ((drawn >> half) * lengths) >> half
    return SparseMatrix(
        edges=edges,
        places=numpy.ascontiguousarray(places.T, dtype=numpy.int32),
        signs=numpy.ascontiguousarray(1 - 2 * (drawn & numpy.uint64(1)).astype(numpy.int8).T),
    )


class _Projection:
    """Of one layer; one that is small already is only flattened."""

    def __init__(self, project: Project, layer: str, num_units: int, dtype: torch.dtype) -> None:
        self._layer, self._words, self._num_units, self._dtype = layer, project.words, num_units, dtype
        self.note = ""
        self._matrix: SparseMatrix | None = None
        if num_units <= project.num_units:
            self.note = (
                f"{project.words}: left as it is, flattened, as it has {num_units:,} units, no more than the "
                f"{project.num_units:,} asked for."
            )
            return
        self._matrix = draw_matrix(num_units, project.num_units, density=project.density, seed=project.seed)
        self._places = torch.from_numpy(self._matrix.places)
        self._signs = torch.from_numpy(self._matrix.signs).to(dtype)

    def __call__(self, values: Tensor) -> Tensor:
        rows = rows_of(values, self._num_units, self._layer, self._words)
        if self._matrix is None:
            return rows.to(self._dtype)
        if self._places.device != rows.device:
            self._places, self._signs = self._places.to(rows.device), self._signs.to(rows.device)
        edges = self._matrix.edges
        total = torch.zeros(self._places.shape[1], len(rows), dtype=self._dtype, device=rows.device)
        for run in range(len(edges) - 1):
            units = rows[:, edges[run] : edges[run + 1]].to(self._dtype)
            units = (units * self._matrix.scale(run)).t().contiguous()
            # The product with a sign is exact, so it does not matter whether it is fused with the sum.
            total.addcmul_(self._signs[run, :, None], units.index_select(0, self._places[run]))
        return total.t().contiguous()


_LEAST_ROWS: Final = 64  # that are decomposed together
_CALL_ROWS: Final = 32  # that are multiplied together
_USUAL_SAMPLES: Final = 2048


@dataclass(frozen=True, slots=True)
class RunningPCA:
    """Along the `num_components` directions in which the first samples vary most.

    - `num_samples`: how many of them are looked at; "auto" is ten for each component, and 2,048 at least. A
      data set with fewer is looked at as a whole.
    - `whiten`: each component is divided by its standard deviation.

    Computed in float64 on the CPU. While it looks, it needs memory for a few times as many rows of units as
    there are components; afterwards, for one of each component.
    """

    num_components: int
    num_samples: int | Literal["auto"] = "auto"
    whiten: bool = False

    def __post_init__(self) -> None:
        if type(self.num_components) is not int or self.num_components < 1:
            raise InputError(
                "RunningPCA takes the number of components, such as RunningPCA(64), "
                f"not {self.num_components!r}."
            )
        least, wanted = max(2, self.num_components), self.num_samples
        if wanted != "auto" and (type(wanted) is not int or wanted < least):
            raise InputError(
                f"num_samples is {self.num_samples!r}: for {self.num_components} components look at "
                f"{least} samples at least, or say 'auto'."
            )

    @property
    def words(self) -> str:
        white = ", whitened" if self.whiten else ""
        return f"pca {self.num_components} (first {self.samples_to_see} samples{white})"

    @property
    def samples_to_see(self) -> int:
        if self.num_samples == "auto":
            return max(_USUAL_SAMPLES, 10 * self.num_components)
        return self.num_samples

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        num_units = math.prod(shape)
        if num_units < self.num_components:
            raise InputError(
                f"{self.words} of layer {layer!r}: it has only {num_units:,} units. Ask for no more "
                "components than that, or leave the layer out."
            )
        return RunningComponents(self, layer, num_units, working_dtype(dtype, layer, self.words))

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return ("component",)


class RunningComponents:
    """The components of one layer: shown the first samples, finished, then applied; or restored.

    They are followed as data come: the singular vectors so far, the next rows and one row for the shift of
    the mean are decomposed together, and the longest directions stay (Ross, Lim, Lin and Yang, 2008). Rows
    are taken in blocks of one size, so that the size of the batches does not matter.
    """

    def __init__(self, pca: RunningPCA, layer: str, num_units: int, dtype: torch.dtype) -> None:
        self.num_samples, self.shape, self.dtype = pca.samples_to_see, (pca.num_components,), dtype
        self._pca, self._layer, self._num_units = pca, layer, num_units
        self._where = f"{pca.words} of layer {layer!r}"
        self._basis: dict[str, NDArray[Any]] = {}  # of what is finished: mean, axes, variances, shares
        self._num_done = 0  # samples in what follows
        self._mean = torch.zeros(num_units, dtype=torch.float64)
        self._axes = torch.empty(0, num_units, dtype=torch.float64)
        self._lengths = torch.empty(0, dtype=torch.float64)  # singular values
        self._total = 0.0  # of the squares of all units about their means
        self._block = self._axes  # rows that are too few yet
        self._columns = self._axes  # of the axes, as they are multiplied with

    def look(self, values: Tensor) -> None:
        """At more of the first samples; what comes after them is passed over."""
        rows = self._rows(values)[: self.num_samples - self._num_done - len(self._block)]
        num_bad = int((~rows.isfinite()).any(1).sum())
        if num_bad:
            raise InputError(
                f"{self._where}: {num_bad:,} of the first samples have values that are not finite. "
                "Leave them out, or replace the values with a function such as torch.nan_to_num first."
            )
        size = max(self._pca.num_components, _LEAST_ROWS)
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            self._block = torch.cat([self._block, some.to("cpu", torch.float64)])
            if len(self._block) >= size:
                self._decompose(self._block[:size])
                self._block = self._block[size:]

    def _decompose(self, block: Tensor) -> None:
        num_new, num_old = len(block), self._num_done
        self._num_done += num_new
        mean = block.mean(0)
        shift = (self._mean - mean) * math.sqrt(num_old * num_new / self._num_done)
        block = block - mean
        self._total += float(block.square().sum() + shift.square().sum())
        self._mean += (mean - self._mean) * (num_new / self._num_done)
        stretched = self._axes * self._lengths[:, None]
        together = torch.cat([stretched, block, shift[None]] if num_old else [block])
        # As precise as to decompose all of it, and several times as fast where there are many units.
        turned, small = torch.linalg.qr(together.t())
        vectors, lengths, _ = torch.linalg.svd(small, full_matrices=False)
        self._axes = (turned @ vectors[:, : self._pca.num_components]).t().contiguous()
        self._lengths = lengths[: self._pca.num_components]

    def finish(self) -> None:
        num_seen, wanted = self._num_done + len(self._block), max(2, self._pca.num_components)
        if num_seen < wanted:
            raise InputError(
                f"{self._where}: only {num_seen:,} samples were seen, and it takes {wanted:,} at least. "
                "Ask for fewer components, or extract from more samples."
            )
        if len(self._block):
            self._decompose(self._block)
        axes, squares = self._axes.numpy(), self._lengths.square().numpy()
        farthest = numpy.take_along_axis(axes, numpy.abs(axes).argmax(axis=1)[:, None], axis=1)
        self.restore(
            {
                "mean": self._mean.numpy(),
                "axes": axes * numpy.where(farthest < 0, -1.0, 1.0),  # the largest entry of each is positive
                "variances": squares / (num_seen - 1),  # along each axis
                "shares": squares / (self._total or 1.0),  # of the variance of all units
            }
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """What it found out, to be kept beside the features."""
        return dict(self._basis)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Instead of looking. A state that cannot be of this layer and transform is refused."""
        kept, units = self._pca.num_components, self._num_units
        shapes = {"mean": (units,), "axes": (kept, units), "variances": (kept,), "shares": (kept,)}
        for name, shape in shapes.items():
            given = numpy.asarray(state.get(name, 0))
            if given.shape != shape or given.dtype != numpy.float64 or not numpy.isfinite(given).all():
                raise InputError(
                    f"{self._where}: the state to restore is not its own: {name!r} is {given.dtype} of "
                    f"shape {given.shape}, and must be finite float64 of shape {shape}."
                )
        self._basis = {name: numpy.array(state[name], order="C") for name in shapes}
        self._mean = torch.from_numpy(self._basis["mean"])
        self._axes = torch.from_numpy(self._basis["axes"])
        self._block = self._axes[:0]
        self._columns = self._axes.t().contiguous()
        if self._pca.whiten:
            variances = torch.from_numpy(self._basis["variances"])
            # Along a direction without variance all is rounding: it must not be blown up.
            least = float(variances[0]) * torch.finfo(torch.float64).eps * units
            self._columns /= torch.where(variances > least, variances.sqrt(), torch.inf)

    def __call__(self, values: Tensor) -> Tensor:
        assert self._basis, "it is not finished"
        rows, results = self._rows(values), [torch.empty(0, *self.shape, dtype=torch.float64)]
        for start in range(0, len(rows), _CALL_ROWS):
            block = rows[start : start + _CALL_ROWS].to("cpu", torch.float64) - self._mean
            # A product takes another path for fewer rows, with other last bits.
            full = torch.nn.functional.pad(block, (0, 0, 0, _CALL_ROWS - len(block)))
            results.append((full @ self._columns)[: len(block)])
        return torch.cat(results).to(self.dtype)

    def _rows(self, values: Tensor) -> Tensor:
        return rows_of(values.detach(), self._num_units, self._layer, self._pca.words)
