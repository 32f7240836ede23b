"""Read a hundred thousand damaged folders and files, and measure what each takes against its bytes on disk.

    python -m tests.run.torture_files --inputs 100000 --seed 1

Event folders, embeddings, layouts, run parts, features, saved passes and checkpoints are made from honest
ones, changed where it hurts, and read by the doors that users have: tl.open_run and all its readers,
`torcheer runs`, the lists and answers of the app, tl.open_features, tl.load_history, tl.load_checkpoint.
Memory stays below 64 MB and 16 times the bytes on disk, time below a second and a second a megabyte, and what
is raised is an error of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

from rich.console import Console
from rich.progress import Progress

from tests.run import file_mutations as files
from tests.run.amplification import Taken, measured
from tests.run.reading_all import attempt, read_all
from torcheer.errors import TorcheerError

BATCH = 1000  # inputs of a child
SILENT_SECONDS = 300  # after which a child is taken to hang
MORE_MEMORY_BYTES = 3 << 30  # than a child has at first, and no further

Door = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What reading one input took."""

    kind: str
    seed: int
    disk_bytes: int
    memory_bytes: int
    seconds: float
    memory_share: float
    time_share: float
    fault: str  # what was raised that is none of ours


# --- doors -------------------------------------------------------------------------------------------


def read_run(folder: Path) -> None:
    import torcheer as tl

    with suppress(TorcheerError), tl.open_run(folder) as run:
        read_all(run)


def list_runs(folder: Path) -> None:
    from typer.testing import CliRunner

    from torcheer.cli import app

    target = folder.with_name(f"{folder.name}-exported")
    for command in (
        ["list", str(folder)],
        ["show", str(folder), "--json"],
        ["export", "csv", str(folder)],
        ["export", "tensorboard", str(folder), "-o", str(target)],
    ):
        result = CliRunner().invoke(app, ["runs", *command])
        if result.exception is not None and not isinstance(result.exception, TorcheerError | SystemExit):
            raise result.exception
    shutil.rmtree(target, ignore_errors=True)


def show_in_app(folder: Path) -> None:
    """As a page asks: the list, the series of a run, its records."""
    from torcheer.app.runs import run_answers
    from torcheer.app.runs.run_messages import RecordQuestion, RecordsQuestion
    from torcheer.app.runs.run_records import answer_record, answer_records
    from torcheer.app.server import shelves
    from torcheer.app.wire import as_json

    passes, runs = shelves([folder])
    passes.listing()
    assert runs is not None
    runs.scan()
    for summary in runs.summaries():
        while not summary.update():
            pass
        as_json(summary.listing)
        as_json(summary.hparams)
        if summary.listing.note == "this run cannot be read: the server's log says why.":
            raise AssertionError("the app could not read it, and nobody knows why")
        run = summary.run
        looked = run_answers._new_series(run, None)
        listings = [] if looked is None else [one for index in looked.found for one in index.series]
        for listing in listings[:50]:
            as_json(listing)
            if listing.kind == "scalar":
                with run.lock:
                    run.arrays(listing.name).show("step", (None, None), 100)
                continue
            question = RecordsQuestion(id=1, run_id="x", kind=listing.kind, name=listing.name[:4000], most=20)
            found = json.loads(answer_records(run, question))
            for record in found["records"][:3]:
                attempt(answer_record, run, RecordQuestion(id=1, run_id="x", record=record["record"]))
    runs.close()


def read_features(folder: Path) -> None:
    import torcheer as tl

    features = attempt(tl.open_features, folder)
    if features is None:
        return
    attempt(lambda: (repr(features), features.num_samples, features.is_complete, features.done.sum()))
    attempt(lambda: (features.labels, features.ids))
    for name in attempt(lambda: features.layers) or ():
        attempt(lambda name=name: (features[name].shape, features[name][:4], features.origin(name)))


def show_features(folder: Path) -> None:
    from torcheer.app.features.feature_sets import shelf_of
    from torcheer.app.features.feature_values import set_answer

    shelf = shelf_of([folder])
    assert shelf is not None
    for opened in shelf.sets().values():
        attempt(set_answer, opened, 1)


def read_pass(folder: Path) -> None:
    import torcheer as tl
    from torcheer.app.passes.saved import SavedPasses

    for path in folder.iterdir():
        history = attempt(tl.load_history, path)
        if history is not None:
            attempt(lambda history=history: [str(op) for op in history])
    shelf = SavedPasses([folder])
    for listed in shelf.listing():
        source = attempt(shelf.source, listed.id)
        if source is not None:
            attempt(source.document)
            attempt(source.tensor, "output", 0, None)


def read_checkpoint(folder: Path) -> None:
    import torcheer as tl

    for path in folder.iterdir():
        attempt(tl.load_checkpoint, path)


# --- honest ones -------------------------------------------------------------------------------------


def write_templates(place: Path) -> None:
    """What all others are made from."""
    import torch
    from torch import nn

    import torcheer as tl

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    history = tl.log_forward_pass(model, torch.randn(2, 4))
    history.save(place / "pass.safetensors")
    optimizer = torch.optim.Adam(model.parameters())
    tl.save_checkpoint(place / "checkpoint.safetensors", model=model, optimizer=optimizer, position=3)
    with tl.Run(place / "run") as run:
        for step in range(20):
            run.log(step, loss=1.0 / (step + 1), accuracy=step / 20)
        run.log_tensor(1, "weight", torch.randn(3, 4))
        run.log_histogram(1, "weights", torch.randn(100))
        run.log_image(1, "picture", torch.rand(3, 4, 5))
        run.log_text(1, "note", "words")
        run.log_audio(1, "sound", torch.rand(100), sample_rate=8000)
        run.log_embedding(1, "codes", torch.rand(5, 3), metadata=list("abcde"))
        run.log_pr_curve(1, "pr", torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.8, 0.6]))
        run.log_hparams({"lr": 0.1, "name": "adam"})
        run.log_pass(1, "pass", history)
        run.log_table(1, "epochs", {"loss": [1.0, 2.0], "name": ["a", "b"]})
        run.log_alarm(2, "nan", layer="0", variable="weight", message="at step 2")
    data = torch.randn(12, 4), torch.arange(12) % 3
    for name in ("npy", "all.zarr"):
        tl.extract(model, data, layers=["0", "2"], to=place / name, batch_size=4, progress=False)


KINDS: dict[str, tuple[float, tuple[Door, ...]]] = {  # with how many there are of each
    "events": (50, (read_run, show_in_app)),
    "embeddings": (15, (read_run, show_in_app)),
    "part": (10, (read_run, show_in_app)),
    "npy": (8, (read_features, show_features)),
    "zarr": (6, (read_features,)),
    "pass": (6, (read_pass,)),
    "checkpoint": (5, (read_checkpoint,)),
}
LISTED = 0.03  # of runs that are also listed and exported on the command line, which takes longer


def make_input(kind: str, folder: Path, choices: random.Random, templates: Path) -> None:
    makers: dict[str, Callable[[], None]] = {
        "events": partial(files.make_events, folder, choices),
        "embeddings": partial(files.make_embeddings, folder, choices),
        "part": partial(files.make_part, folder, choices, templates / "run"),
        "npy": partial(files.make_features, folder, choices, templates / "npy"),
        "zarr": partial(files.make_features, folder, choices, templates / "all.zarr"),
        "pass": partial(
            files.make_tensor_file, folder / "a.safetensors", choices, templates / "pass.safetensors"
        ),
        "checkpoint": partial(
            files.make_tensor_file, folder / "a.safetensors", choices, templates / "checkpoint.safetensors"
        ),
    }
    makers[kind]()


def read_input(seed: int, place: Path, templates: Path, kind: str = "") -> Found:
    """Make one input, and read it."""
    choices = random.Random(seed)
    kind = kind or choices.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
    folder = place / f"{kind}-{seed}{'.zarr' if kind == 'zarr' else ''}"
    folder.mkdir(parents=True)
    make_input(kind, folder, choices, templates)
    doors = KINDS[kind][1]
    if read_run in doors and choices.random() < LISTED:
        doors = (*doors, list_runs)
    taken, fault = Taken(0), ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for door in doors:  # each door for itself: they are not used at once
                taken = max(
                    taken, _through(door, folder), key=lambda one: max(one.memory_share, one.time_share)
                )
    except Exception:
        fault = traceback.format_exc()
    found = Found(
        kind=kind,
        seed=seed,
        disk_bytes=taken.disk_bytes,
        memory_bytes=taken.memory_bytes,
        seconds=taken.seconds,
        memory_share=taken.memory_share,
        time_share=taken.time_share,
        fault=fault,
    )
    if is_fine(found):
        shutil.rmtree(folder)
    return found


def _through(door: Door, folder: Path) -> Taken:
    with measured(folder) as taken:
        door(folder)
    return taken


def is_fine(found: Found) -> bool:
    return not found.fault and found.memory_share <= 1 and found.time_share <= 1


# --- many --------------------------------------------------------------------------------------------


def work(first: int, count: int, place: Path, templates: Path) -> None:
    """What a child does: a line for each input."""
    for kind, (_, doors) in KINDS.items():  # what is imported at first is no part of any input
        honest = place / f"honest-{kind}-{first}{'.zarr' if kind == 'zarr' else ''}"
        honest.mkdir(parents=True)
        make_input(kind, honest, random.Random(0), templates)
        for door in (*doors, *([list_runs] if read_run in doors else [])):
            with suppress(Exception):
                door(honest)
        shutil.rmtree(honest)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    room = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (max(room, used) + MORE_MEMORY_BYTES,) * 2)
    for seed in range(first, first + count):
        print(json.dumps({"begun": seed}), flush=True)
        found = read_input(seed, place, templates)
        print(json.dumps({name: getattr(found, name) for name in Found.__slots__}), flush=True)


def children(num_inputs: int, seed: int, place: Path, templates: Path) -> Iterator[Found]:
    """The inputs from `seed` on, by children one after the other."""
    at, last = seed, seed + num_inputs
    while at < last:
        for found in child(at, min(BATCH, last - at), place, templates):
            at = found.seed + 1
            yield found


def child(first: int, count: int, place: Path, templates: Path) -> Iterator[Found]:
    """The inputs of one child, up to one at which it hangs or dies: that is a fault of this input."""
    command = [sys.executable, "-m", "tests.run.torture_files", "--child", str(first), str(count)]
    process = subprocess.Popen([*command, str(place), str(templates)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    begun = first
    watchdog = _watchdog(process)
    for line in process.stdout:
        watchdog.cancel()
        watchdog = _watchdog(process)
        told = json.loads(line)
        if "begun" in told:
            begun = told["begun"]
        else:
            yield Found(**told)
    watchdog.cancel()
    if process.wait() != 0:
        yield Found(
            kind="?",
            seed=begun,
            disk_bytes=0,
            memory_bytes=0,
            seconds=0.0,
            memory_share=0.0,
            time_share=0.0,
            fault=f"the process ended with {process.returncode}",
        )


def _watchdog(process: subprocess.Popen[str]) -> threading.Timer:
    timer = threading.Timer(SILENT_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def side_by_side(num_inputs: int, seed: int, place: Path, templates: Path) -> Iterator[Found]:
    """The same with a child a processor."""
    found: Queue[Found | BaseException] = Queue()
    starts = range(seed, seed + num_inputs, BATCH)

    def read(start: int) -> None:
        try:
            for one in children(min(BATCH, seed + num_inputs - start), start, place, templates):
                found.put(one)
        except BaseException as error:
            found.put(error)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in starts:
            pool.submit(read, start)
        for _ in range(num_inputs):
            one = found.get()
            if isinstance(one, BaseException):
                raise one
            yield one


@dataclass(slots=True)
class Tally:
    """Over all inputs."""

    num_inputs: int = 0
    num_bad: int = 0
    worst_memory: Found | None = None
    worst_time: Found | None = None

    def add(self, found: Found) -> None:
        self.num_inputs += 1
        self.num_bad += not is_fine(found)
        if self.worst_memory is None or found.memory_share > self.worst_memory.memory_share:
            self.worst_memory = found
        if self.worst_time is None or found.time_share > self.worst_time.time_share:
            self.worst_time = found


def torture(num_inputs: int, seed: int, place: Path) -> Tally:
    templates = place / "templates"
    templates.mkdir(parents=True)
    write_templates(templates)
    tally = Tally()
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("reading", total=num_inputs)
        for found in side_by_side(num_inputs, seed, place, templates):
            tally.add(found)
            progress.advance(task)
            if not is_fine(found):
                print(about(found), flush=True)
    return tally


def about(found: Found | None) -> str:
    if found is None:
        return "nothing"
    return (
        f"{found.kind} {found.seed}: {found.disk_bytes:,} bytes took {found.memory_bytes / 2**20:.1f} MB "
        f"({found.memory_share:.0%} of what is allowed) and {found.seconds:.2f} s ({found.time_share:.0%}) "
        f"{found.fault[-1500:]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument(
        "--child", nargs=4, metavar=("FIRST", "COUNT", "PLACE", "TEMPLATES"), help=argparse.SUPPRESS
    )
    arguments: Any = parser.parse_args()
    if arguments.child:
        first, count, place, templates = arguments.child
        work(int(first), int(count), Path(place), Path(templates))
        return
    place = Path(
        tempfile.mkdtemp(prefix="torcheer-files-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    )
    print(f"seed {arguments.seed}, in {place}", flush=True)
    tally = torture(arguments.inputs, arguments.seed, place)
    print(f"{tally.num_inputs:,} inputs, {tally.num_bad} of them not as they should be.")
    print(f"Most memory: {about(tally.worst_memory)}")
    print(f"Most time: {about(tally.worst_time)}")
    if tally.num_bad:
        raise SystemExit(1)
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
