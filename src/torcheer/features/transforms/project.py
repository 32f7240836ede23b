"""Project: fewer units that keep the distances between samples, by a very sparse random matrix.

The units are cut into as many runs of neighbours as a column of the matrix has entries, and each column has
one entry in each run, at a random place and with a random sign. Every unit is so taken with the same weight
on average, no place twice, and the matrix is as good as one whose entries are all drawn by themselves.

A column is added up run by run, and each step works on all samples and columns element by element. So the
result for a sample is the same to the last bit whatever else is in the batch, on any number of threads, and
on any machine: nothing is left for a library to add up in an order of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.errors import InputError
from torcheer.features.transforms.transform import Applied, rows_of, working_dtype

_HALF: Final = numpy.uint64(32)  # bits
_ONE: Final = numpy.uint64(1)


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
        if self.density != "auto" and not (_is_number(self.density) and 0 < self.density <= 1):
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
        num_units = math.prod(shape)
        working = working_dtype(dtype, layer, self.words)
        if num_units <= self.num_units:
            return _Kept(layer, self.words, num_units, self.num_units, working)
        matrix = draw_matrix(num_units, self.num_units, density=self.density, seed=self.seed)
        return _Projection(layer, self.words, matrix, working)

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return ("unit",)


def units_keeping_distances(num_samples: int, *, eps: float = 0.1) -> int:
    """To how many units to project so that all squared distances stay within 1 ± eps, almost surely.

    After Johnson and Lindenstrauss. It does not depend on how many units a layer has.
    """
    if num_samples < 2 or not 0 < eps < 1:
        raise InputError(f"{num_samples} samples, eps {eps}: there are two samples at least, 0 < eps < 1.")
    return math.ceil(4 * math.log(num_samples) / (eps**2 / 2 - eps**3 / 3))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseMatrix:
    """One entry in each run of units for each column: where in the run, and its sign."""

    edges: tuple[int, ...]  # of the runs: the first unit of each, and the number of units
    places: NDArray[Any]  # runs by columns, counted from the start of the run
    signs: NDArray[Any]  # runs by columns, 1 or -1

    @property
    def num_units(self) -> int:
        return self.edges[-1]

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
    lengths = numpy.diff(numpy.array(edges)).astype(numpy.uint64)
    places = ((drawn >> _HALF) * lengths) >> _HALF
    return SparseMatrix(
        edges=edges,
        places=numpy.ascontiguousarray(places.T, dtype=numpy.int32),
        signs=numpy.ascontiguousarray(1 - 2 * (drawn & _ONE).astype(numpy.int8).T),
    )


class _Projection:
    def __init__(self, layer: str, words: str, matrix: SparseMatrix, dtype: torch.dtype) -> None:
        self._layer, self._words, self._dtype = layer, words, dtype
        self._edges, self._num_units = matrix.edges, matrix.num_units
        self._scales = [matrix.scale(run) for run in range(len(matrix.edges) - 1)]
        self._places = torch.from_numpy(matrix.places)
        self._signs = torch.from_numpy(matrix.signs).to(dtype)

    def __call__(self, values: Tensor) -> Tensor:
        rows = rows_of(values, self._num_units, self._layer, self._words)
        if self._places.device != rows.device:
            self._places, self._signs = self._places.to(rows.device), self._signs.to(rows.device)
        num_columns = self._places.shape[1]
        total = torch.zeros(num_columns, len(rows), dtype=self._dtype, device=rows.device)
        for run, scale in enumerate(self._scales):
            units = rows[:, self._edges[run] : self._edges[run + 1]].to(self._dtype)
            units = (units * scale).t().contiguous()
            # The product with a sign is exact, so it does not matter whether it is fused with the sum.
            total.addcmul_(self._signs[run, :, None], units.index_select(0, self._places[run]))
        return total.t().contiguous()


@dataclass(frozen=True, slots=True)
class _Kept:
    """A layer that is small already."""

    layer: str
    words: str
    num_units: int
    wanted: int
    dtype: torch.dtype

    @property
    def note(self) -> str:
        return (
            f"{self.words}: left as it is, flattened, as it has {self.num_units:,} units, "
            f"no more than the {self.wanted:,} asked for."
        )

    def __call__(self, values: Tensor) -> Tensor:
        return rows_of(values, self.num_units, self.layer, self.words).to(self.dtype)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
