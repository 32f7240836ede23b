"""Import torchvision where only its CUDA build is installed.

On importing, torchvision describes two operators of its compiled part. Where that part cannot be loaded
they are missing, so they are declared here first. Tests write `from tests.vision import torchvision`.
"""

import torch

OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)

# Kept for as long as the process: the declarations go when the library object does.
_library: torch.library.Library | None = None

try:
    import torchvision
except RuntimeError:
    _library = torch.library.Library("torchvision", "DEF")
    for operator in OPERATORS:
        _library.define(operator)
    import torchvision

__all__ = ["torchvision"]
