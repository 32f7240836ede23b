"""The network as plates of units: which layers, which variables, how a shape becomes a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.netview.capturing import plan_of, signature_of
    from torcheer.netview.flow import Flow
    from torcheer.netview.grids import grid_of, plate_size
    from torcheer.netview.placing import check_name
    from torcheer.netview.planning import NetPlan
    from torcheer.netview.running import looked_at
    from torcheer.netview.runscenes import (
        SCENE_FAULTS,
        Series,
        Source,
        is_parameter,
        item_shape,
        made_scene,
        named_series,
        watched_series,
    )
    from torcheer.netview.state import State
    from torcheer.netview.unit_weights import UnitWeights, received, sent
    from torcheer.netview.variables import RECEIVED, SENT, WEIGHT, about, in_order
    from torcheer.netview.view import NetView
else:
    __getattr__, __dir__ = lazy_imports(__name__)
