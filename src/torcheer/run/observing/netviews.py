"""Log what a NetView shows: the network, and the moments at which its layers were recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from torcheer.errors import InputError
from torcheer.run.netscene import NetScene
from torcheer.run.observing.guarding import never_raising
from torcheer.run.observing.plaintext import plain_text
from torcheer.run.observing.watches import ObservingWatches
from torcheer.run.records import MomentHead, NetViewHead

NETVIEW = "netview"  # the name of both series


class ObservingNetViews(ObservingWatches):
    """Not one of these methods raises. The values of the layers are tensors like all others."""

    @never_raising
    def log_netview(self, step: int, scene: NetScene, *, time: float | None = None) -> None:
        """Say which layers there are, how they lie and what connects them. The last one holds."""
        if not isinstance(scene, NetScene):
            raise InputError(f"a {type(scene).__name__} is no scene: give a torcheer.run.netscene.NetScene.")
        num_units = sum(layer.grid.num_units for layer in scene.layers)
        head = NetViewHead(num_layers=len(scene.layers), num_units=num_units)
        self._keep_now("netview", NETVIEW, step, time, head, msgspec.json.encode(_plain(scene)))

    @never_raising
    def log_moment(self, step: int, counters: Mapping[str, Any], *, time: float | None = None) -> None:
        """Say that the layers were recorded at this step. Counters are shown as texts: epoch, trial, name."""
        texts = {plain_text(str(name)): plain_text(str(value)) for name, value in counters.items()}
        self._keep_now("moment", NETVIEW, step, time, MomentHead(counters=texts), b"")


def _plain(scene: NetScene) -> Any:
    """Texts without half characters, which JSON in UTF-8 has no place for."""
    return _plain_texts(msgspec.to_builtins(scene))


def _plain_texts(value: Any) -> Any:
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, dict):
        return {key: _plain_texts(item) for key, item in value.items()}
    return [_plain_texts(item) for item in value] if isinstance(value, list | tuple) else value
