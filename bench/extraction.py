"""Ways to keep every layer of AlexNet for a data set, each in a program of its own that takes its turn.

Seconds by the clock on the wall: two threads and a disk are at work, and the time of one of them says little.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from time import perf_counter
from typing import IO, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from bench.peer import Program, answers_alone, program
from examples.alexnet import AlexNet

BATCH: Final = 32
Work = Callable[[nn.Module, "Pictures", Path], None]


class Pictures(Dataset[tuple[Tensor, int]]):
    """Made when they are asked for, so that data take no memory: noise, cut from one large piece."""

    def __init__(self, num_samples: int, size: tuple[int, ...] = (3, 224, 224)) -> None:
        self._num_samples = num_samples
        self._size = size
        self._noise = torch.rand(int(np.prod(size)) + 65_536, generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return self._num_samples

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        start = number * 977 % 65_536
        return self._noise[start : start + int(np.prod(self._size))].view(self._size), number % 10

    def batches(self) -> Iterator[Tensor]:
        for first in range(0, len(self), BATCH):
            yield torch.stack([self[number][0] for number in range(first, min(first + BATCH, len(self)))])


# --- the ways --------------------------------------------------------------------------------------------


def bare(model: nn.Module, pictures: Pictures, folder: Path) -> None:
    """A forward pass over all, and nothing kept."""
    with torch.no_grad():
        for batch in pictures.batches():
            model(batch)


def bare_and_memmap(model: nn.Module, pictures: Pictures, folder: Path) -> None:
    """The same, and as many bytes as all layers have, written into memory maps; no way to go on with it."""
    kept = _outputs_of(model)
    with torch.no_grad():
        model(next(pictures.batches()))
    values = [value.clone().numpy() for value in kept.values]
    values.append(kept.values[13].flatten(1).clone().numpy())  # the one op that is no module
    kept.end()
    maps = [
        np.lib.format.open_memmap(
            folder / f"{place}.npy", mode="w+", dtype=value.dtype, shape=(len(pictures), *value.shape[1:])
        )
        for place, value in enumerate(values)
    ]
    first = 0
    with torch.no_grad():
        for batch in pictures.batches():
            model(batch)
            for target, value in zip(maps, values, strict=True):
                target[first : first + len(batch)] = value[: len(batch)]
            first += len(batch)


def hooks_and_save(model: nn.Module, pictures: Pictures, folder: Path) -> None:
    """Module hooks, and a file of torch.save for each batch."""
    kept = _outputs_of(model)
    with torch.no_grad():
        for number, batch in enumerate(pictures.batches()):
            model(batch)
            torch.save([value.clone() for value in kept.values], folder / f"{number}.pt")
            kept.values.clear()
    kept.end()


def torcheer(model: nn.Module, pictures: Pictures, folder: Path) -> None:
    import torcheer as tl

    tl.extract(model, pictures, layers="all", to=folder / "features", batch_size=BATCH, progress=False)


def torchlens(model: nn.Module, pictures: Pictures, folder: Path) -> None:
    import torchlens as peer

    layers = [name for name, module in model.named_modules() if not list(module.children())]
    layers[-1] = "linear_3_22"  # its module name means two things to it, the op and the output
    samples = torch.cat(list(pictures.batches()))
    with torch.no_grad():
        peer.extract_dataset(
            model, samples, layers, batch_size=BATCH, output_dir=folder / "features", progress=False
        )


WAYS: Final[dict[str, Work]] = {
    "bare": bare,
    "memmap": bare_and_memmap,
    "save": hooks_and_save,
    "torcheer": torcheer,
    "torchlens": torchlens,
}


class _outputs_of:  # noqa: N801
    """Keeps what each module without modules of its own gives."""

    def __init__(self, model: nn.Module) -> None:
        self.values: list[Tensor] = []
        self._handles = [
            module.register_forward_hook(lambda _, __, output: self.values.append(output))
            for module in model.modules()
            if not list(module.children())
        ]

    def end(self) -> None:
        for handle in self._handles:
            handle.remove()


# --- a program for each ------------------------------------------------------------------------------------


def contender(
    way: str, *, num_threads: int, rank: str = "0", world: str = "1", to: str = ""
) -> AbstractContextManager[Program]:
    """Asked for a number of samples, it says the seconds, and the most memory that it ever had."""
    environment = {"RANK": rank, "WORLD_SIZE": world, "OMP_NUM_THREADS": str(num_threads)}
    return program("bench.extraction", way, str(num_threads), to, **environment)


def _serve(way: str, to: str, requests: IO[str], answers: IO[str]) -> None:
    torch.manual_seed(0)
    model = AlexNet().eval() if way != "small" else _small_model().eval()
    for line in requests:
        pictures = Pictures(int(line)) if way != "small" else Pictures(int(line), (3, 32, 32))
        work = WAYS.get(way, torcheer)
        folder = Path(to) if to else Path(tempfile.mkdtemp(prefix="torcheer-bench-"))
        gc.collect()
        started = perf_counter()
        work(model, pictures, folder)
        seconds = perf_counter() - started
        if not to:
            shutil.rmtree(folder)
            os.sync()  # what this one left to be written must not slow the next one down
        print(json.dumps([seconds, _peak_bytes()]), file=answers, flush=True)


def _peak_bytes() -> int:
    """Of this program alone: what getrusage says begins with that of the program which started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


def _small_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 16 * 16, 10),
    )


def _main() -> None:
    warnings.simplefilter("ignore")
    way, num_threads, to = sys.argv[1:4]
    torch.set_num_threads(int(num_threads))
    _serve(way, to, sys.stdin, answers_alone())


if __name__ == "__main__":
    _main()
