"""Figures of every layer: mean, spread, range, zeros, dead units, saturation."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from torcheer.capture.analysis.plain_values import CHUNK, as_plain, condensed
from torcheer.capture.op import Op
from torcheer.capture.tape import Record
from torcheer.errors import InputError, LayerNotFoundError
from torcheer.graph import Column, RowTable, number_text, shape_text, share_text

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerStats:
    """One layer, or one pass of it. Figures are of the finite values; of complex ones, of magnitudes."""

    layer: str
    type: str
    module: str
    shape: tuple[int, ...] | None  # None where the passes of the layer differ
    num_values: int
    mean: float | None
    std: float | None  # as torch.std: divided by one less than the number of values
    min: float | None
    max: float | None
    zeros: float | None  # the share of values that are exactly zero
    nonfinite: int
    units: int | None  # channels or features; None where a layer has no units of its own
    dead: int | None  # units that are exactly zero for every sample and position
    saturated: float | None  # the share of values at the ends of a bounded activation


class StatsTable(RowTable[LayerStats]):
    """One row a layer. `table['relu_1']` takes the keys of the history; `sort('dead', descending=True)`."""


_COLUMNS = (
    *(Column(name=name, to_right=False) for name in ("layer", "type", "module")),
    Column(name="shape", show=shape_text, to_right=False),
    Column(name="num_values"),
    *(Column(name=name, show=number_text) for name in ("mean", "std", "min", "max")),
    Column(name="zeros", show=share_text),
    *(Column(name=name) for name in ("nonfinite", "units", "dead")),
    Column(name="saturated", show=share_text),
)


def layer_stats(history: ModelHistory, of: str = "values", *, by_pass: bool = False) -> StatsTable:
    """A table of all layers whose values were saved; the passes of a looped layer are put together.

    Buffers are left out: they are state of the model, and no layer made them.

    `of='gradients'` looks at the gradients: a dead unit is then one that gets none at all. `by_pass` gives
    each pass a row of its own.
    """
    if of not in ("values", "gradients"):
        raise InputError(f"stats are of 'values' or of 'gradients', not of {of!r}.")
    dims = unit_dims(history)
    running: dict[str, Running] = {}
    row_of_op: dict[int, str] = {}
    unseen: set[str] = set()
    for op in history.layer_list:
        if op.is_buffer_layer:
            continue
        name = op.layer_label if by_pass else op.layer_label_no_pass
        value = as_plain(op.grad_contents if of == "gradients" else op.tensor_contents)
        if value is None:
            unseen.add(name)
            continue
        row_of_op[op.index] = name
        running.setdefault(name, Running(name, op, of)).add(value, dims[op.index])
    if not running:
        raise InputError(_why_empty(history, of))
    rows = {name: figures.row() for name, figures in running.items()}
    num_unseen = len(unseen - rows.keys())
    foot = f"{num_unseen} layers are not shown: their {of} were not saved." if num_unseen else ""
    return StatsTable(list(rows.values()), _COLUMNS, _finder(history, rows, row_of_op, of), foot)


class Running:
    """The figures of one row, while values are added. A plain record: it is filled piece by piece."""

    def __init__(self, name: str, op: Op, of: str) -> None:
        self._name = name
        self._op = op
        self._has_units = has_units(op._record)
        self._ends = ends_of(op._record) if of == "values" else None
        self._shapes: list[tuple[int, ...]] = []
        self._num_values = self._num_finite = self._num_zeros = self._num_saturated = 0
        self._mean = self._sum_of_squares = 0.0
        self._min: float = math.inf
        self._max: float = -math.inf
        self._alive: Tensor | None = None
        self._is_whole = True  # False where there is no telling units apart

    def add(self, value: Tensor, unit_dim: int | None) -> None:
        shape = tuple(value.shape)
        if shape not in self._shapes:
            self._shapes.append(shape)
        zeros_before = self._num_zeros
        numbers, times = condensed(value)
        for part in torch.split(numbers, CHUNK):
            self._add_numbers(part, times)
        if self._has_units:
            as_made = shape == self._op.tensor_shape  # a postfunc may have changed it
            dim = unit_dim if unit_dim is not None and as_made else usual_unit_dim(shape)
            self._add_units(value, dim, self._num_zeros - zeros_before)

    def _add_numbers(self, part: Tensor, times: int) -> None:
        self._num_values += times * part.numel()
        if not part.numel():
            return
        numbers = part.abs() if part.is_complex() else part
        self._num_zeros += times * (part.numel() - int(torch.count_nonzero(part)))
        exact = numbers.to(torch.float64)
        if part.is_floating_point() or part.is_complex():
            finite = torch.isfinite(exact)
            if not bool(finite.all()):
                numbers, exact = numbers[finite], exact[finite]
        if exact.numel():
            self._merge(exact, times)
            low, high = torch.aminmax(numbers.to(torch.uint8) if numbers.dtype == torch.bool else numbers)
            self._min, self._max = min(self._min, low.item()), max(self._max, high.item())
            self._num_saturated += 0 if self._ends is None else times * self._ends.num_saturated(exact)

    def _merge(self, exact: Tensor, times: int) -> None:
        """Add the mean and the squares of a piece to those so far, without losing digits."""
        spread, mean = torch.var_mean(exact, correction=0)
        num_new = times * exact.numel()
        num_all = self._num_finite + num_new
        step = mean.item() - self._mean
        self._mean += step * num_new / num_all
        self._sum_of_squares += spread.item() * num_new + step * step * self._num_finite * num_new / num_all
        self._num_finite = num_all

    def _add_units(self, value: Tensor, dim: int | None, num_zeros: int) -> None:
        if dim is None or dim == _NOT_TOLD or not value.numel():
            self._is_whole = False
            return
        num_units = value.shape[dim]
        if num_zeros * num_units < value.numel():  # not enough zeros for a single dead unit
            alive = torch.ones(num_units, dtype=torch.bool, device="cpu")
        else:
            others = [d for d in range(value.dim()) if d != dim]
            nonzero = value != 0
            alive = (nonzero.any(dim=others) if others else nonzero).cpu()
        if self._alive is None:
            self._alive = alive
        elif self._alive.shape == alive.shape:
            self._alive = self._alive | alive
        else:
            self._is_whole = False

    def row(self) -> LayerStats:
        num, alive = self._num_finite, self._alive if self._is_whole else None
        return LayerStats(
            layer=self._name,
            type=self._op.layer_type,
            module=self._op.containing_module_origin,
            shape=self._shapes[0] if len(self._shapes) == 1 else None,
            num_values=self._num_values,
            mean=self._mean if num else None,
            std=math.sqrt(self._sum_of_squares / (num - 1)) if num > 1 else None,
            min=self._min if num else None,
            max=self._max if num else None,
            zeros=self._num_zeros / self._num_values if self._num_values else None,
            nonfinite=self._num_values - num,
            units=None if alive is None else len(alive),
            dead=None if alive is None else int((~alive).sum()),
            saturated=self._num_saturated / num if num and self._ends is not None else None,
        )


def _finder(history: ModelHistory, rows: dict[str, LayerStats], row_of_op: dict[int, str], of: str) -> Any:
    # The names alone: a table must not keep the values of a pass alive.
    lookup = history._lookup

    def find(key: str) -> LayerStats:
        if key in rows:
            return rows[key]
        op = lookup.find(key)
        if op not in row_of_op:
            raise LayerNotFoundError(
                f"{key!r} is not in this table: its {of} were not saved, or it is a buffer."
            )
        return rows[row_of_op[op]]

    return find


def _why_empty(history: ModelHistory, of: str) -> str:
    if of == "gradients":
        return (
            "this pass has no gradients: capture with save_gradients=True, and call backward() on a loss "
            "made of history.output."
        )
    if any(op.has_saved_activations for op in history.layer_list):
        return "there are no numbers to look at: activation_postfunc returned no tensors."
    return "no value of this pass was saved: capture with layers_to_save='all', or name some layers."


class Ends(NamedTuple):
    """The ends of a bounded activation; a value within `margin` of an end is saturated."""

    low: float | None  # None: no end that counts
    high: float | None
    margin: float

    def num_saturated(self, values: Tensor) -> int:
        low = 0 if self.low is None else int((values <= self.low + self.margin).sum())
        return low + (0 if self.high is None else int((values >= self.high - self.margin).sum()))


def ends_of(record: Record) -> Ends | None:
    """The ends at which values of an op saturate; None where the notion has no meaning.

    A smooth activation only comes near its ends: the outermost hundredth of its range counts. A hard one
    reaches them. The zero of a rectifier such as relu6 is its off state, and not counted.
    """
    limits = _limits(record) if record.trait.type in _CLAMPS else None
    if limits is None or limits in ((None, None), (0, None)):  # the last is a plain relu
        return _ENDS.get(record.trait.type)
    return Ends(None if limits[0] == 0 else limits[0], limits[1], 0.0)


def has_units(record: Record) -> bool:
    """Whether an op has units that can be dead: rectifiers, other activations, and ops with parameters.

    Masks, dropout, views and arithmetic have none of their own.
    """
    layer_type = record.trait.type
    limits = _limits(record) if layer_type in _CLAMPS else None
    is_rectifier = layer_type in _RECTIFIERS or (limits is not None and limits[0] == 0)
    has_params = any(parent < 0 for parent in record.parents)
    return is_rectifier or layer_type in _SMOOTH or (has_params and layer_type in _LAYERS)


_RECTIFIERS = frozenset(
    "relu relu6 threshold hardswish hardshrink softshrink hardsigmoid rrelu clampmin gelu silu mish".split()
)
_SMOOTH = frozenset(
    "sigmoid tanh elu selu celu leakyrelu prelu softplus softsign logsigmoid tanhshrink glu".split()
)
_LAYERS = frozenset(
    "linear bilinear addmm mm matmul conv1d conv2d conv3d convtranspose1d convtranspose2d convtranspose3d "
    "convolution batchnorm layernorm groupnorm instancenorm rmsnorm embedding embeddingbag lstm gru rnntanh "
    "rnnrelu lstmcell grucell rnntanhcell rnnrelucell".split()
)
_CLAMPS = frozenset(["clamp", "clip", "hardtanh"])


def _limits(record: Record) -> tuple[float | None, float | None] | None:
    """The lower and upper limit of a clamp; None where a limit is a tensor."""
    low, high = (-1.0, 1.0) if record.trait.type == "hardtanh" else (None, None)
    given = {"min": low, "max": high, **dict(zip(("min", "max"), record.args[1:3], strict=False))}
    given |= {name.removesuffix("_val"): value for name, value in (record.kwargs or {}).items()}
    limits = given["min"], given["max"]
    return limits if all(value is None or type(value) in (int, float) for value in limits) else None


_ENDS: dict[str, Ends] = {
    "sigmoid": Ends(0.0, 1.0, 0.01),
    "tanh": Ends(-1.0, 1.0, 0.02),
    "softsign": Ends(-1.0, 1.0, 0.02),
    "hardsigmoid": Ends(0.0, 1.0, 0.0),
    "relu6": Ends(None, 6.0, 0.0),
}


# Channels stand before the positions: as many dimensions from the end as the map has.
_MAP = re.compile(
    r"(?:conv|convtranspose|(?:adaptive)?(?:max|avg|lp)pool|instancenorm)([123])d(?:withindices)?"
)
_CHANNEL_SECOND = frozenset(
    "batchnorm nativebatchnorm cudnnbatchnorm instancenorm groupnorm nativegroupnorm convolution prelu "
    "localresponsenorm pixelshuffle".split()
)
_FEATURE_LAST = frozenset(
    "linear bilinear layernorm nativelayernorm rmsnorm embedding embeddingbag scaleddotproductattention "
    "matmul mm bmm addmm baddbmm einsum lstm gru rnntanh rnnrelu lstmcell grucell rnntanhcell rnnrelucell "
    "softmax logsoftmax mv addmv".split()
)
# They move dimensions, or cut them anew.
_MOVES = frozenset(
    "permute transpose swapaxes swapdims t mt movedim moveaxis flatten view reshape unflatten viewas "
    "reshapeas ravel getitem squeeze unsqueeze".split()
)
_NOT_TOLD = -1


def unit_dims(history: ModelHistory) -> list[int | None]:
    """For each op the dimension of its units; None where nothing before it tells."""
    tape = history._tape
    dims: list[int | None] = []
    shapes = [tuple(tape.meta(op).shape) for op in range(len(tape.records))]
    for op, record in enumerate(tape.records):
        told = _told_by_type(record.trait.type, len(shapes[op]))
        dims.append(told if told is not None else _inherited(record, shapes[op], dims, shapes))
    return dims


def usual_unit_dim(shape: Sequence[int]) -> int | None:
    """Where nothing tells: channels of images and volumes, features of all else."""
    if not shape:
        return None
    return 1 if len(shape) > 3 else len(shape) - 1


def _told_by_type(layer_type: str, num_dims: int) -> int | None:
    is_map = _MAP.fullmatch(layer_type)
    if is_map is not None:
        dim = num_dims - 1 - int(is_map[1])
    elif layer_type in _CHANNEL_SECOND:
        dim = 1
    elif layer_type in _FEATURE_LAST:
        dim = num_dims - 1
    else:
        return None
    return dim if 0 <= dim < num_dims else None


def _inherited(
    record: Record, shape: tuple[int, ...], dims: list[int | None], shapes: list[tuple[int, ...]]
) -> int | None:
    """That of the first input which has one and as many dimensions; moved, by its size if that tells."""
    parent = next((p for p in record.parents if p >= 0 and dims[p] is not None), None)
    dim = None if parent is None else dims[parent]
    if parent is None or dim is None or len(shapes[parent]) != len(shape):
        return None
    if record.trait.type not in _MOVES or dim == _NOT_TOLD:
        return dim
    size = shapes[parent][dim]
    if sorted(shapes[parent]) != sorted(shape):
        return None
    return shape.index(size) if shape.count(size) == 1 else _NOT_TOLD
