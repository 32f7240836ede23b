"""What a NetView asks of a run, and what the server answers; see `frames` for how.

Values come as whole numbers of two bytes, a level each, from the lowest to the highest finite value of what
was asked for: `low + level / LEVELS * (high - low)`. So a page can change its scale without asking again. The
codes above the levels stand for what is no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from torcheer.app.frames import Answer, Count, Name, Question
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


# --- what a page asks ------------------------------------------------------------------------


class NetQuestion(Question, frozen=True):
    """About the network of a run, as one of its ranks wrote it."""

    run_id: Name
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


AnyNetQuestion = (
    NetSceneQuestion
    | NetMomentsQuestion
    | NetValuesQuestion
    | NetUnitQuestion
    | NetUnitSeriesQuestion
    | NetRasterQuestion
    | NetWeightsQuestion
)


# --- what the server answers -----------------------------------------------------------------


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


AnyNetAnswer = (
    NetSceneAnswer
    | NetMomentsAnswer
    | NetValuesAnswer
    | NetUnitAnswer
    | NetUnitSeriesAnswer
    | NetRasterAnswer
    | NetWeightsAnswer
)
