"""What layers have learnt, as arrays: receptive fields, similarity, components, clusters, tuning.

from torcheer.netview import analysis

seen = analysis.responses(model, loader, layers="features.*")
alike = analysis.similarity(seen.layer("features.10"), seen.labels)
print(analysis.label_contrast(alike).contrast)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torcheer.netview.analysis.components import Components
    from torcheer.netview.analysis.components import principal_components as principal_components
    from torcheer.netview.analysis.fields import receptive_fields as receptive_fields
    from torcheer.netview.analysis.itemrows import Responses
    from torcheer.netview.analysis.preferences import Tuning
    from torcheer.netview.analysis.preferences import tuning as tuning
    from torcheer.netview.analysis.recorded import responses_of as responses_of
    from torcheer.netview.analysis.running import responses as responses
    from torcheer.netview.analysis.similarities import LabelContrast, SimilarityMatrix
    from torcheer.netview.analysis.similarities import compare_similarity as compare_similarity
    from torcheer.netview.analysis.similarities import label_contrast as label_contrast
    from torcheer.netview.analysis.similarities import similarity as similarity
    from torcheer.netview.analysis.trees import Clusters
    from torcheer.netview.analysis.trees import clusters as clusters

__all__ = [
    "Clusters",
    "Components",
    "LabelContrast",
    "Responses",
    "SimilarityMatrix",
    "Tuning",
    "clusters",
    "compare_similarity",
    "label_contrast",
    "principal_components",
    "receptive_fields",
    "responses",
    "responses_of",
    "similarity",
    "tuning",
]

# Loaded on first use: the app looks at arrays, and must not import torch for it.
_HOMES = {
    "Clusters": "trees",
    "Components": "components",
    "LabelContrast": "similarities",
    "Responses": "itemrows",
    "SimilarityMatrix": "similarities",
    "Tuning": "preferences",
    "clusters": "trees",
    "compare_similarity": "similarities",
    "label_contrast": "similarities",
    "principal_components": "components",
    "receptive_fields": "fields",
    "responses": "running",
    "responses_of": "recorded",
    "similarity": "similarities",
    "tuning": "preferences",
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
