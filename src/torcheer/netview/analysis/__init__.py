"""What layers have learnt: their responses to a test set, or in a run, and how to look at them.

from torcheer.netview import analysis

seen = analysis.responses(model, loader, layers="features.*")
alike = analysis.similarity(seen.layer("features.10"), seen.labels)
print(analysis.label_contrast(alike).contrast)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torcheer.analysis import Clusters, Components, LabelContrast, SimilarityMatrix, Tuning
from torcheer.analysis import clusters as clusters
from torcheer.analysis import compare_similarity as compare_similarity
from torcheer.analysis import label_contrast as label_contrast
from torcheer.analysis import principal_components as principal_components
from torcheer.analysis import receptive_fields as receptive_fields
from torcheer.analysis import similarity as similarity
from torcheer.analysis import tuning as tuning
from torcheer.netview.analysis.recorded import Responses, responses_of

if TYPE_CHECKING:
    from torcheer.netview.analysis.layer_responses import responses as responses

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


def __getattr__(name: str) -> Any:
    # Loaded on first use: the app looks at arrays, and must not import torch for it.
    if name != "responses":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torcheer.netview.analysis.layer_responses import responses

    return responses
