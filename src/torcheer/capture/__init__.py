"""From torch to a pass: catch every operation, keep its tensors, answer questions about it."""

from torcheer.capture.checking.validation import ValidationReport, validate_saved_activations
from torcheer.capture.editing.rules import patch_from
from torcheer.capture.history import ModelHistory
from torcheer.capture.log import log_forward_pass
from torcheer.capture.op import Op
from torcheer.capture.summarising import Summary, summary

__all__ = [
    "ModelHistory",
    "Op",
    "Summary",
    "ValidationReport",
    "log_forward_pass",
    "patch_from",
    "summary",
    "validate_saved_activations",
]
