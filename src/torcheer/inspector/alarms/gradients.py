"""Which rows say how the gradients of a model are: those of its weights, or those of what its layers give."""

from __future__ import annotations

from torcheer.inspector.alarms.sight import Places
from torcheer.inspector.rows import Plan


def gradient_places(plan: Plan) -> Places:
    """Those of weights where they are watched."""
    for role in ("weight_gradient", "gradient"):
        chosen = [index for index, row in enumerate(plan.rows) if row.role == role]
        if chosen:
            return Places(plan, chosen)
    return Places(plan, [])
