"""The way up from a run to a pass: capture stands above, and is loaded only when somebody logs a pass."""

from __future__ import annotations

import importlib
from typing import Any


def is_history(value: Any) -> bool:
    """Whether it is a ModelHistory. Asking loads nothing."""
    return any(
        kind.__name__ == "ModelHistory" and kind.__module__.startswith("torcheer.capture")
        for kind in type(value).__mro__
    )


def source_of(history: Any) -> Any:
    """What gives the document of a pass, and figures of its tensors."""
    return importlib.import_module("torcheer.capture.page_source").HistorySource(history)


def pass_of(model: Any, inputs: Any) -> Any:
    """Run a model once, and leave it and the random generators as they were."""
    log = importlib.import_module("torcheer.capture.api")
    state = importlib.import_module("torcheer.capture.state")
    with state.same_model_after(model), state.same_random_state_after():
        return log.log_forward_pass(model, inputs)
