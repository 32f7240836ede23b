"""The inspector: a training step that is watched against one that is not, beside TensorBoard's histograms."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter

import tests.vision  # noqa: F401
import torcheer as tl
from bench.effort import Effort
from bench.measure import Times, interleave
from bench.report import ROOT, Section, Table, Verdict
from torcheer.inspector import FrameWriter

PLAIN, RATE, EVERY, THEIRS = "a step", "watched, 20/s", "figures of every step", "TensorBoard histograms"
SAMPLED = "the same from samples alone"
_MOST = {RATE: 1.05, EVERY: 1.10}

TEXT: Final = f"""\
Training steps, by the clock, in blocks of a few seconds, all layers watched: activations, their
gradients, weights, weight gradients, updates, optimizer state. *{RATE}*: `tl.watch(model, optimizer, run)` as
it is by default, figures, histograms and samples of tensors, with the budget of 3 %. *{EVERY}*:
`every=1, tensors=False, budget=None`: norms, NaN and Inf of whole tensors at each step, means and extremes
once a second. *{SAMPLED}*: 512 values of each tensor and nothing else, which misses what they do not hold.
*{THEIRS}*: `add_histogram` of all parameters at each step. With one thread the child has a processor for
itself; with two, it shares them with the training. Records a second are
what was really looked at; records lost are those that did not fit into the ring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A model, and one step of its training."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[[nn.Module], Tensor]

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.loss(self.model).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()


def bench_watching(effort: Effort) -> Section:
    found: dict[tuple[str, int], tuple[Times, dict[str, float]]] = {}
    for (num_threads, name), share in effort.divide(QUICK if effort.is_quick else product((1, 2), MODELS)):
        print(f"  {name}, {num_threads} threads …", flush=True)
        torch.set_num_threads(num_threads)
        try:
            found[name, num_threads] = _measured(MODELS[name], share)
        finally:
            torch.set_num_threads(1)
    return Section(
        title="Watching a training",
        parts=[TEXT, _table(found)],
        verdicts=[
            Verdict(
                what=f"{name}, {num_threads} threads: {contender}",
                figure=times.ratio(contender, PLAIN).median,
                at_most=most,
            )
            for (name, num_threads), (times, _) in found.items()
            for contender, most in _MOST.items()
        ],
        data={
            f"{name}, {threads} threads": (times.by_name, seen)
            for (name, threads), (times, seen) in found.items()
        },
    )


def _measured(build: Callable[[], Trained], effort: Effort) -> tuple[Times, dict[str, float]]:
    # Of the five, two have no budget: a warm-up and a round. A fifth of the time is for setting up.
    clock = partial(_clock, 0.8 * effort.seconds / (3 * (1 + effort.min_rounds) + 2 * 2))
    with tempfile.TemporaryDirectory(dir=ROOT) as folder, ExitStack() as stack:
        clocks: dict[str, Callable[[], float]] = {PLAIN: clock(build(), lambda: None)}
        seen: dict[str, float] = {}
        each: dict[str, Any] = {"every": 1, "tensors": False, "budget": None}
        for name, options in ((RATE, {}), (EVERY, each), (SAMPLED, each)):
            trained = build()
            watcher = stack.enter_context(_watched(trained, Path(folder) / name, options))
            if name == SAMPLED:
                for part in watcher._parts:
                    part.writer_type, part.is_changed = _SampledWriter, True
            clocks[name] = clock(trained, watcher.flush, _noting(seen, name, watcher))
        trained = build()
        writer = SummaryWriter(str(Path(folder) / "theirs"))  # type: ignore[no-untyped-call]
        stack.callback(writer.close)
        clocks[THEIRS] = clock(trained, writer.flush, lambda: _write_histograms(trained, writer))
        rarely = {name: clocks.pop(name) for name in (SAMPLED, THEIRS)}
        times = interleave(clocks, effort, rarely=rarely)
    return times, seen


class _SampledWriter(FrameWriter):
    """Takes samples, and reads no tensor whole."""

    def _figures(self, entry: Any) -> None:
        return None

    def _put_heads(self, entries: Any, report: Any) -> None:
        for entry in entries:
            self._put_head(entry.row, entry.pieces, None)

    def _room_before(self, ready: Any) -> None:
        self._copied_bytes = 0  # so there is no room for a copy


@contextmanager
def _watched(trained: Trained, folder: Path, options: dict[str, Any]) -> Iterator[tl.Watcher]:
    with tl.watch(trained.model, trained.optimizer, folder, **options) as watcher:
        yield watcher


def _noting(seen: dict[str, float], name: str, watcher: tl.Watcher) -> Callable[[], None]:
    def note() -> None:
        seen[f"{name}: rate"] = watcher.rate
        seen[f"{name}: lost"] = watcher.num_dropped

    return note


def _clock(
    block_seconds: float, trained: Trained, settle: Callable[[], Any], after: Callable[[], Any] = lambda: None
) -> Callable[[], float]:
    """Seconds for a step. What the other process has still to do is waited for, so that nobody else pays."""

    def clock() -> float:
        trained.step()
        started, num_steps = perf_counter(), 0
        while perf_counter() - started < block_seconds:
            trained.step()
            after()
            num_steps += 1
        seconds = (perf_counter() - started) / num_steps
        settle()
        return seconds

    return clock


def _write_histograms(trained: Trained, writer: SummaryWriter) -> None:
    for name, parameter in trained.model.named_parameters():
        writer.add_histogram(name, parameter, 0)  # type: ignore[no-untyped-call]


def _table(found: dict[tuple[str, int], tuple[Times, dict[str, float]]]) -> Table:
    rows = []
    for (model, num_threads), (times, seen) in found.items():
        for name in (PLAIN, RATE, EVERY, SAMPLED, THEIRS):
            rows.append(
                (
                    f"{model}, {num_threads} thread{'s' if num_threads > 1 else ''}: {name}",
                    f"{times.median(name) * 1e3:.1f}",
                    "" if name == PLAIN else str(times.ratio(name, PLAIN)),
                    f"{seen[f'{name}: rate']:.1f}" if f"{name}: rate" in seen else "",
                    f"{seen[f'{name}: lost']:.0f}" if f"{name}: lost" in seen else "",
                )
            )
    return Table(columns=("", "ms a step", "× a step", "records a second", "lost"), rows=rows)


# --- models ------------------------------------------------------------------------------------------


def _small_cnn() -> Trained:
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 8 * 8, 10),
    )
    return _images(model, torch.optim.Adam(model.parameters()), 32, 32)


def _resnet18() -> Trained:
    from torchvision.models import resnet18

    model = resnet18(num_classes=10)
    return _images(model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), 32, 64)


def _images(model: nn.Module, optimizer: torch.optim.Optimizer, batch: int, size: int) -> Trained:
    x, y = torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,))
    return Trained(model=model, optimizer=optimizer, loss=lambda model: F.cross_entropy(model(x), y))


def _transformer() -> Trained:
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(1000, 256), encoder, nn.Linear(256, 1000))
    x = torch.randint(0, 1000, (16, 64))

    def loss(model: nn.Module) -> Tensor:
        return F.cross_entropy(model(x).flatten(0, 1), x.flatten())

    return Trained(model=model, optimizer=torch.optim.AdamW(model.parameters()), loss=loss)


MODELS: dict[str, Callable[[], Trained]] = {
    "small CNN": _small_cnn,
    "ResNet-18": _resnet18,
    "transformer": _transformer,
}
QUICK: Final = ((1, "small CNN"), (2, "small CNN"))  # threads, and a model
