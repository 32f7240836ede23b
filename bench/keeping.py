"""A history written and read, against the safetensors library with the same tensors on the same disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import torcheer as tl
from bench.effort import Effort
from bench.measure import Times, interleave
from bench.models import build
from bench.report import Section, Table, Verdict
from torcheer.capture import load_history, save_history

SAVE = "history.save"
PLAIN_SAVE = "safetensors save"
SYNCED_SAVE = "safetensors save, then fsync"
LOAD = "tl.load_history, all values"
PLAIN_LOAD = "safetensors load"
COPIED_LOAD = "safetensors load, copied"
OPEN = "tl.load_history alone"
BATCHES = {"ResNet-18": 8, "GPT-2 small, 64 tokens": 1}
QUICK_MODELS = ("GPT-2 small, 64 tokens",)
TEXT = """\
By the clock on the wall, since a disk is waited for. Both write the same tensors: the values of a history, no
memory twice. `history.save` also writes the structure, sums up every byte, and waits (fsync) until
all is on the disk, which the safetensors library leaves to the system. Reading is from a warm cache and ends
when each number has been used once: the sum of each tensor. The library maps the file into memory; torcheer
reads it into memory of its own and checks the sums, so that a file that is damaged, or cut while it is open,
gives an error. *Copied* is the library with a copy of each tensor, which is what that takes at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    model: str
    num_ops: int
    megabytes: float
    times: Times

    def speed(self, name: str) -> float:
        return self.megabytes / self.times.median(name)


def bench_keeping(effort: Effort) -> Section:
    names = QUICK_MODELS if effort.is_quick else BATCHES
    kept = [_measure(name, BATCHES[name], share) for name, share in effort.divide(names)]
    return Section(
        title="A history on the disk",
        parts=[TEXT, _speeds(kept), "Ratios within a round:", _ratios(kept)],
        verdicts=[verdict for one in kept for verdict in _verdicts(one)],
        data=[{**asdict(one), "times": one.times.by_name} for one in kept],
    )


def _measure(name: str, batch: int, effort: Effort) -> Kept:
    print(f"  {name}, batch {batch} …", flush=True)
    model, inputs = build(name)
    with torch.no_grad():
        history = tl.log_forward_pass(model, inputs.repeat(batch, *[1] * (inputs.dim() - 1)))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        ours, theirs = Path(folder) / "ours.safetensors", Path(folder) / "theirs.safetensors"
        save_history(history, ours)
        tensors = {name: value.clone() for name, value in load_file(ours).items()}
        runs: dict[str, Callable[[], Any]] = {
            SAVE: partial(save_history, history, ours),
            PLAIN_SAVE: partial(save_file, tensors, theirs),
            SYNCED_SAVE: partial(_save_and_sync, tensors, theirs),
            LOAD: partial(_load, ours, set(tensors)),
            PLAIN_LOAD: partial(_load_plainly, theirs),
            COPIED_LOAD: partial(_load_plainly, theirs, copied=True),
            OPEN: partial(load_history, ours),
        }
        clocks = {name: partial(_seconds, run) for name, run in runs.items()}
        times = interleave(clocks, effort)
        megabytes = os.path.getsize(ours) / 1e6
    return Kept(model=f"{name}, batch {batch}", num_ops=len(history), megabytes=megabytes, times=times)


def _seconds(run: Callable[[], Any]) -> float:
    os.sync()  # what the one before has left to the system is not this one's to wait for
    started = perf_counter()
    result = run()
    seconds = perf_counter() - started
    del result
    return seconds


def _save_and_sync(tensors: dict[str, Tensor], path: Path) -> None:
    save_file(tensors, path)
    descriptor = os.open(path, os.O_RDWR)
    os.fsync(descriptor)
    os.close(descriptor)


def _load(path: Path, names: set[str]) -> list[Tensor]:
    return [op.tensor_contents.sum() for op in load_history(path) if op.layer_label in names]


def _load_plainly(path: Path, copied: bool = False) -> list[Tensor]:
    return [(value.clone() if copied else value).sum() for value in load_file(path).values()]


def _speeds(kept: list[Kept]) -> Table:
    names = (SAVE, PLAIN_SAVE, SYNCED_SAVE, LOAD, PLAIN_LOAD, COPIED_LOAD)
    return Table(
        columns=("model", "ops", "MB", *(f"{name}, MB/s" for name in names), f"{OPEN}, ms"),
        rows=[
            (
                one.model,
                f"{one.num_ops:,}",
                f"{one.megabytes:,.0f}",
                *(f"{one.speed(name):,.0f}" for name in names),
                f"{one.times.median(OPEN) * 1e3:.1f}",
            )
            for one in kept
        ],
    )


PAIRS = ((SAVE, PLAIN_SAVE), (SAVE, SYNCED_SAVE), (LOAD, PLAIN_LOAD), (LOAD, COPIED_LOAD), (OPEN, LOAD))


def _ratios(kept: list[Kept]) -> Table:
    return Table(
        columns=("model", *(f"{one} / {other}" for one, other in PAIRS)),
        rows=[(one.model, *(str(one.times.ratio(*pair)) for pair in PAIRS)) for one in kept],
    )


def _verdicts(one: Kept) -> list[Verdict]:
    return [
        Verdict(
            what=f"{one.model}: saving × a plain safetensors write that is synced too",
            figure=one.times.ratio(SAVE, SYNCED_SAVE).median,
            at_most=1.5,
        ),
        Verdict(
            what=f"{one.model}: opening alone × reading all values",
            figure=one.times.ratio(OPEN, LOAD).median,
            at_most=0.5,
        ),
    ]
