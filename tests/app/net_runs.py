"""Runs with layers in them, and what the server says of them, asked without a socket."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.app.serving import take_apart
from torcheer.app.netview.net_messages import (
    LEVELS,
    NOT_THERE,
    NetMomentsAnswer,
    NetMomentsQuestion,
    NetRasterQuestion,
    NetSceneQuestion,
    NetUnitQuestion,
    NetUnitSeriesQuestion,
    NetValuesQuestion,
    NetWeightsQuestion,
)
from torcheer.app.netview.net_reader import Nets
from torcheer.app.netview.net_values import (
    SeenScene,
    answer_raster,
    answer_unit,
    answer_unit_series,
    answer_values,
    answer_weights,
    look_at_scene,
    moments_of,
    new_frames,
)
from torcheer.app.runs.open_run import ArrayCache, OpenRun, RunPlace
from torcheer.errors import TorcheerError
from torcheer.netview import grid_of
from torcheer.run import Connection, InterruptedReading, NetLayer, NetScene, Place, RunReader


def layer(name: str, *shape: int, variables: Sequence[str] = ("Act",), **more: Any) -> NetLayer:
    plain: dict[str, Any] = {"module": "", "grid": grid_of(shape), "place": Place()} | more
    return NetLayer(name=name, shape=list(shape), variables=list(variables), **plain)


def scene(*layers: NetLayer, connections: Sequence[Connection] = ()) -> NetScene:
    return NetScene(layers=list(layers), connections=list(connections))


class Block(NamedTuple):
    """The values of a layer."""

    said: dict[str, Any]
    levels: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """As a page has them, NaN for what is not there."""
        low, high = self.said["low"], self.said["high"]
        with np.errstate(all="ignore"):
            values = low + self.levels / LEVELS * (high - low)
        for code, value in ((65_533, -np.inf), (65_534, np.inf), (65_535, np.nan), (NOT_THERE, np.nan)):
            values[self.levels == code] = value
        return values

    @property
    def tolerance(self) -> float:
        """Half a level, and a little for rounding."""
        return float((self.said["high"] - self.said["low"]) / LEVELS * 0.52)


class AskedRun:
    """A run that a page asks about."""

    def __init__(self, path: Path, rank: int = 0) -> None:
        self.run = OpenRun(RunPlace(id="a", name="a", path=path), RunReader, ArrayCache(1 << 30))
        self.nets = Nets()
        self._plain: dict[str, Any] = {"id": 7, "run_id": "a", "rank": rank}
        self._scene: SeenScene | None = None
        self._moments: NetMomentsAnswer | None = None
        self._read()

    def _read(self) -> None:
        """A busy machine takes several looks for it."""
        while True:
            try:
                with suppress(TorcheerError, OSError):  # whoever asks is told why
                    self.run.look()
                return
            except InterruptedReading:
                pass

    def look_anew(self) -> None:
        """What was looked at this instant is not looked at again by itself."""
        self.run.looked_at = float("-inf")
        self._read()

    def scene(self) -> dict[str, Any]:
        frames, _ = look_at_scene(self.nets, self.run, NetSceneQuestion(**self._plain), None)
        return dict(json.loads(frames[0]))

    def scene_news(self) -> list[dict[str, Any]]:
        frames, self._scene = look_at_scene(self.nets, self.run, NetSceneQuestion(**self._plain), self._scene)
        return [json.loads(frame) for frame in frames]

    def layers(self) -> dict[str, dict[str, Any]]:
        return {layer["name"]: layer for layer in self.scene()["scene"]["layers"]}

    def variables(self) -> dict[str, dict[str, Any]]:
        return {variable["name"]: variable for variable in self.scene()["variables"]}

    def moments_news(self) -> list[dict[str, Any]]:
        now = moments_of(self.nets, self.run, NetMomentsQuestion(**self._plain))
        frames = new_frames(now, self._moments)
        self._moments = now
        return [json.loads(frame) for frame in frames]

    def values(self, *layers: str, step: int = 0, variable: str = "Act", item: int = 0) -> dict[str, Block]:
        question = NetValuesQuestion(
            step=step, variable=variable, item=item, layers=list(layers), **self._plain
        )
        answer, blocks = _blocks(answer_values(self.nets, self.run, question))
        assert answer["step"] == step
        return blocks

    def raster(
        self, *layers: str, step: int, num_moments: int, variable: str = "Act", item: int = 0
    ) -> tuple[list[int], dict[str, Block]]:
        question = NetRasterQuestion(
            step=step,
            variable=variable,
            item=item,
            layers=list(layers),
            num_moments=num_moments,
            **self._plain,
        )
        head, data = take_apart(answer_raster(self.nets, self.run, question))
        blocks, at = {}, 0
        for block in head["blocks"]:
            size = block["num_units"] * len(head["steps"])
            levels = np.frombuffer(data, "<u2", size, at).reshape(len(head["steps"]), -1) if size else None
            blocks[block["layer"]] = Block(block, np.empty((0, 0)) if levels is None else levels)
            at += 2 * size
        assert at == len(data)
        return head["steps"], blocks

    def unit(self, layer: str, unit: int, step: int = 0, item: int = 0) -> dict[str, Any]:
        question = NetUnitQuestion(step=step, layer=layer, unit=unit, item=item, **self._plain)
        return dict(json.loads(answer_unit(self.nets, self.run, question)))

    def unit_series(
        self, layer: str, unit: int, item: int = 0, most: int = 4096, **window: int
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        bounds: dict[str, Any] = {"low": None, "high": None} | window
        question = NetUnitSeriesQuestion(
            layer=layer, unit=unit, item=item, most=most, **bounds, **self._plain
        )
        head, data = take_apart(answer_unit_series(self.nets, self.run, question))
        found, numbers = {}, np.frombuffer(data, "<f8")
        for variable, count in zip(head["variables"], head["counts"], strict=True):
            found[variable] = numbers[:count], numbers[count : 2 * count]
            numbers = numbers[2 * count :]
        assert not len(numbers)
        return found

    def weights(
        self,
        layer: str,
        unit: int,
        direction: Any = "received",
        variable: str = "Wt",
        step: int = 0,
        item: int = 0,
    ) -> tuple[dict[str, Any], dict[str, Block]]:
        question = NetWeightsQuestion(
            layer=layer,
            unit=unit,
            direction=direction,
            variable=variable,
            step=step,
            item=item,
            **self._plain,
        )
        return _blocks(answer_weights(self.nets, self.run, question))


def _blocks(frame: bytes) -> tuple[dict[str, Any], dict[str, Block]]:
    head, data = take_apart(frame)
    return head, blocks_in(head, data)


def blocks_in(head: dict[str, Any], data: bytes) -> dict[str, Block]:
    blocks, at = {}, 0
    for block in head["blocks"]:
        blocks[block["layer"]] = Block(block, np.frombuffer(data, "<u2", block["num_units"], at))
        at += 2 * block["num_units"]
    assert at == len(data)
    return blocks
