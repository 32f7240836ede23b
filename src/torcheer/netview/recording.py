"""Write the moments of a network into a run: what is shown, its values, and counters beside them."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.netview.placing import Arrangement
from torcheer.netview.runscenes import is_known, last_scene, written_scenes
from torcheer.run import NETVIEW, NetScene, Run

# The writer of a run drops what it cannot write in time. Half a moment is no use, so it is waited for.
_MOST_WAITING_BYTES: Final = 48 << 20
_MOST_WAITING_RECORDS: Final = 400


class NetRecording:
    """One run to which moments are added, one after the other.

    `is_growing`: layers are met one by one, so that a network may be shown with some of them.
    """

    def __init__(self, run: Run | str | os.PathLike[str] | None, *, is_growing: bool = False) -> None:
        self.run, self._is_own = _opened(run)
        self._is_growing = is_growing
        self.arrangement = Arrangement()
        self.step = -1  # of the last moment
        self._scene: NetScene | None = None  # as it was last written
        self._wanted: NetScene | None = None  # without what somebody wants otherwise
        self._waiting_bytes = self._waiting_records = 0
        if not self._is_own or any(self.run.path.glob("*.sqlite")):
            self._go_on()

    def _go_on(self) -> None:
        """In a run that has moments already, places hold and steps go on."""
        reader = self.run._reader()  # with all that was logged until now
        scene = last_scene(reader)
        if scene is not None:
            self.arrangement = Arrangement.of(scene)
        self.step = max((entry.step for entry in reader.records("moment", NETVIEW)), default=-1)

    @property
    def scene(self) -> NetScene:
        return NetScene(layers=[], connections=[]) if self._scene is None else self._scene

    def is_closed(self) -> bool:
        """Then the run says so, once, and nothing can be kept."""
        return not self.run._is_running()

    def begin(self) -> int:
        """The step of the moment that comes now."""
        self.step += 1
        return self.step

    def show(self, scene: NetScene) -> None:
        """What there is from now on; written where it is not what there was."""
        if self._wanted is None and self.step > 0:
            self._check_goes_on(scene)
        self._wanted = scene
        laid = self.arrangement.laid_over(scene)
        if laid != self._scene:
            self._scene = laid
            self.run.log_netview(max(self.step, 0), laid)

    def _check_goes_on(self, scene: NetScene) -> None:
        """A run is of one network: in a second session it goes on, and another one is a mistake."""
        if not is_known(scene, written_scenes(self.run._reader()), is_growing=self._is_growing):
            self.close()
            raise InputError(
                f"the run {self.run.path} has moments of another network, with other layers: give another "
                "folder, or remove that one."
            )
        sys.stderr.write(
            f"torcheer: the run {self.run.path} has moments already, and goes on at step {self.step}. "
            "Another folder begins anew.\n"
        )

    def last_tensor(self, name: str) -> Tensor | None:
        """As the run has it, from before."""
        if name not in self.run.names("tensor"):
            return None
        record = self.run.tensors(name)[-1]
        dtype = getattr(torch, record.dtype, None)
        if not isinstance(dtype, torch.dtype):
            return None
        return torch.from_numpy(record.array.copy()).to(dtype)

    def show_again(self, scene: NetScene) -> None:
        """After somebody has placed or shaped a layer of a scene: of this recording, or another's."""
        if self._wanted is not None:
            self.show(self._wanted)
        else:
            self.run.log_netview(max(self.step, 0), self.arrangement.laid_over(scene))

    def put(self, name: str, tensor: Tensor) -> None:
        num_bytes = tensor.numel() * tensor.element_size()
        if (
            self._waiting_bytes + num_bytes > _MOST_WAITING_BYTES
            or self._waiting_records >= _MOST_WAITING_RECORDS
        ):
            self.run.flush()
            self._waiting_bytes = self._waiting_records = 0
        self._waiting_bytes += num_bytes
        self._waiting_records += 1
        self.run.log_tensor(self.step, name, tensor)

    def end(self, counters: Mapping[str, Any]) -> None:
        self.run.log_moment(self.step, {name: _plain(value) for name, value in counters.items()})

    def close(self) -> None:
        """A run that somebody else opened stays open."""
        if self._is_own:
            self.run.close()


def _plain(value: Any) -> Any:
    """A tensor of one number as that number, for people to read."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        return value
    number = value.item()
    return f"{number:.6g}" if isinstance(number, float) else number


def _opened(run: Run | str | os.PathLike[str] | None) -> tuple[Run, bool]:
    if isinstance(run, Run):
        return run, False
    if run is not None:
        return Run(run), True
    folder = Path(tempfile.mkdtemp(prefix="torcheer-netview-"))
    made = Run(folder / "netview")
    atexit.register(_remove, made, folder)
    return made, True


def _remove(run: Run, folder: Path) -> None:
    """A run of which nobody said where to keep it goes with the program."""
    run.close()
    shutil.rmtree(folder, ignore_errors=True)
