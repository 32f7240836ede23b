"""What is done to the values of a layer on their way to the disk: pooled, projected, cast, or your own.

from torcheer.features.transforms import Pool, Project

extract(model, data, layers=["features.*"], to="features/vgg", transform=[Pool("mean"), "float16"])
"""

from __future__ import annotations

from torcheer.features.transforms.casting import Cast
from torcheer.features.transforms.chaining import BegunChain, begin_all
from torcheer.features.transforms.flattening import Flatten
from torcheer.features.transforms.functions import Function
from torcheer.features.transforms.pooling import POOLED_DIMS, Pool
from torcheer.features.transforms.projecting import Project, units_keeping_distances
from torcheer.features.transforms.protocol import Applied, Fitted, Transform
from torcheer.features.transforms.reading import read_transforms
from torcheer.features.transforms.runningpca import RunningPCA

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
