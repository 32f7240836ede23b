"""RunningPCA: principal components of the first samples, found on the way, and every sample along them.

The singular vectors so far, the next rows and one row for the shift of the mean are decomposed together, and
the longest directions stay (Ross, Lim, Lin and Yang, 2008). Rows are taken in blocks of one size, so that the
size of the batches does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.errors import InputError
from torcheer.features.transforms.transform import Applied, rows_of, working_dtype

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
        if self.num_samples == "auto":
            return
        if type(self.num_samples) is not int or self.num_samples < max(2, self.num_components):
            raise InputError(
                f"num_samples is {self.num_samples!r}: for {self.num_components} components look at "
                f"{max(2, self.num_components)} samples at least, or say 'auto'."
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
    """The components of one layer."""

    def __init__(self, pca: RunningPCA, layer: str, num_units: int, dtype: torch.dtype) -> None:
        self.num_samples = pca.samples_to_see
        self.shape: tuple[int, ...] = (pca.num_components,)
        self.dtype = dtype
        self._pca, self._num_units = pca, num_units
        self._where = f"{pca.words} of layer {layer!r}"
        self._layer = layer
        self._running: _RunningBasis | None = _RunningBasis(pca.num_components, num_units)
        self._basis: dict[str, Tensor] = {}  # in float64: mean, axes, variances, shares
        self._columns = torch.empty(0)  # of the axes, as they are multiplied with

    def look(self, values: Tensor) -> None:
        if self._running is None:
            raise InputError(f"{self._where}: it is fitted already, and cannot look at more samples.")
        rows = self._rows(values)[: self.num_samples - self._running.num_seen]
        num_bad = int((~rows.isfinite()).any(1).sum())
        if num_bad:
            raise InputError(
                f"{self._where}: {num_bad:,} of the first samples have values that are not finite. "
                "Leave them out, or replace the values with a function such as torch.nan_to_num first."
            )
        self._running.add(rows)

    def finish(self) -> None:
        num_seen = 0 if self._running is None else self._running.num_seen
        wanted = max(2, self._pca.num_components)
        if self._running is None or num_seen < wanted:
            raise InputError(
                f"{self._where}: only {num_seen:,} samples were seen, and it takes {wanted:,} at least. "
                "Ask for fewer components, or extract from more samples."
            )
        self._take(self._running.finish())

    def __call__(self, values: Tensor) -> Tensor:
        if not self._basis:
            raise InputError(
                f"{self._where}: let it look at the first {self.num_samples:,} samples and finish it, "
                "or restore its state, before it is applied."
            )
        rows, results = self._rows(values), [torch.empty(0, *self.shape, dtype=torch.float64)]
        for start in range(0, len(rows), _CALL_ROWS):
            block = rows[start : start + _CALL_ROWS].to("cpu", torch.float64) - self._basis["mean"]
            # A product takes another path for fewer rows, with other last bits.
            full = torch.nn.functional.pad(block, (0, 0, 0, _CALL_ROWS - len(block)))
            results.append((full @ self._columns)[: len(block)])
        return torch.cat(results).to(self.dtype)

    def state(self) -> dict[str, NDArray[Any]]:
        if not self._basis:
            raise InputError(f"{self._where}: it has no state before it is finished.")
        return {name: values.numpy() for name, values in self._basis.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        kept, units = self._pca.num_components, self._num_units
        found: dict[str, Tensor] = {}
        for name, shape in (
            ("mean", (units,)),
            ("axes", (kept, units)),
            ("variances", (kept,)),
            ("shares", (kept,)),
        ):
            if name not in state:
                raise InputError(f"{self._where}: the state to restore has no {name!r}.")
            given = numpy.asarray(state[name])
            if given.shape != shape or given.dtype != numpy.float64 or not numpy.isfinite(given).all():
                raise InputError(
                    f"{self._where}: the state to restore is not its own: {name!r} is {given.dtype} of "
                    f"shape {given.shape}, and must be finite float64 of shape {shape}."
                )
            found[name] = torch.from_numpy(numpy.array(given, order="C"))
        self._take(found)

    def _take(self, basis: dict[str, Tensor]) -> None:
        self._basis, self._running = basis, None
        self._columns = basis["axes"].t().contiguous()
        if self._pca.whiten:
            variances = basis["variances"]
            # Along a direction without variance all is rounding: it must not be blown up.
            least = float(variances[0]) * torch.finfo(torch.float64).eps * self._num_units
            self._columns /= torch.where(variances > least, variances.sqrt(), torch.inf)

    def _rows(self, values: Tensor) -> Tensor:
        return rows_of(values.detach(), self._num_units, self._layer, self._pca.words)


class _RunningBasis:
    """Gathers rows into blocks, and follows the longest directions from block to block."""

    def __init__(self, num_components: int, num_units: int) -> None:
        self._num_kept = num_components
        self._num_done = 0  # samples in what follows
        self._mean = torch.zeros(num_units, dtype=torch.float64)
        self._axes = torch.empty(0, num_units, dtype=torch.float64)
        self._lengths = torch.empty(0, dtype=torch.float64)  # singular values
        self._total = 0.0  # of the squares of all units about their means
        self._block = torch.empty(0, num_units, dtype=torch.float64)  # that is not full yet

    @property
    def num_seen(self) -> int:
        return self._num_done + len(self._block)

    def add(self, rows: Tensor) -> None:
        size = max(self._num_kept, _LEAST_ROWS)
        while len(rows):
            fresh = rows[: size - len(self._block)]
            self._block = torch.cat([self._block, fresh.to("cpu", torch.float64)])
            rows = rows[len(fresh) :]
            if len(self._block) == size:
                self._decompose()

    def finish(self) -> dict[str, Tensor]:
        if len(self._block):
            self._decompose()
        axes, squares = self._axes.numpy(), self._lengths.square()
        farthest = numpy.abs(axes).argmax(axis=1)
        axes = axes * numpy.where(axes[numpy.arange(len(axes)), farthest] < 0, -1.0, 1.0)[:, None]
        return {
            "mean": self._mean,
            "axes": torch.from_numpy(axes),  # components by units; the largest entry of each is positive
            "variances": squares / (self._num_done - 1),  # along each axis
            "shares": squares / (self._total or 1.0),  # of the variance of all units
        }

    def _decompose(self) -> None:
        num_new, num_old = len(self._block), self._num_done
        self._num_done += num_new
        mean = self._block.mean(0)
        shift = (self._mean - mean) * math.sqrt(num_old * num_new / self._num_done)
        block = self._block - mean
        self._total += float(block.square().sum() + shift.square().sum())
        self._mean += (mean - self._mean) * (num_new / self._num_done)
        stretched = self._axes * self._lengths[:, None]
        together = torch.cat([stretched, block, shift[None]] if num_old else [block])
        # As precise as to decompose all of it, and several times as fast where there are many units.
        turned, small = torch.linalg.qr(together.t())
        vectors, lengths, _ = torch.linalg.svd(small, full_matrices=False)
        self._axes = (turned @ vectors[:, : self._num_kept]).t().contiguous()
        self._lengths = lengths[: self._num_kept]
        self._block = self._block[:0]
