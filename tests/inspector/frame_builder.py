"""Frames made by hand, from arrays, as the training would write them: for tests of what reads frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.inspector.frame_format import (
    DTYPE_CODES,
    FRAME,
    MOST_DIMS,
    ROW_TYPE,
    Frame,
    FrameFlag,
    Layout,
    Plan,
    Role,
    Row,
    RowFlag,
    read_frame,
)

_RUN = 8

Arrays = Mapping[str, NDArray[Any] | None]


def row_of(name: str, module: str = "Linear", unit_bytes: int = 0, excerpt_bytes: int = 0) -> Row:
    """The row of a name such as `features.0.weight.Grad`, by the way it ends."""
    layer, variable, role = _parted(name)
    return Row(
        name=name,
        layer=layer,
        variable=variable,
        role=role,
        module=module,
        unit_bytes=unit_bytes,
        excerpt_bytes=excerpt_bytes,
    )


def plan_of(rows: Sequence[Row | str], sample_elements: int = 1024, number: int = 0) -> Plan:
    known = tuple(row_of(row) if isinstance(row, str) else row for row in rows)
    return Plan(number=number, rows=known, sample_elements=sample_elements, num_slots=4)


def frame_of(
    plan: Plan,
    arrays: Arrays,
    *,
    step: int = 0,
    units: Mapping[str, NDArray[Any]] | None = None,
    inexact: Sequence[str] = (),
    only_norm: Sequence[str] = (),
    slot: memoryview | None = None,
) -> Frame:
    """A frame that has seen these tensors, by the names of rows; None, or no array, for one that was not.

    Larger ones are sampled, with exact figures but for those in `inexact`, and an exact norm alone for those
    in `only_norm`. `slot` may be one of a ring.
    """
    layout = Layout(plan)
    slot = memoryview(bytearray(layout.num_bytes)) if slot is None else slot
    units = units or {}
    flags = (FrameFlag.UNITS if units else 0) | FrameFlag.EXCERPTS * any(
        row.excerpt_bytes for row in plan.rows
    )
    FRAME.pack_into(slot, 0, step, step, 1.7e9 + step, flags)
    heads = numpy.frombuffer(slot, ROW_TYPE, layout.num_rows, layout.rows_at)
    samples = numpy.frombuffer(slot, "<f4", layout.num_rows * layout.num_sampled, layout.samples_at)
    samples = samples.reshape(layout.num_rows, layout.num_sampled)
    heads[:] = 0
    samples[:] = numpy.nan  # what is beyond a sample is anything
    for index, row in enumerate(plan.rows):
        array = arrays.get(row.name)
        if array is None:
            continue
        _fill(heads[index : index + 1], samples[index], array, row.name in inexact)
        if row.name in only_norm:
            heads["flags"][index] &= ~RowFlag.MOMENTS & 0xFF
        if row.excerpt_bytes:
            _put_excerpt(heads[index : index + 1], slot, layout.excerpts_at[index], array, row)
        if row.name in units:
            marks = numpy.ascontiguousarray(units[row.name], dtype=numpy.uint8)
            assert len(marks) <= row.unit_bytes, "give the row more unit_bytes"
            slot[layout.units_at[index] : layout.units_at[index] + len(marks)] = memoryview(marks)
            heads["num_units"][index] = len(marks)
    return read_frame(slot, layout)


def sample_of(array: NDArray[Any], sample_elements: int) -> NDArray[numpy.float32]:
    """The whole, or runs of 8 spread over it."""
    flat = numpy.ravel(array)
    if flat.size > sample_elements:
        num_runs = sample_elements // _RUN
        starts = numpy.arange(num_runs) * (flat.size // num_runs)
        flat = flat[(starts[:, None] + numpy.arange(_RUN)).ravel()]
    with numpy.errstate(over="ignore"):
        return flat.astype(numpy.float32)


def _fill(head: NDArray[Any], sample: NDArray[numpy.float32], array: NDArray[Any], is_inexact: bool) -> None:
    taken = sample_of(array, len(sample))
    sample[: len(taken)] = taken
    head["flags"] = RowFlag.SEEN
    head["dtype"] = DTYPE_CODES[str(array.dtype)]
    head["num_dims"] = min(array.ndim, MOST_DIMS)
    head["num_sampled"], head["num_elements"] = len(taken), array.size
    head["shape"][0, : array.ndim] = array.shape
    if array.size <= len(sample) or is_inexact:
        return
    finite = array[numpy.isfinite(array)]
    head["flags"] |= RowFlag.NORM | RowFlag.MOMENTS
    head["num_nan"] = numpy.isnan(array).sum()
    head["num_inf"] = numpy.isinf(array).sum()
    wide = finite.astype(numpy.longdouble)
    head["norm"] = numpy.sqrt(numpy.square(wide).sum())
    for name in ("mean", "std", "low", "high"):
        head[name] = numpy.nan
    if finite.size:
        head["mean"], head["low"], head["high"] = wide.mean(), finite.min(), finite.max()
    if finite.size > 1:
        head["std"] = wide.std(ddof=1)


def _put_excerpt(head: NDArray[Any], slot: memoryview, place: int, array: NDArray[Any], row: Row) -> None:
    assert array.nbytes <= row.excerpt_bytes, "give the row more excerpt_bytes"
    slot[place : place + array.nbytes] = numpy.ascontiguousarray(array).tobytes()
    head["num_excerpt_dims"] = array.ndim
    head["excerpt_shape"][0, : array.ndim] = array.shape
    head["excerpt_steps"][0, : array.ndim] = 1


def _parted(name: str) -> tuple[str, str, Role]:
    parts = name.split(".")
    if parts[-1] == "Act":
        return name.removesuffix("Act").rstrip("."), "Act", "activation"
    role: Role = "state"
    if parts[-1] == "Grad":
        if len(parts) > 1 and parts[-2] in ("weight", "bias"):
            return ".".join(parts[:-2]), ".".join(parts[-2:]), "weight_gradient"
        return name.removesuffix("Grad").rstrip("."), "Grad", "gradient"
    if parts[-1] == "Delta":
        role = "update"
    elif parts[-1] in ("weight", "bias"):
        return ".".join(parts[:-1]), parts[-1], "weight"
    return ".".join(parts[:-2]), ".".join(parts[-2:]), role
