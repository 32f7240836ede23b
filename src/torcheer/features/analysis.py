"""What layers on the disk have learnt: similarity of samples, of layers, and what can be read from them.

from torcheer.features import analysis

found = analysis.probe(features["features.6"], labels)
print(found.mean, found.chance)
alike = analysis.compare_layers({name: features[name] for name in features}, samples=2000)

The same as in `torcheer.analysis`, which has more.
"""

from __future__ import annotations

from torcheer.analysis import LayerComparison as LayerComparison
from torcheer.analysis import Probe as Probe
from torcheer.analysis import Rows as Rows
from torcheer.analysis import SimilarityMatrix as SimilarityMatrix
from torcheer.analysis import cka as cka
from torcheer.analysis import compare_layers as compare_layers
from torcheer.analysis import compare_similarity as compare_similarity
from torcheer.analysis import label_contrast as label_contrast
from torcheer.analysis import probe as probe
from torcheer.analysis import probe_layers as probe_layers
from torcheer.analysis import rsa as rsa
