"""What layers have learnt, on arrays: similarity, components, clusters, tuning, CKA, probes.

from torcheer import analysis

alike = analysis.similarity(points, labels)
found = analysis.probe(features["features.6"], labels)

No torch. Layers on the disk are read in blocks and computed in bounded memory. Probes and clusters need
scikit-learn and SciPy: `pip install 'torcheer[analysis]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.analysis.layer_samples import Array, MissingLibraryError, Rows, chosen_samples, labels_of
    from torcheer.analysis.layer_similarity import (
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
    from torcheer.analysis.probes import Probe, probe, probe_layers
    from torcheer.analysis.units import Components, Tuning, principal_components, receptive_fields, tuning
else:
    __getattr__, __dir__ = lazy_imports(__name__)
