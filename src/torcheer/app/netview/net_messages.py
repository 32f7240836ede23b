"""What a NetView and its analysis ask of a run, and what the server answers.

Values come as whole numbers of two bytes, a level each, from the lowest to the highest finite value of what
was asked for: `low + level / LEVELS * (high - low)`. So a page can change its scale without asking again. The
codes above the levels stand for what is no number.

Items of an analysis are what layers responded to: those of a batch, or moments. All answers number them as
the NetItemsAnswer to the same choice does. Where a layer has no response to some of them, or one that holds
NaN or infinities, these are left out, and `places` says which remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from torcheer.app.runs.run_messages import RunQuestion
from torcheer.app.shared_analyses import Contrast
from torcheer.app.wire import Answer, Count
from torcheer.run import NetScene

LEVELS: Final = 65_531  # the highest level
NOT_THERE: Final = 65_532  # not connected, or not recorded
MINUS_INFINITY: Final = 65_533
PLUS_INFINITY: Final = 65_534
NOT_A_NUMBER: Final = 65_535

LayerName = Annotated[str, Meta(max_length=4096)]
Variable = Annotated[str, Meta(max_length=256)]
Layers = Annotated[list[LayerName], Meta(max_length=2048)]
Direction = Literal["received", "sent"]


class NetQuestion(RunQuestion, frozen=True):
    """About the network of a run, as one of its ranks wrote it."""

    rank: int


class NetSceneQuestion(NetQuestion, frozen=True, tag="net_scene"):
    """The network of a run: layers, variables, connections. Followed: comes anew where it has changed."""


class NetMomentsQuestion(NetQuestion, frozen=True, tag="net_moments"):
    """The moments of which there are values. Followed: later answers bring new ones, or all anew."""


class NetValuesQuestion(NetQuestion, frozen=True, tag="net_values"):
    """One variable of some layers at a moment: of each the last record up to then."""

    step: Count
    variable: Variable
    item: Count
    layers: Layers


class NetUnitQuestion(NetQuestion, frozen=True, tag="net_unit"):
    """All variables of one unit at a moment, exactly."""

    step: Count
    layer: LayerName
    unit: Count
    item: Count


class NetUnitSeriesQuestion(NetQuestion, frozen=True, tag="net_unit_series"):
    """All variables of one unit over time; where there are more moments than that, some of them."""

    layer: LayerName
    unit: Count
    item: Count
    low: int | None  # steps
    high: int | None
    most: Annotated[int, Meta(ge=2, le=4096)]


class NetRasterQuestion(NetQuestion, frozen=True, tag="net_raster"):
    """One variable of some layers over time, a column for each moment up to this one, the last ones."""

    step: Count  # the last
    variable: Variable
    item: Count
    layers: Layers
    num_moments: Annotated[int, Meta(ge=1, le=1024)]


class NetWeightsQuestion(NetQuestion, frozen=True, tag="net_weights"):
    """The weights of one unit at a moment, laid on the units of the layers at their other end."""

    step: Count
    layer: LayerName
    unit: Count
    item: Count  # attention is different for each
    direction: Direction
    variable: Annotated[str, Meta(max_length=64)]  # Wt, or what goes with it: Grad, Delta, exp_avg…


class NetVariable(Struct, frozen=True, kw_only=True):
    """A variable that some layer has."""

    name: str  # Act
    group: str  # State, Learn, Weights of unit, Others
    about: str  # in a sentence, for people
    low: float | None  # of all values that were ever recorded
    high: float | None


class NetSceneAnswer(Answer, frozen=True, tag="net_scene"):
    """The network, and all variables that there are, in the order in which they are shown.

    Variables of the group `Weights of unit` are those for which there are connections: `r.Wt`, `s.Wt`,
    `r.Grad`… ask for them with a NetWeightsQuestion.
    """

    scene: NetScene
    variables: Sequence[NetVariable]
    source: Literal["netview", "watch", "names"]  # where the network is known from
    num_items: int  # of a batch, at most
    ranks: Sequence[int]  # of which there is something; several where several processes wrote the run
    note: str  # what a reader must know; empty where there is nothing


class NetRange(Struct, frozen=True, kw_only=True):
    """The lowest and the highest value that a variable ever had, over all layers."""

    variable: str
    low: float
    high: float


class NetMomentsAnswer(Answer, frozen=True, tag="net_moments"):
    """Moments in the order of their steps. Counters are texts, a column for each name: run, epoch, trial."""

    is_all: bool  # these take the place of what there was
    steps: Sequence[int]
    times: Sequence[float]
    counters: dict[str, Sequence[str]]
    ranges: Sequence[NetRange]  # as far as they are known by now
    is_running: bool


class NetBlock(Struct, frozen=True, kw_only=True):
    """The values of one layer. Its levels follow in the frame, block after block, two bytes each."""

    layer: str
    step: int  # of the record: an earlier one where nothing was recorded at this moment
    num_units: int  # of which levels follow; 0 where nothing was recorded
    low: float  # of level 0
    high: float  # of the highest level
    why: str  # why there is nothing, or what is special; empty otherwise


class NetValuesAnswer(Answer, frozen=True, tag="net_values"):
    """The head of a binary frame."""

    step: int
    blocks: Sequence[NetBlock]


class NetUnitAnswer(Answer, frozen=True, tag="net_unit"):
    """Values as text where JSON has no number for them: NaN, Infinity, -Infinity."""

    values: dict[str, float | str]  # by variable
    steps: dict[str, int]  # of the records


class NetUnitSeriesAnswer(Answer, frozen=True, tag="net_unit_series"):
    """The head of a binary frame: for each variable its steps, then its values, all float64."""

    variables: Sequence[str]
    counts: Sequence[int]  # of each


class NetRasterAnswer(Answer, frozen=True, tag="net_raster"):
    """The head of a binary frame: of each block the levels stand as [moment][unit], on one scale."""

    steps: Sequence[int]  # of the moments
    blocks: Sequence[NetBlock]  # `num_units` is that of one moment


class NetWeightsAnswer(Answer, frozen=True, tag="net_weights"):
    """The head of a binary frame. A block for each layer at the other end; the unit's own bias beside it."""

    blocks: Sequence[NetBlock]
    bias: float | None
    num_weights: int  # that really connect


MAX_ITEMS: Final = 1024  # every one is compared with every other
MAX_COMPARED: Final = 64  # layers, each with every other

Scope = Literal["batch", "moments", "all"]
Metric = Literal["correlation", "cosine", "euclidean"]


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
    note: str  # what a reader must know; empty where there is nothing


class NetSimilarityAnswer(Answer, frozen=True, tag="net_similarity"):
    """The head of a binary frame: the tree in rows of four as float64, then the matrix as float32.

    A row of the tree joins two clusters: their numbers, their distance, and how many items are then in it.
    Numbers below that of `leaves` stand for leaves, the others for rows of the tree.
    """

    places: Sequence[int]  # the items of rows and columns
    by_label: Sequence[int]  # the same items, sorted by label
    leaves: Sequence[int]  # the items of the tree, as it numbers them
    by_tree: Sequence[int]  # these items as they stand below the tree
    contrast: Contrast | None  # None without labels
    note: str


class NetLayerLikeness(Struct, frozen=True, kw_only=True):
    """One layer among others."""

    layer: str
    contrast: Contrast | None
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
