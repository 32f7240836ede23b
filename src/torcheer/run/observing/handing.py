"""Hand what was observed to the writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torcheer.run.observations import Encoded, Observation
from torcheer.run.observing.steps import checked_name, step_of, time_of
from torcheer.run.records import Kind


class Handing:
    """What the methods of a run stand on. The four of the writer's side are there in Run."""

    def _put_scalars(self, step: int, time: float, values: Mapping[str, float]) -> None:
        raise NotImplementedError

    def _put(self, observation: Observation) -> None:
        raise NotImplementedError

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None:
        raise NotImplementedError

    def _describe(self, kind: Kind, name: str, description: str) -> None:
        raise NotImplementedError

    def _keep(
        self,
        kind: Kind,
        name: Any,
        when: tuple[Any, Any],
        num_bytes: int,
        encode: Callable[[], Encoded],
        description: str = "",
    ) -> None:
        """`when` is a step and a time, as they were given."""
        observation = Observation(
            kind=kind,
            name=checked_name(name),
            step=step_of(when[0]),
            time=time_of(when[1]),
            num_bytes=num_bytes,
            encode=encode,
            description=description,
        )
        self._put(observation)
