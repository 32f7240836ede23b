"""What any room asks of any model: its batches, its device, its layers by name, its modes, its rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.models.batches import (
        AUTOMATIC,
        TARGET_NAMES,
        Batch,
        chosen_device,
        detached,
        moved,
        num_items_of,
        place,
        split,
    )
    from torcheer.models.layers import (
        WatchableLayer,
        begin_eager,
        choices_of,
        chosen_layers,
        end_eager,
        is_meant,
        same_modes_after,
        trackable,
        unwrapped_model,
        without_compiler,
    )
    from torcheer.models.process_ranks import (
        has_process_group,
        num_ranks,
        rank_of,
        rank_of_process,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)
