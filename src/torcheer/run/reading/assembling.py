"""Put figures of many blocks together, of several plans and children, by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.run.reading.figureblocks import BlockFigures

MOST_CELLS: Final = 64 << 20  # of a table; above it, steps are left out


class Piece(NamedTuple):
    """What was read of a block, and which lines of the whole it belongs to."""

    figures: BlockFigures
    lines: NDArray[numpy.intp]


def piece_of(figures: BlockFigures, lines: NDArray[numpy.intp]) -> Piece:
    """`lines` below 0 are left out."""
    kept = lines >= 0
    if kept.all():
        return Piece(figures, lines)
    return Piece(figures._replace(values=figures.values[kept]), lines[kept])


def assembled(pieces: Sequence[Piece], num_lines: int) -> BlockFigures:
    """Rising steps. Pieces come in the order of time: of a step that is there twice, the later holds."""
    pieces = [piece for piece in pieces if len(piece.figures.steps)]
    if not pieces:
        return frozen(
            BlockFigures(
                numpy.empty(0, numpy.int64),
                numpy.empty(0, numpy.float64),
                numpy.empty((num_lines, 0), numpy.float32),
            )
        )
    all_steps = numpy.concatenate([piece.figures.steps for piece in pieces])
    is_rising = bool(numpy.all(all_steps[1:] > all_steps[:-1]))
    steps = all_steps if is_rising else numpy.unique(all_steps)
    chosen = _chosen(len(steps), num_lines)
    if chosen is not None:
        steps, is_rising = steps[chosen], False
    times = numpy.zeros(len(steps))
    values = numpy.full((num_lines, len(steps)), numpy.nan, numpy.float32)
    at = 0
    for figures, lines in pieces:
        count = len(figures.steps)
        if is_rising:
            times[at : at + count] = figures.times
            _put(values, lines, slice(at, at + count), figures.values)
            at += count
        else:
            _put_by_step(steps, times, values, Piece(figures, lines))
    return frozen(BlockFigures(steps, times, values))


def frozen(figures: BlockFigures) -> BlockFigures:
    """They may be shared with others that read this run."""
    for array in figures:
        array.flags.writeable = False
    return figures


def _put_by_step(
    steps: NDArray[numpy.int64],
    times: NDArray[numpy.float64],
    values: NDArray[numpy.float32],
    piece: Piece,
) -> None:
    figures, lines = piece
    first = int(numpy.searchsorted(steps, figures.steps[0]))
    stretch = slice(first, first + len(figures.steps))
    if numpy.array_equal(steps[stretch], figures.steps):
        # So it is with several children that watched the same steps: far quicker than one by one.
        times[stretch] = figures.times
        _put(values, lines, stretch, figures.values)
        return
    places = numpy.searchsorted(steps, figures.steps)
    places[places == len(steps)] = 0
    is_in = steps[places] == figures.steps
    times[places[is_in]] = figures.times[is_in]
    values[lines[:, None], places[is_in][None, :]] = figures.values[:, is_in]


def _put(values: NDArray[numpy.float32], lines: NDArray[numpy.intp], place: slice, given: Any) -> None:
    if len(lines) and bool(numpy.all(lines == numpy.arange(lines[0], lines[0] + len(lines)))):
        values[lines[0] : lines[0] + len(lines), place] = given  # rows of one plan stand together
    else:
        values[lines, place] = given


def _chosen(num_steps: int, num_lines: int) -> NDArray[numpy.intp] | None:
    """Steps that stay, evenly, with the first and the last; None for all of them."""
    most = max(2, MOST_CELLS // max(num_lines, 1))
    if num_steps <= most:
        return None
    return numpy.linspace(0, num_steps - 1, most).round().astype(numpy.intp)
