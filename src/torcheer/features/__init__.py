"""Activations of a whole data set, on disk: extracted on one machine or many, and what is done with them.

features = tl.extract(model, loader, layers=["features.6", "classifier.4"], to="features/alexnet")
features["features.6"][100:200]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torcheer.analysis import LayerComparison, Probe, SimilarityMatrix
    from torcheer.analysis import cka as cka
    from torcheer.analysis import compare_layers as compare_layers
    from torcheer.analysis import compare_similarity as compare_similarity
    from torcheer.analysis import label_contrast as label_contrast
    from torcheer.analysis import probe as probe
    from torcheer.analysis import probe_layers as probe_layers
    from torcheer.analysis import rsa as rsa
    from torcheer.features.extracting import extract as extract
    from torcheer.features.reading import Features
    from torcheer.features.reading import open_features as open_features
    from torcheer.features.shapes import Padded, Pooled, Ragged
    from torcheer.features.storedlayers import StoredLayer, StoredRagged
    from torcheer.features.transforms import Cast, Flatten, Function, Pool, Project, RunningPCA, Transform

__all__ = [
    "Cast",
    "Features",
    "Flatten",
    "Function",
    "LayerComparison",
    "Padded",
    "Pool",
    "Pooled",
    "Probe",
    "Project",
    "Ragged",
    "RunningPCA",
    "SimilarityMatrix",
    "StoredLayer",
    "StoredRagged",
    "Transform",
    "cka",
    "compare_layers",
    "compare_similarity",
    "extract",
    "label_contrast",
    "open_features",
    "probe",
    "probe_layers",
    "rsa",
]

# Loaded on first use: whoever reads features needs no torch.
_HOMES = {
    **dict.fromkeys(__all__, "analysis"),
    **dict.fromkeys(
        ("Cast", "Flatten", "Function", "Pool", "Project", "RunningPCA", "Transform"), "transforms"
    ),
    **dict.fromkeys(("Padded", "Pooled", "Ragged"), "shapes"),
    **dict.fromkeys(("StoredLayer", "StoredRagged"), "storedlayers"),
    **dict.fromkeys(("Features", "open_features"), "reading"),
    "extract": "extracting",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
