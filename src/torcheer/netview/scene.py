"""The scene of a network: variables and their order, places of layers, shapes as grids of units. No torch."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from torcheer.errors import InputError
from torcheer.run import Grid, NetLayer, NetScene, Place

STATE: Final = "State"
LEARN: Final = "Learn"
WEIGHTS: Final = "Weights of unit"
OTHERS: Final = "Others"
GROUPS: Final = (STATE, LEARN, WEIGHTS, OTHERS)

WEIGHT: Final = "Wt"  # the weight itself, beside Grad, Delta and what the optimizer keeps
RECEIVED: Final = "r."
SENT: Final = "s."


class About(NamedTuple):
    """Where a variable is shown, and what it is, in a sentence for people."""

    group: str
    about: str


_OF_LAYERS: Final = {
    "Act": About(STATE, "What the unit gives, after its nonlinearity."),
    "Net": About(STATE, "What goes into the nonlinearity of the unit."),
    "Attn": About(STATE, "How much each place attends to each other one."),
    "Bias": About(STATE, "What is added to the input of the unit, whatever it receives."),
    "Grad": About(LEARN, "The gradient of the loss with respect to Act."),
    "Net.Grad": About(LEARN, "The gradient of the loss with respect to Net."),
    "Act.Grad": About(LEARN, "The gradient of the loss with respect to Act."),
}
_OF_WEIGHTS: Final = {
    WEIGHT: "the weight",
    "Grad": "the gradient of the loss with respect to the weight",
    "Delta": "what the last step changed in the weight",
    "exp_avg": "the running mean of the gradient, which Adam and its kin keep",
    "exp_avg_sq": "the running mean of the squared gradient, which Adam and its kin keep",
    "max_exp_avg_sq": "the largest running mean of the squared gradient so far, which AMSGrad keeps",
    "exp_inf": "the running maximum of the gradient's size, which Adamax keeps",
    "momentum_buffer": "the momentum that the optimizer keeps",
    "square_avg": "the running mean of the squared gradient, which RMSprop and Adadelta keep",
    "grad_avg": "the running mean of the gradient, which a centred RMSprop keeps",
    "acc_delta": "the running mean of the squared steps, which Adadelta keeps",
    "sum": "the sum of all squared gradients, which Adagrad keeps",
    "prev": "the gradient of the step before, which Rprop keeps",
    "step_size": "the step that Rprop takes",
    "ax": "the mean of the weight over its steps, which ASGD keeps",
}
_ENDS: Final = {RECEIVED: "Of what the unit receives", SENT: "Of what the unit sends"}
_PLACES: Final = {name: place for place, name in enumerate(_OF_LAYERS)}
_PLACES_OF_WEIGHTS: Final = {name: place for place, name in enumerate(_OF_WEIGHTS)}


def gradient_name(variable: str) -> str:
    """Of the gradient of the loss with respect to a variable."""
    return "Grad" if variable == "Act" else f"{variable}.Grad"


def about(name: str) -> About:
    """Of a variable of layers, or of one for the weights of a unit: `r.Wt`, `s.Grad`."""
    known = _OF_LAYERS.get(name)
    if known is not None:
        return known
    end, what = name[:2], name[2:]
    if end in _ENDS and what:
        return About(
            WEIGHTS, f"{_ENDS[end]}: {_OF_WEIGHTS.get(what, f'{what}, which is kept for the weight')}."
        )
    if name.endswith(".Grad"):
        return About(LEARN, f"The gradient of the loss with respect to {name[: -len('.Grad')]}.")
    return About(OTHERS, f"{name}, as it was recorded.")


def in_order(names: Iterable[str]) -> list[str]:
    """By group; in it the usual ones first, then the others as they came."""
    return sorted(dict.fromkeys(names), key=_place)


def _place(name: str) -> tuple[int, int, int, str]:
    group = GROUPS.index(about(name).group)
    if group == GROUPS.index(WEIGHTS):
        end, what = name[:2], name[2:]
        # r.Wt and s.Wt side by side, and what is not known by its name behind all others.
        return group, _PLACES_OF_WEIGHTS.get(what, len(_OF_WEIGHTS)), 0 if end == RECEIVED else 1, what
    return group, _PLACES.get(name, len(_OF_LAYERS)), 0, ""


RELATIONS: Final[tuple[str, ...]] = ("above", "below", "rightof", "leftof", "infront", "behind")
_MOST_LISTED: Final = 8  # layers, in a message


class Arrangement:
    """Places and shapes by layer. A layer of which nothing is said lies where it lies by itself."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._grids: dict[str, Grid] = {}

    @classmethod
    def of(cls, scene: NetScene) -> Arrangement:
        """What was wanted in a scene that was kept."""
        found = cls()
        for layer in scene.layers:
            if layer.place != Place():
                found._places[layer.name] = layer.place
            if layer.grid != grid_of(layer.shape, is_picture=layer.is_input):
                found._grids[layer.name] = layer.grid
        return found

    def place(
        self,
        name: str,
        names: Collection[str],
        relations: dict[str, str | None],
        offset: Sequence[float],
        scale: float,
    ) -> None:
        check_name(name, names)
        given = {relation: other for relation, other in relations.items() if other is not None}
        if len(given) > 1:
            raise InputError(f"{name} is to be {' and '.join(given)}: give one of {', '.join(RELATIONS)}.")
        for other in given.values():
            check_name(other, names)
        relation = next(iter(given), None)
        other = given.get(relation or "", "")
        self._check_round(name, other)
        try:
            offsets, scale = [float(part) for part in offset], float(scale)
        except (TypeError, ValueError):
            offsets = []
        if len(offsets) != 3 or not all(map(math.isfinite, [*offsets, scale])) or scale <= 0:
            raise InputError(
                f"the offset is {offset!r} and the scale {scale!r}: give three numbers, to the right, up "
                "and to the front, and a number above 0; 1 is as large as it is by itself."
            )
        self._places[name] = Place(
            relation=relation,  # type: ignore[arg-type]  # one of the six
            other=other,
            offset=offsets,
            scale=scale,
        )

    def reshape(self, name: str, shape: Sequence[int], layers: Sequence[NetLayer]) -> None:
        check_name(name, [layer.name for layer in layers])
        layer = next(layer for layer in layers if layer.name == name)
        self._grids[name] = manual_grid(layer.shape, shape)

    def laid_over(self, scene: NetScene) -> NetScene:
        layers = []
        for layer in scene.layers:
            place, grid = self._places.get(layer.name, layer.place), self._grids.get(layer.name, layer.grid)
            # A layer that has other units than it had has the shape that it has by itself.
            grid = grid if grid.num_units == layer.grid.num_units else layer.grid
            layers.append(msgspec.structs.replace(layer, place=place, grid=grid))
        return NetScene(layers=layers, connections=scene.connections)

    def _check_round(self, name: str, other: str) -> None:
        way = [name]
        while other:
            way.append(other)
            if other == name:
                raise InputError(
                    f"{' is placed by '.join(way)}: that goes round. Place one of them without a relation."
                )
            known = self._places.get(other)
            other = "" if known is None else known.other


def check_name(name: Any, names: Collection[str]) -> None:
    if name in names:
        return
    near = difflib.get_close_matches(str(name), names, 3)
    listed = ", ".join(list(names)[:_MOST_LISTED])  # in their order: the inputs are first
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    hint = f"the nearest: {', '.join(near)}" if near else f"there are {listed or 'none yet'}{more}"
    raise InputError(f"there is no layer {name!r}: {hint}. view.scene.layers has them all.")


_ONE_ROW: Final = 16  # units that still stand in one row
_NARROW: Final = 16.0  # a matrix that is so many times as long as wide is folded, a tile for each row
_COLOURS: Final = 3
_MOST_TRIES: Final = 1 << 13  # of numbers of rows: enough for 67 million units


def grid_of(shape: Sequence[int], *, is_picture: bool = False) -> Grid:
    """Of one item. `is_picture`: three maps are red, green and blue."""
    sizes = [int(size) for size in shape]
    if is_picture and len(sizes) == 3 and sizes[0] == _COLOURS:
        return Grid(
            num_units=math.prod(sizes),
            tiles_across=1,
            tiles_down=1,
            columns=sizes[2],
            rows=sizes[1],
            gap=0,
            is_colour=True,
        )
    sizes = [size for size in sizes if size != 1]
    if 0 in sizes:
        return Grid(num_units=0, tiles_across=1, tiles_down=1, columns=1, rows=1, gap=0)
    if len(sizes) <= 1:
        num_units = sizes[0] if sizes else 1
        rows, columns = near_square(num_units)
        return _tiled(num_units, 1, rows, columns)
    *front, rows, columns = sizes
    num_tiles = math.prod(front)
    if num_tiles == 1 and columns > _NARROW * rows and rows > 1:
        inner = near_square(columns)
        if inner[0] * inner[1] == columns:  # else the numbers of units would not run on from tile to tile
            return _tiled(rows * columns, rows, *inner)
    return _tiled(math.prod(sizes), num_tiles, rows, columns)


def manual_grid(shape: Sequence[int], wanted: Sequence[int]) -> Grid:
    """As somebody wants it: rows and columns, or tiles down and across and the rows and columns of each."""
    num_units = math.prod(int(size) for size in shape)
    try:
        sizes = [operator.index(size) for size in wanted]
    except TypeError:
        raise InputError(
            f"the shape {wanted!r} is no row of whole numbers: give rows and columns, or tiles down, tiles "
            "across, rows and columns of a tile."
        ) from None
    if len(sizes) not in (2, 4) or min(sizes) < 1 or math.prod(sizes) < num_units:
        raise InputError(
            f"the shape {tuple(wanted)} has no room for {num_units:,} units: give rows and columns, or tiles "
            "down, tiles across, rows and columns of a tile."
        )
    down, across, rows, columns = [1, 1, *sizes][-4:]
    gap = _gap(rows, columns) if down * across > 1 else 0
    return Grid(
        num_units=num_units, tiles_across=across, tiles_down=down, columns=columns, rows=rows, gap=gap
    )


def near_square(num_units: int) -> tuple[int, int]:
    """Rows and columns, as even as they can be; a few units stand in one row."""
    if num_units <= _ONE_ROW:
        return 1, max(num_units, 1)
    root = math.isqrt(num_units)
    for rows in range(root, max(1, root // 2, root - _MOST_TRIES), -1):
        if num_units % rows == 0:
            return rows, num_units // rows
    columns = math.isqrt(num_units - 1) + 1
    return -(-num_units // columns), columns


def plate_size(grid: Grid) -> tuple[int, int]:
    """Cells across and down, gaps among them."""
    across = grid.tiles_across * grid.columns + (grid.tiles_across - 1) * grid.gap
    down = grid.tiles_down * grid.rows + (grid.tiles_down - 1) * grid.gap
    return across, down


def _tiled(num_units: int, num_tiles: int, rows: int, columns: int) -> Grid:
    """Tiles side by side, so that all of them together are about as wide as high."""
    across = 1
    if num_tiles > 1:
        even = math.sqrt(num_tiles * rows / columns)
        either = [min(max(count, 1), num_tiles) for count in (math.floor(even), math.ceil(even))]
        across = min(either, key=lambda count: abs(math.log(count / even)))
        # Where a number nearby leaves no tile empty, it is taken.
        nearby = range(across, min(num_tiles, across + across // 3) + 1)
        across = next((count for count in nearby if num_tiles % count == 0), across)
    return Grid(
        num_units=num_units,
        tiles_across=across,
        tiles_down=-(-num_tiles // across),
        columns=columns,
        rows=rows,
        gap=_gap(rows, columns) if num_tiles > 1 else 0,
    )


def _gap(rows: int, columns: int) -> int:
    return max(1, round(max(rows, columns) / 16))
