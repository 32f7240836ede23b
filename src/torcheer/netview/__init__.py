"""The network as plates of units: which layers, which variables, how a shape becomes a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.netview.flow import Flow
    from torcheer.netview.layers_of_pass import NetPlan, plan_of, signature_of
    from torcheer.netview.network_reader import (
        SCENE_FAULTS,
        Series,
        Source,
        is_parameter,
        item_shape,
        named_series,
        scene_from_series,
        watched_series,
    )
    from torcheer.netview.scene import (
        RECEIVED,
        SENT,
        WEIGHT,
        about,
        check_name,
        grid_of,
        in_order,
        plate_size,
    )
    from torcheer.netview.state import State
    from torcheer.netview.unit_weights import UnitWeights, weights_of_unit
    from torcheer.netview.view import NetView, looked_at
    from torcheer.netview.weight_axes import Axes, axes_of_weights
else:
    __getattr__, __dir__ = lazy_imports(__name__)
