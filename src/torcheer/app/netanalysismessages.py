"""What the analysis of a NetView asks of a run, and what the server answers; see `frames` for how.

Items are what layers responded to: those of a batch, or moments. All answers number them as the
NetItemsAnswer to the same choice does. Where a layer has no response to some of them, or one that holds NaN
or infinities, these are left out, and `places` says which remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from torcheer.app.frames import Answer, Count
from torcheer.app.netmessages import LayerName, NetQuestion, Variable

MAX_ITEMS: Final = 1024  # every one is compared with every other
MAX_COMPARED: Final = 64  # layers, each with every other

Scope = Literal["batch", "moments", "all"]
Metric = Literal["correlation", "cosine", "euclidean"]


# --- what a page asks ------------------------------------------------------------------------


class NetItemChoice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which items, and what of each layer is taken as its response to them.

    `batch`: the items of the batch at a moment. `moments`: one item of the batch of every moment up to that
    one. `all`: all items of all these moments. Where there are too many moments, some of them, evenly chosen.
    """

    variable: Variable
    scope: Scope
    step: Count
    item: Count  # of each batch, for `moments`
    most: Annotated[int, Meta(ge=2, le=MAX_ITEMS)]  # items
    labels: Annotated[
        str, Meta(max_length=5000)
    ]  # the key of a choice that the server offers; empty for none


class NetAnalysisQuestion(NetQuestion, frozen=True):
    """About what layers responded to some items."""

    choice: NetItemChoice


class NetItemsQuestion(NetAnalysisQuestion, frozen=True, tag="net_items"):
    """The items of a choice, their labels, and which labels there are to choose from."""


class NetSimilarityQuestion(NetAnalysisQuestion, frozen=True, tag="net_similarity"):
    """How alike a layer sees the items, and the tree of clusters that comes of it."""

    layer: LayerName
    metric: Metric


class NetLikenessQuestion(NetAnalysisQuestion, frozen=True, tag="net_likeness"):
    """How alike layers see the items: the rank correlation of their similarities, of each pair of layers."""

    layers: Annotated[list[LayerName], Meta(max_length=MAX_COMPARED)]
    metric: Metric


class NetComponentsQuestion(NetAnalysisQuestion, frozen=True, tag="net_components"):
    """Where items lie in the directions in which the responses of a layer vary most."""

    layer: LayerName
    num_components: Annotated[int, Meta(ge=1, le=50)]


class NetTuningQuestion(NetAnalysisQuestion, frozen=True, tag="net_tuning"):
    """What all units of a layer respond to most, and how selective they are."""

    layer: LayerName


class NetUnitTuningQuestion(NetAnalysisQuestion, frozen=True, tag="net_unit_tuning"):
    """What one unit responds to each item, and on average to each label."""

    layer: LayerName
    unit: Count


class NetFieldQuestion(NetAnalysisQuestion, frozen=True, tag="net_field"):
    """The mean of another layer over items, each counted by how much a unit responds to it."""

    layer: LayerName
    unit: Count
    source: LayerName
    above: Literal["zero", "mean"]  # what of a response counts: what is above 0, or above its mean over items
    minus_mean: bool  # what is particular to the unit: without the plain mean over all items


AnyNetAnalysisQuestion = (
    NetItemsQuestion
    | NetSimilarityQuestion
    | NetLikenessQuestion
    | NetComponentsQuestion
    | NetTuningQuestion
    | NetUnitTuningQuestion
    | NetFieldQuestion
)


# --- what the server answers -----------------------------------------------------------------


class NetLabelChoice(Struct, frozen=True, kw_only=True):
    """Where labels can come from."""

    key: str
    name: str  # for people
    about: str  # in a few words


class NetItemsAnswer(Answer, frozen=True, tag="net_items"):
    """Of each item its moment, its place in the batch, and its label where there are labels."""

    steps: Sequence[int]
    items: Sequence[int]
    labels: Sequence[str]  # each once, in their order
    label_of: Sequence[int]  # of each item, the number of its label; empty where there are none
    label_choices: Sequence[NetLabelChoice]
    num_moments: int  # that there are, of which some may have been chosen
    note: str  # what a reader must know; empty where there is nothing


class NetContrast(Struct, frozen=True, kw_only=True):
    """Pairs of items with the same label against pairs with different ones. Null where there are none."""

    within: float | None
    between: float | None
    contrast: float | None  # how much more alike items of one label are


class NetSimilarityAnswer(Answer, frozen=True, tag="net_similarity"):
    """The head of a binary frame: the tree in rows of four as float64, then the matrix as float32.

    A row of the tree joins two clusters: their numbers, their distance, and how many items are then in it.
    Numbers below that of `leaves` stand for leaves, the others for rows of the tree.
    """

    places: Sequence[int]  # the items of rows and columns
    by_label: Sequence[int]  # the same items, sorted by label
    leaves: Sequence[int]  # the items of the tree, as it numbers them
    by_tree: Sequence[int]  # these items as they stand below the tree
    contrast: NetContrast | None  # None without labels
    note: str


class NetLayerLikeness(Struct, frozen=True, kw_only=True):
    """One layer among others."""

    layer: str
    contrast: NetContrast | None
    why: str  # why it is not among those that are compared; empty where it is


class NetLikenessAnswer(Answer, frozen=True, tag="net_likeness"):
    """The head of a binary frame: layers by layers as float32, NaN where it is not defined."""

    layers: Sequence[NetLayerLikeness]


class NetComponentsAnswer(Answer, frozen=True, tag="net_components"):
    """The head of a binary frame: of each of `places` its coordinates, as float32."""

    places: Sequence[int]
    shares: Sequence[float]  # of the variance of all units, of each component
    note: str


class NetTuningAnswer(Answer, frozen=True, tag="net_tuning"):
    """The head of a binary frame, float32 of all units: the number of the best label, selectivity, d'.

    NaN where a unit has no best label, since it is the same to all.
    """

    num_units: int
    num_items: int
    note: str


class NetUnitTuningAnswer(Answer, frozen=True, tag="net_unit_tuning"):
    """The head of a binary frame, float32: responses to `places`; of each label the mean and d'.

    Labels without an item among these have NaN. Without labels there are responses alone.
    """

    places: Sequence[int]
    counts: Sequence[int]  # items of each label
    note: str


class NetFieldAnswer(Answer, frozen=True, tag="net_field"):
    """The head of a binary frame: float32 of all units of the source. NaN where the unit never responds."""

    num_units: int
    num_items: int
    num_responses: int  # items that count
    low: float | None  # of what is finite
    high: float | None
    note: str


AnyNetAnalysisAnswer = (
    NetItemsAnswer
    | NetSimilarityAnswer
    | NetLikenessAnswer
    | NetComponentsAnswer
    | NetTuningAnswer
    | NetUnitTuningAnswer
    | NetFieldAnswer
)
