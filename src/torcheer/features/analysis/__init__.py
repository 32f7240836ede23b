"""What layers on the disk have learnt: similarity of samples, of layers, and what can be read from them.

from torcheer.features import analysis

found = analysis.probe(features["features.6"], labels)
print(found.mean, found.chance)
alike = analysis.compare_layers({name: features[name] for name in features}, samples=2000)

Arrays only: all is read in blocks, and computed in bounded memory.
"""

from __future__ import annotations

from torcheer.features.analysis.cka import cka
from torcheer.features.analysis.comparing import LayerComparison, compare_layers
from torcheer.features.analysis.probes import probe, probe_layers
from torcheer.features.analysis.results import Probe
from torcheer.features.analysis.rows import Rows
from torcheer.features.analysis.rsa import rsa
from torcheer.netview.analysis.similarities import SimilarityMatrix, compare_similarity, label_contrast

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
