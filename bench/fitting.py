"""`fit` against the same loop written by hand, step by step; and what a run costs beside it."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import tests.vision  # noqa: F401
import torcheer as tl
from bench.effort import Effort
from bench.measure import Times
from bench.report import ROOT, Section, Table, Verdict

HAND, FIT, LOGGED, HAND_NORM = "by hand", "tl.fit", "tl.fit with run=", "by hand, with the norm"
_MOST = 1.03

TEXT: Final = f"""\
Training steps, CPU time of the process with all its threads, one thread for torch; each contender and the
loop by hand take turns, step by step. *{HAND}*: `zero_grad`, forward, loss, `backward`, `step`, the losses
summed up as a tensor. *{FIT}* does the same, and has the loss and the learning rate of each step in its
history. *{LOGGED}* measures the norm of all gradients as well, and logs loss, learning rate and norm of each
step; *{HAND_NORM}* is the loop with `nn.utils.clip_grad_norm_(parameters, inf)`, the usual way to get that
norm, and nothing logged. The batches are made before: no loader, which would cost more than all of this."""

Batches = Sequence[tuple[Tensor, Tensor]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model, and the batches of an epoch."""

    make: Callable[[], nn.Module]
    optimizer: Callable[..., torch.optim.Optimizer]
    batches: Batches


@dataclass(frozen=True, slots=True)
class Turns:
    """Batches for one contender, which the other takes as well, in turn: step by step, not block by block.

    So both meet the same moments of a machine that is never quiet. The time of a step is what passes between
    the batch that is given and the next that is asked for.
    """

    batches: Batches
    other: Callable[[Tensor, Tensor], None]
    times: Times
    name: str

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        first = len(self.times.by_name.get(HAND, {}))
        for number, batch in enumerate(self.batches, first):
            started = process_time()
            self.other(*batch)
            between = process_time()
            yield batch
            ended = process_time()
            self.times.add(HAND, number, between - started)
            self.times.add(self.name, number, ended - between)


def bench_fitting(effort: Effort) -> Section:
    found = {}
    for name, share in effort.divide(QUICK_CASES if effort.is_quick else CASES):
        print(f"  {name} …", flush=True)
        found[name] = _measured(CASES[name](), share)
    return Section(
        title="Training with fit",
        parts=[TEXT, _table(found)],
        verdicts=[
            Verdict(
                what=f"{name}: fit × the loop by hand",
                figure=times[FIT].ratio(FIT, HAND).median,
                at_most=_MOST,
            )
            for name, times in found.items()
        ],
        data={name: {one: pair.by_name for one, pair in times.items()} for name, times in found.items()},
    )


def _measured(case: Case, effort: Effort) -> dict[str, Times]:
    """Each contender, with the loop by hand beside it."""
    with tempfile.TemporaryDirectory(dir=ROOT) as folder, tl.Run(Path(folder) / "run") as run:
        contenders: dict[str, Callable[[Iterable[Any]], Any]] = {
            FIT: partial(_fitted, *_made(case), run=None),
            LOGGED: partial(_fitted, *_made(case), run=run),
            HAND_NORM: partial(_by_hand, Hand(*_made(case), with_norm=True)),
        }
        return {
            name: _beside(name, contenders[name], case, share) for name, share in effort.divide(contenders)
        }


def _beside(name: str, contender: Callable[[Iterable[Any]], Any], case: Case, effort: Effort) -> Times:
    hand = Hand(*_made(case))
    contender(Turns(case.batches, hand, Times(), name))  # to warm up
    times = Times()
    gc.collect()
    gc.freeze()
    seconds = 0.0
    while not times.by_name or effort.seconds_left > seconds:
        started = perf_counter()
        contender(Turns(case.batches, hand, times, name))
        seconds = perf_counter() - started
    gc.unfreeze()
    return times


def _made(case: Case) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = case.make()
    return model, case.optimizer(model.parameters())


class Hand:
    """The loop that everybody writes; what is done with a batch."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, with_norm: bool = False
    ) -> None:
        self.model, self.optimizer, self.with_norm = model.train(), optimizer, with_norm
        self.total = torch.zeros(())

    def __call__(self, inputs: Tensor, targets: Tensor) -> None:
        self.optimizer.zero_grad()
        outputs = self.model(inputs)
        loss = F.cross_entropy(outputs, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.with_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), float("inf"))
        self.optimizer.step()
        self.total += loss.detach()


def _by_hand(hand: Hand, batches: Iterable[Any]) -> None:
    for inputs, targets in batches:
        hand(inputs, targets)


def _fitted(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Iterable[Any], run: tl.Run | None
) -> tl.History:
    return tl.fit(
        model, batches, loss=F.cross_entropy, optimizer=optimizer, epochs=1, run=run, progress=False
    )


def _table(found: dict[str, dict[str, Times]]) -> Table:
    return Table(
        columns=("", "ms a step", f"{HAND}, in turn", f"× {HAND}"),
        rows=[
            (
                f"{model}: {name}",
                f"{pair.median(name) * 1e3:.3g}",
                f"{pair.median(HAND) * 1e3:.3g}",
                str(pair.ratio(name, HAND)),
            )
            for model, times in found.items()
            for name, pair in times.items()
        ],
    )


# --- models ------------------------------------------------------------------------------------------


def _mlp() -> Case:
    return Case(
        make=lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)),
        optimizer=partial(torch.optim.SGD, lr=0.01),
        batches=[(torch.randn(32, 64), torch.randint(0, 10, (32,)))] * 1000,
    )


def _digits_cnn() -> Case:
    return Case(
        make=lambda: nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        ),
        optimizer=torch.optim.Adam,
        batches=[(torch.randn(32, 1, 8, 8), torch.randint(0, 10, (32,)))] * 200,
    )


def _resnet18() -> Case:
    from torchvision.models import resnet18

    return Case(
        make=lambda: resnet18(num_classes=10),
        optimizer=partial(torch.optim.SGD, lr=0.01, momentum=0.9),
        batches=[(torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,)))] * 3,
    )


CASES: dict[str, Callable[[], Case]] = {
    "tiny MLP": _mlp,
    "CNN on digits": _digits_cnn,
    "ResNet-18": _resnet18,
}
QUICK_CASES: Final = ("tiny MLP", "CNN on digits")
