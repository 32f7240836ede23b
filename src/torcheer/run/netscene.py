"""A network as a NetView shows it: layers as plates of units, and what connects them. Kept with the run.

The values of a layer are tensors of the run, one series for each variable: `conv1.Act` holds the variable
Act of the layer conv1, with the items of a batch in its first dimension. So whatever is recorded under such
names, by `State`, by `NetView` or by a watched training, can be seen.
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from torcheer.graph import Entry

Form = Literal["linear", "conv", "transposed_conv", "embedding", "attention", "other"]


class Grid(Entry, frozen=True):
    """How the units of a layer lie on its plate: tiles side by side, each a block of cells.

    Units are numbered as they stand in the tensor: tile by tile, in a tile row by row. The last cells may be
    empty. In a colour picture three maps lie on one tile: red, green and blue.
    """

    num_units: int
    tiles_across: int
    tiles_down: int
    columns: int  # of a tile
    rows: int
    gap: int  # cells between two tiles
    is_colour: bool = False


class Place(Entry, frozen=True):
    """Where somebody wants a layer. All that is None is worked out."""

    relation: Literal["above", "below", "rightof", "leftof", "infront", "behind"] | None = None
    other: str = ""  # the layer to which this one is in relation
    offset: list[float] = field(default_factory=lambda: [0.0] * 3)  # right, up, to the front, in plates
    scale: float = 1.0


class NetLayer(Entry, frozen=True):
    """A layer: a plate of units."""

    name: str
    module: str  # the type of what computes it: Conv2d; empty where that is not known
    shape: list[int]  # of one item
    grid: Grid
    variables: list[str]  # of which there are series: Act, Net, Grad…
    place: Place
    is_input: bool = False
    has_items: bool = True  # the first dimension of its tensors counts items of a batch
    note: str = ""  # what a reader must know: every second channel is shown


class Connection(Entry, frozen=True):
    """What one layer receives from another. The source gives its variable Act."""

    source: str
    target: str
    form: Form
    weight: str = ""  # the series of the weights: features.0.weight; empty where there are none
    bias: str | None = None  # the series of what is added; empty where nothing is, None where it is not known
    is_transposed: bool = False  # linear weights that stand as [in, out]
    # Of convolutions, for each dimension of the picture.
    stride: list[int] = field(default_factory=list)
    padding: list[int] = field(default_factory=list)  # at the front
    dilation: list[int] = field(default_factory=list)
    groups: int = 1


class NetScene(Entry, frozen=True):
    """Layers from the input to the output."""

    layers: list[NetLayer]
    connections: list[Connection]
