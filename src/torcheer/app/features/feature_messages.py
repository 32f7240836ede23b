"""What the page Features can ask about stored activations, and what the server answers; see `frames` for how.

Layers and samples have numbers, in the order of the manifest and of the data. Analyses are followed: an
answer for each piece of progress, and the last one says so. All say on how many samples they are based.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from torcheer.app.shared_analyses import Contrast
from torcheer.app.wire import Answer, Count, Name, Question
from torcheer.run import EmbeddingHead

MAX_LAYERS: Final = 10_000
MAX_COMPARED: Final = 128  # layers, each with every other
MAX_SAMPLES: Final = 2000  # that are compared, each with every other

Metric = Literal["correlation", "cosine", "euclidean"]
ProbeKind = Literal["auto", "ridge", "logistic"]
Comparison = Literal["rsa", "cka"]
LabelKind = Literal["none", "classes", "numbers"]
Side = Annotated[int, Meta(ge=1, le=1024)]
Layer = Annotated[int, Meta(ge=0, lt=MAX_LAYERS)]


class FeatureQuestion(Question, frozen=True):
    """About one set."""

    set_id: Name


class FeatureLayerQuestion(FeatureQuestion, frozen=True):
    """About one of its layers."""

    layer: Layer


class FeatureSetsQuestion(Question, frozen=True, tag="feature_sets"):
    """Which sets of features are there? Followed: comes anew when something changes."""


class FeatureSetQuestion(FeatureQuestion, frozen=True, tag="feature_set"):
    """All about one set but its values. Followed: comes anew while it grows."""


class FeatureSimilarityQuestion(FeatureLayerQuestion, frozen=True, tag="feature_similarity"):
    """How alike samples are to a layer. Followed, for the progress."""

    metric: Metric
    most: Annotated[int, Meta(ge=2, le=MAX_SAMPLES)]  # samples


class FeatureLayersQuestion(FeatureQuestion, frozen=True, tag="feature_layers"):
    """How alike layers are to one another. Followed, for the progress."""

    layers: Annotated[list[Layer], Meta(min_length=2, max_length=MAX_COMPARED)]
    method: Comparison
    metric: Metric  # of RSA
    most: Annotated[int, Meta(ge=4, le=20_000)]  # samples


class FeatureProbesQuestion(FeatureQuestion, frozen=True, tag="feature_probes"):
    """How well labels can be read from layers. Followed: an answer for each layer, as it is done."""

    layers: Annotated[list[Layer], Meta(min_length=1, max_length=MAX_COMPARED)]
    kind: ProbeKind
    folds: Annotated[int, Meta(ge=2, le=20)]
    most: Annotated[int, Meta(ge=4, le=1_000_000)]  # samples


class FeaturePointsQuestion(FeatureLayerQuestion, frozen=True, tag="feature_points"):
    """Samples as points for the projector. Followed, for the progress."""

    most: Annotated[int, Meta(ge=4, le=20_000)]


class FeatureReduceQuestion(FeatureLayerQuestion, frozen=True, tag="feature_reduce"):
    """These points in fewer dimensions. Followed, for the progress; answered as `reduce` is."""

    most: Annotated[int, Meta(ge=4, le=20_000)]
    method: Literal["pca", "tsne", "umap"]
    num_dims: Annotated[int, Meta(ge=1, le=10)]
    neighbours: Annotated[float, Meta(ge=1, le=1000)]
    metric: Literal["cosine", "euclidean"]


class FeatureMapQuestion(FeatureLayerQuestion, frozen=True, tag="feature_map"):
    """Values of a layer: some samples, sorted by label, by some units, both evenly chosen."""

    num_rows: Side
    num_columns: Side


class FeatureUnitQuestion(FeatureLayerQuestion, frozen=True, tag="feature_unit"):
    """The values of one unit, of the same samples as in the map."""

    num_rows: Side
    unit: Count


class FeatureSampleQuestion(FeatureLayerQuestion, frozen=True, tag="feature_sample"):
    """All values of a layer for one sample; where they are many, some of them, evenly chosen."""

    sample: Count


class FeatureSetListing(Struct, frozen=True, kw_only=True):
    """A set of features as lists show it."""

    id: str  # the same as long as it is in the same place of the folder
    name: str
    model: str = ""  # its class
    data: str = ""  # in words
    storage: str = ""  # npy, zarr
    num_layers: int = 0
    num_samples: int | None = None  # None: a stream that has not ended
    num_done: int = 0
    is_complete: bool = False
    num_bytes: int = 0  # on the disk, as far as that is known
    updated: float = 0.0  # seconds since 1970; 0 where nobody knows
    note: str = ""  # what is wrong with it; empty where nothing is


class FeatureSetsAnswer(Answer, frozen=True, tag="feature_sets"):
    """All sets, by name."""

    sets: Sequence[FeatureSetListing]


class FeatureLayer(Struct, frozen=True, kw_only=True):
    """One layer of a set."""

    name: str
    label: str  # of its op: conv2d_3_7
    address: str  # of the module whose output it is
    shape: Sequence[int]  # of one sample; -1 where it varies
    dims: Sequence[str]  # their names, where they have some
    dtype: str
    num_units: int  # 0 where it varies from sample to sample
    num_bytes: int  # of all its values
    transforms: Sequence[str]


class FeatureSetAnswer(Answer, frozen=True, tag="feature_set"):
    """A set as it is now. Rows that are not extracted yet are in no picture and no analysis."""

    listing: FeatureSetListing
    layers: Sequence[FeatureLayer]
    num_layers: int  # where there are more than can be shown
    label_kind: LabelKind
    labels: Sequence[str]  # each once, in their order; at most 1,000
    num_labels: int
    notes: Sequence[str]


class FeatureRows(Struct, frozen=True, kw_only=True):
    """Which samples stand in the rows of a picture, sorted by label."""

    samples: Sequence[int]
    ids: Sequence[str]
    labels: Sequence[str]  # each once, in their order; none where there are no labels
    label_of: Sequence[int]  # for each row the place among them
    num_done: int  # out of so many they were chosen


class FeatureMapAnswer(Answer, frozen=True, tag="feature_map"):
    """The head of a binary frame: float32, [row][column]."""

    rows: FeatureRows
    units: Sequence[int]  # in the columns
    num_units: int
    low: float | None  # of the finite values
    high: float | None
    num_bad: int  # NaN or infinite


class FeatureUnitAnswer(Answer, frozen=True, tag="feature_unit"):
    """The head of a binary frame: float32, one for each row."""

    rows: FeatureRows
    place: Sequence[int]  # of the unit in the layer


class FeatureSampleAnswer(Answer, frozen=True, tag="feature_sample"):
    """The head of a binary frame: float32, in the order of the layer."""

    sample: int
    name: str  # its id
    label: str
    shape: Sequence[int]
    units: Sequence[int]  # which of them; none where all are there
    num_units: int
    mean: float | None  # of all values, as the other figures
    std: float | None
    low: float | None
    high: float | None
    num_zeros: int
    num_bad: int


class FeatureProgressAnswer(Answer, frozen=True):
    """How far an analysis is."""

    progress: float
    is_done: bool
    note: str


class FeatureSimilarityAnswer(FeatureProgressAnswer, frozen=True, tag="feature_similarity"):
    """The head of a binary frame: float32, [row][row]; nothing until it is done."""

    rows: FeatureRows | None = None
    contrast: Contrast | None = None


class FeatureLayersAnswer(FeatureProgressAnswer, frozen=True, tag="feature_layers"):
    """The head of a binary frame: float32, [layer][layer], NaN where undefined; nothing until it is done."""

    layers: Sequence[int]
    left_out: dict[str, str]  # why a layer is not among them, by its name
    num_samples: int


class FeatureProbe(Struct, frozen=True, kw_only=True):
    """How well labels can be read from one layer, on samples that the probe has not seen."""

    layer: int
    why: str  # there is none; empty where there is
    scores: Sequence[float | None] = ()  # of each fold
    mean: float | None = None
    std: float | None = None
    metric: str = ""
    kind: str = ""
    chance: float | None = None
    num_samples: int = 0
    num_units: int = 0
    labels: Sequence[str] = ()  # of the confusions
    confusion: Sequence[Sequence[int]]  # right label by what was said; none of numbers, or of too many labels


class FeatureProbesAnswer(FeatureProgressAnswer, frozen=True, tag="feature_probes"):
    """Layers that are new since the answer before."""

    at: int | None  # the layer that is being probed
    probes: Sequence[FeatureProbe]


class FeaturePointsAnswer(FeatureProgressAnswer, frozen=True, tag="feature_points"):
    """The head of a binary frame: as of an embedding of a run; nothing until it is done."""

    head: EmbeddingHead | None
