"""What any room asks of any model: its batches, its device, its layers by name, its modes, its rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.models.batches import TARGET_NAMES, Batch, detached, moved, num_items_of, split
    from torcheer.models.devices import AUTOMATIC, chosen_device, place
    from torcheer.models.model_modes import begin_eager, end_eager, same_modes_after, without_compiler
    from torcheer.models.named_layers import (
        WatchableLayer,
        chosen_layers,
        named_root,
        trackable,
        unwrapped,
        unwrapped_model,
    )
    from torcheer.models.process_ranks import (
        has_process_group,
        num_ranks,
        num_ranks_of_program,
        rank_of,
        rank_of_process,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)
