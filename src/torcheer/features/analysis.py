"""What layers on the disk have learnt: similarity of samples, of layers, and what can be read from them.

from torcheer.features import analysis

found = analysis.probe(features["features.6"], labels)
print(found.mean, found.chance)
alike = analysis.compare_layers({name: features[name] for name in features}, samples=2000)

The same as in `torcheer.analysis`, which has more.
"""

from __future__ import annotations

from torcheer.analysis import (
    LayerComparison,
    Probe,
    Rows,
    SimilarityMatrix,
    cka,
    compare_layers,
    compare_similarity,
    label_contrast,
    probe,
    probe_layers,
    rsa,
)

__all__ = [
    "LayerComparison",
    "Probe",
    "Rows",
    "SimilarityMatrix",
    "cka",
    "compare_layers",
    "compare_similarity",
    "label_contrast",
    "probe",
    "probe_layers",
    "rsa",
]
