"""A watched training without a process: the child is only pretended, and its frames can be looked at."""

from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from tests.inspector.feeding import job_of
from torcheer.inspector.frame_format import DTYPES, Frame, Layout, Plan, RowFlag, read_frame
from torcheer.inspector.protocol import Message, ToParent
from torcheer.inspector.ring import Ring
from torcheer.inspector.watched_share import Room, WatchedShare, observed
from torcheer.inspector.watched_steps import ForwardSteps, OptimizerSteps, parse_rate
from torcheer.inspector.watcher import Watcher
from torcheer.models import chosen_layers


class Seen:
    """What one frame has of a training, copied."""

    def __init__(self, frame: Frame, plan: Plan) -> None:
        self.step = frame.step
        self.rows = frame.rows.copy()
        self.names = [row.name for row in plan.rows]
        self._samples = frame.samples.copy()
        self._excerpts = [_copied(frame.excerpt(row)) for row in range(len(plan.rows))]
        self._units = [frame.units(row).copy() for row in range(len(plan.rows))]

    def has(self, name: str) -> bool:
        return bool(self.rows[self.names.index(name)]["flags"] & RowFlag.SEEN)

    def row(self, name: str) -> Any:
        assert self.has(name), f"{name} was not seen"
        return self.rows[self.names.index(name)]

    def sample(self, name: str) -> NDArray[numpy.float32]:
        return self._samples[self.names.index(name)][: self.row(name)["num_sampled"]]

    def excerpt(self, name: str) -> NDArray[Any] | None:
        return self._excerpts[self.names.index(name)]

    def dtype(self, name: str) -> str:
        return DTYPES[self.row(name)["dtype"]][0]

    def shape(self, name: str) -> tuple[int, ...]:
        row = self.row(name)
        return tuple(row["shape"][: row["num_dims"]].tolist())

    def units(self, name: str) -> NDArray[numpy.uint8]:
        return self._units[self.names.index(name)]


class PretendedChild:
    """Takes the place of `Child`: frames are read when it is asked what it has to say."""

    def __init__(self) -> None:
        self.job = job_of(None)
        self.ring: Ring | None = None
        self.is_given_up = False
        self.num_restarts = 0
        self.is_slow = False  # it takes nothing
        self.seen: list[Seen] = []
        self.heard: list[Message] = []
        self.plans: list[Plan] = []
        self.says: list[ToParent] = []
        self.closed_with: str | None = None

    def new_plan(self, plan: Plan) -> Ring:
        self.take()
        self.plans.append(plan)
        self.ring = Ring.of_size(plan.num_slots, Layout(plan).num_bytes, len(plan.rows))
        return self.ring

    def take(self) -> None:
        if self.ring is None or self.is_slow:
            return
        plan = self.plans[-1]
        while self.ring.num_waiting:
            frame = read_frame(self.ring.slot(self.ring.num_given_back), Layout(plan))
            self.seen.append(Seen(frame, plan))
            self.ring.give_back()

    def tell(self, message: Message) -> None:
        self.heard.append(message)

    def poll(self) -> list[ToParent]:
        self.take()
        said, self.says = self.says, []
        return said

    def is_alive(self) -> bool:
        return self.closed_with is None

    def flush(self, timeout: float) -> bool:
        self.take()
        return True

    def close(self, timeout: float, reason: str = "") -> bool:
        self.take()
        self.closed_with = reason
        return True


class Pretended:
    """A watcher and its pretended child."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer | list[Optimizer] | None = None,
        *,
        layers: Any = "all",
        observe: Any = "all",
        room: Room | None = None,
        every: Any = 1,
        tensors: Mapping[str, Tensor] | None = None,
        **manner: Any,
    ) -> None:
        self.child = PretendedChild()
        chosen, given = chosen_layers(model, layers), dict(tensors or {})
        optimizers = [optimizer] if isinstance(optimizer, Optimizer) else optimizer
        steps = OptimizerSteps(optimizers) if optimizers else ForwardSteps([model], chosen, given)
        child: Any = self.child
        part = WatchedShare(child, observed(observe), room or Room(), chosen, given)
        self.watcher = Watcher([part], steps, parse_rate(every), **manner)
        self.watcher.start()

    @property
    def seen(self) -> list[Seen]:
        self.child.take()
        return self.child.seen

    def close(self) -> None:
        self.watcher.close()


def _copied(array: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if array is None else array.copy()
