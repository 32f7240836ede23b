"""What is done to the values of a layer on their way to the disk: pooled, projected, cast, or your own."""

from __future__ import annotations

from torcheer.features.transforms.basic_transforms import Cast, Flatten, Function, Pool
from torcheer.features.transforms.chain import BegunChain, begin_all, read_transforms
from torcheer.features.transforms.dimension_reduction import Project, RunningComponents, RunningPCA
from torcheer.features.transforms.transform import Transform, open_values

__all__ = [
    "BegunChain",
    "Cast",
    "Flatten",
    "Function",
    "Pool",
    "Project",
    "RunningComponents",
    "RunningPCA",
    "Transform",
    "begin_all",
    "open_values",
    "read_transforms",
]
