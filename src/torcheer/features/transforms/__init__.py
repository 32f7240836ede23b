"""What is done to the values of a layer on their way to the disk: pooled, projected, cast, or your own.

from torcheer.features.transforms import Pool, Project

extract(model, data, layers=["features.*"], to="features/vgg", transform=[Pool("mean"), "float16"])
"""

from __future__ import annotations

from torcheer.features.transforms.chain import BegunChain, begin_all, read_transforms
from torcheer.features.transforms.pca import RunningPCA
from torcheer.features.transforms.pool import POOLED_DIMS, Pool
from torcheer.features.transforms.project import Project, units_keeping_distances
from torcheer.features.transforms.storable_values import Cast, Flatten, Function
from torcheer.features.transforms.transform import Applied, Fitted, Transform

__all__ = [
    "POOLED_DIMS",
    "Applied",
    "BegunChain",
    "Cast",
    "Fitted",
    "Flatten",
    "Function",
    "Pool",
    "Project",
    "RunningPCA",
    "Transform",
    "begin_all",
    "read_transforms",
    "units_keeping_distances",
]
