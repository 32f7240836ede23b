"""Activations of a whole data set, on disk: extracted on one machine or many, and what is done with them.

features = tl.extract(model, loader, layers=["features.6", "classifier.4"], to="features/alexnet")
features["features.6"][100:200]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.analysis import (
        LayerComparison,
        Probe,
        SimilarityMatrix,
        cka,
        compare_layers,
        compare_similarity,
        label_contrast,
        probe,
        probe_layers,
        rsa,
    )
    from torcheer.features import analysis
    from torcheer.features.dimension_reduction import Project, RunningPCA
    from torcheer.features.dimensions import Padded, Pooled, Ragged
    from torcheer.features.extraction import extract, layers_text
    from torcheer.features.journal import FOLDER
    from torcheer.features.manifest import FORMAT, NAME, ArraySpec, LayerOrigin, read_manifest
    from torcheer.features.saved_features import Features, StoredLayer, StoredRagged, open_features
    from torcheer.features.stores import Store, store_at
    from torcheer.features.stores.folder import FolderStore
    from torcheer.features.transforms import Cast, Flatten, Function, Pool, Transform
else:
    __getattr__, __dir__ = lazy_imports(__name__)
