"""What each layer gives for every item of a test batch, under the names that NetView has for the layers."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from torch import Tensor

from torcheer.capture import Batch, ModelHistory
from torcheer.netview import Flow, NetPlan, check_name, looked_at, plan_of, signature_of
from torcheer.run import reason_of
from torcheer.training.looping.setup import Setup
from torcheer.training.looping.testitems import item_of
from torcheer.training.telling import warn

MOST_UNITS: Final = 512  # of a layer that is kept unless it is asked for by name
_MOST_PASS_BYTES: Final = 512 << 20  # a captured pass holds every value of every layer


class LayerValues:
    """Runs the model on test batches, and keeps what the layers gave. Where it cannot, it says so once."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._plans: dict[tuple[object, ...], NetPlan] = {}
        self._bytes_per_item: int | None = None
        self.is_on = setup.layers is None or len(setup.layers) > 0

    def run(self, batch: Batch) -> tuple[Any, dict[str, Tensor]]:
        """The outputs, and the values of layers, a row for each item. Raises what the model raises."""
        if not self.is_on or not self._fits(batch):
            return batch.given_to(self._setup.model), {}
        try:
            history = looked_at(self._setup.model, arguments_of(batch), None).history
        except Exception as error:
            outputs = batch.given_to(self._setup.model)  # raises by itself where the model does
            self._give_up(
                f"the layers of {type(self._setup.model).__name__} cannot be seen ({reason_of(error)})"
            )
            return outputs, {}
        return history.output, self._values(history, batch)

    def _fits(self, batch: Batch) -> bool:
        if self._bytes_per_item is None:
            self._bytes_per_item = self._measured(batch)
        if self._bytes_per_item * batch.num_items <= _MOST_PASS_BYTES:
            return True
        self._give_up(
            f"the layers of a test batch of {batch.num_items} items take more than "
            f"{_MOST_PASS_BYTES >> 20} MB together: a smaller batch_size of the test loader shows them"
        )
        return False

    def _measured(self, batch: Batch) -> int:
        inputs = item_of(batch.inputs, 0, batch.num_items)
        try:
            look = looked_at(self._setup.model, arguments_of(batch._replace(inputs=inputs)), None)
        except Exception:
            # It may need more than one item; or it cannot be seen, which is told with the whole batch.
            return 0
        return look.history.tensor_fsize_total

    def _values(self, history: ModelHistory, batch: Batch) -> dict[str, Tensor]:
        flow = Flow(history)
        signature = signature_of(flow)
        if signature not in self._plans:
            self._plans[signature] = plan_of(history, self._setup.model)
        plan, wanted = self._plans[signature], self._setup.layers
        names = [layer.name for layer in plan.layers]
        for name in wanted or ():
            check_name(name, names)
        found: dict[str, Tensor] = {}
        for layer in plan.layers:
            is_wanted = prod(layer.item_shape) <= MOST_UNITS if wanted is None else layer.name in wanted
            if not is_wanted or "Act" not in layer.values:
                continue
            value = layer.values["Act"](flow, None)
            if value is not None and value.ndim and len(value) == batch.num_items:
                found[layer.name] = value.detach()
        return found

    def _give_up(self, reason: str) -> None:
        self.is_on = False
        warn(f"{reason}. The table of test trials goes on without them.")


def arguments_of(batch: Batch) -> Any:
    """What forward is given, as NetView and a captured pass take it."""
    return batch.given_to(lambda *args, **kwargs: kwargs or list(args))
