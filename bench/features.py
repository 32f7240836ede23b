"""Extraction of features: against the bare forward and a plain write, against others; ranks; memory."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np

from bench import peer
from bench.effort import Effort
from bench.extraction import contender
from bench.measure import Times, interleave
from bench.report import Section, Table, Verdict
from torcheer.features import ArraySpec, FolderStore

NAMES: Final = {
    "bare": "forward alone",
    "memmap": "forward + np.memmap",
    "torcheer": "tl.extract",
    "save": "hooks + torch.save",
    "torchlens": "TorchLens",
}
NUM_PICTURES: Final = 128
TEXT: Final = f"""\
Every layer of AlexNet (22 ops, 4.2 MB a sample) for {NUM_PICTURES} pictures of 224 × 224, 32 a batch, on
disk. Seconds by the clock on the wall, in turn, each way in a program of its own. *forward + np.memmap* runs
the bare model and writes as many bytes into memory maps, without waiting for the disk; ours syncs all of it,
and can go on after a kill. *hooks + torch.save* writes a file a batch. *TorchLens* is its
`extract_dataset`."""
DISK_TEXT: Final = """\
Writing alone, blocks of 32 MB: the store of `tl.extract`, synced and journaled, against copies into a plain
`np.memmap`."""
RANKS_TEXT: Final = """\
The same extraction by one process and by two, one thread each, as torchrun starts them. On two processors:
one process writes with the second, too."""
MEMORY_TEXT: Final = """\
The most memory that a process ever had, all layers of a small CNN (pictures of 32 × 32), for few samples and
for many."""


def bench_features(effort: Effort) -> Section:
    print("  memory …", flush=True)
    memory = {number: _memory(number) for number in ((500, 2_000) if effort.is_quick else (1_000, 20_000))}
    ranks = {} if effort.is_quick else _ranks(effort)
    threads = (2,) if effort.is_quick else (2, 1)
    measures = (*(partial(_ways, number) for number in threads), _disk)
    *ways, disk = (measure(share) for measure, share in effort.divide(measures))
    found = dict(zip(threads, ways, strict=True))
    return Section(
        title="Features",
        parts=[
            *(TEXT, _table(found), DISK_TEXT, _disk_table(disk)),
            *((RANKS_TEXT, _rank_table(ranks)) if ranks else ()),
            *(MEMORY_TEXT, _memory_table(memory)),
        ],
        verdicts=_verdicts(found, disk, memory),
        data={
            "ways": {str(number): times.by_name for number, times in found.items()},
            "disk": disk.by_name,
            "ranks": ranks,
            "memory": memory,
        },
    )


def _ways(num_threads: int, effort: Effort) -> Times:
    print(f"  AlexNet, {num_threads} threads …", flush=True)
    ways = ("bare", "memmap", "torcheer") if effort.is_quick else tuple(NAMES)
    if peer.version() is None:
        ways = tuple(way for way in ways if way != "torchlens")
    with ExitStack() as stack:
        programs = {way: stack.enter_context(contender(way, num_threads=num_threads)) for way in ways}
        clocks = {way: partial(_seconds, program) for way, program in programs.items()}
        rarely = {way: clocks.pop(way) for way in ("torchlens",) if way in clocks}
        return interleave(clocks, effort, rarely=rarely)


def _seconds(program: peer.Program) -> float:
    return float(program.ask(NUM_PICTURES)[0])


def _disk(effort: Effort) -> Times:
    print("  writing alone …", flush=True)
    block = np.random.default_rng(0).random((64, 65_536 * 2), dtype=np.float32)
    num_blocks = 4 if effort.is_quick else 16
    folder = Path(tempfile.mkdtemp(prefix="torcheer-bench-"))

    def memmap() -> float:
        target: Any = np.lib.format.open_memmap(
            folder / "map.npy", mode="w+", dtype=block.dtype, shape=(num_blocks * 64, block.shape[1])
        )
        started = perf_counter()
        for number in range(num_blocks):
            target[number * 64 : (number + 1) * 64] = block
        seconds = perf_counter() - started
        del target
        return _cleared(folder, seconds)

    def store() -> float:
        array = ArraySpec(name="layer", file="layer", dtype="<f4", shape=(block.shape[1],))
        place = FolderStore(folder / "features")
        place.make_room([array], num_blocks * 64, 64)
        writer = place.writer("bench")
        started = perf_counter()
        for number in range(num_blocks):
            writer.put_rows(array, number * 64, block)
        writer.commit([])
        seconds = perf_counter() - started
        writer.close()
        return _cleared(folder, seconds)

    try:
        return interleave({"np.memmap": memmap, "store": store}, effort)
    finally:
        shutil.rmtree(folder)


def _cleared(folder: Path, seconds: float) -> float:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    os.sync()
    return seconds


def _ranks(effort: Effort) -> dict[int, float]:
    """Seconds by the number of processes, medians of rounds in turn."""
    print("  ranks …", flush=True)
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(effort.min_rounds):
        for world in found:
            found[world].append(_by_ranks(world))
    return {world: statistics.median(seconds) for world, seconds in found.items()}


def _by_ranks(world: int) -> float:
    folder = tempfile.mkdtemp(prefix="torcheer-bench-")
    try:
        with ExitStack() as stack:
            programs = [
                stack.enter_context(
                    contender("torcheer", num_threads=1, rank=str(rank), world=str(world), to=folder)
                )
                for rank in range(world)
            ]
            seconds = [0.0] * world

            def run(rank: int) -> None:
                seconds[rank] = _seconds(programs[rank])

            threads = [threading.Thread(target=run, args=(rank,)) for rank in range(world)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return max(seconds)
    finally:
        shutil.rmtree(folder)
        os.sync()


def _memory(num_samples: int) -> int:
    with contender("small", num_threads=1) as program:
        return int(program.ask(num_samples)[1])


# --- tables ------------------------------------------------------------------------------------------------


def _table(found: dict[int, Times]) -> Table:
    rows = []
    for way, name in NAMES.items():
        if way in found[2].by_name:
            cells = [str(times.ratio(way, "memmap")) for times in found.values()]
            rows.append((name, *cells, f"{found[2].median(way):.2f} s"))
    ratios = (f"× {NAMES['memmap']}, {number} threads" for number in found)
    return Table(columns=("way", *ratios, "2 threads, median"), rows=rows)


def _disk_table(disk: Times) -> Table:
    ratio = disk.ratio("np.memmap", "store")
    return Table(
        columns=("speed of the store / of np.memmap", ""), rows=[(str(ratio), f"{ratio.num_rounds} rounds")]
    )


def _rank_table(ranks: dict[int, float]) -> Table:
    rows = [(str(world), f"{seconds:.2f} s", f"{ranks[1] / seconds:.2f}") for world, seconds in ranks.items()]
    return Table(columns=("processes", "seconds", "times as fast"), rows=rows)


def _memory_table(memory: dict[int, int]) -> Table:
    rows = [(f"{number:,}", f"{peak / 2**20:,.0f} MB") for number, peak in memory.items()]
    return Table(columns=("samples", "peak memory"), rows=rows)


def _verdicts(found: dict[int, Times], disk: Times, memory: dict[int, int]) -> list[Verdict]:
    verdicts = [
        Verdict(
            what=f"AlexNet, all layers, {number} threads: tl.extract × forward + np.memmap",
            figure=times.ratio("torcheer", "memmap").median,
            at_most=1.3,
        )
        for number, times in found.items()
    ]
    speed = disk.ratio("np.memmap", "store").median
    (few, small), (many, large) = memory.items()
    return [
        *verdicts,
        Verdict(what="writing: speed of the store / of np.memmap", figure=speed, at_least=0.7),
        Verdict(what=f"peak memory, {many:,} samples / {few:,}", figure=large / small, at_most=1.1),
    ]
