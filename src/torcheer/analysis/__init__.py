"""What layers have learnt, on arrays: similarity, components, clusters, tuning, CKA, probes.

from torcheer import analysis

alike = analysis.similarity(points, labels)
found = analysis.probe(features["features.6"], labels)

No torch. Layers on the disk are read in blocks and computed in bounded memory. Probes and clusters need
scikit-learn and SciPy: `pip install 'torcheer[analysis]'`.
"""

from __future__ import annotations

from torcheer.analysis.probes import Probe, probe, probe_layers
from torcheer.analysis.rows import Array, MissingLibraryError, Rows, chosen_samples, labels_of
from torcheer.analysis.similarity import (
    Clusters,
    LabelContrast,
    LayerComparison,
    Metric,
    SimilarityMatrix,
    cka,
    clusters,
    compare_layers,
    compare_similarity,
    label_contrast,
    rsa,
    similarity,
)
from torcheer.analysis.units import Components, Tuning, principal_components, receptive_fields, tuning

__all__ = [
    "Array",
    "Clusters",
    "Components",
    "LabelContrast",
    "LayerComparison",
    "Metric",
    "MissingLibraryError",
    "Probe",
    "Rows",
    "SimilarityMatrix",
    "Tuning",
    "chosen_samples",
    "cka",
    "clusters",
    "compare_layers",
    "compare_similarity",
    "label_contrast",
    "labels_of",
    "principal_components",
    "probe",
    "probe_layers",
    "receptive_fields",
    "rsa",
    "similarity",
    "tuning",
]
