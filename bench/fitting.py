"""`fit` against the same loop written by hand, step by step; and what a run costs beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import tests.vision  # noqa: F401
import torcheer as tl
from bench.effort import Effort
from bench.measure import Times, clocks, interleave
from bench.report import ROOT, Section, Table, Verdict

HAND, FIT, LOGGED, HAND_NORM = "by hand", "tl.fit", "tl.fit with run=", "by hand, with the norm"
_MOST = 1.03

TEXT: Final = f"""\
Training steps, CPU time of the process with all its threads, one thread for torch. *{HAND}*: `zero_grad`,
forward, loss, `backward`, `step`, the losses summed up as a tensor and read once an epoch. *{FIT}* does the
same, and has the loss and the learning rate of each step in its history. *{LOGGED}* measures the norm of all
gradients as well, and logs loss, learning rate and norm of each step; *{HAND_NORM}* is the loop with
`nn.utils.clip_grad_norm_(parameters, inf)`, the usual way to get that norm, and nothing logged. The batches
are made before: no loader, which would cost more than all of this."""

Batches = Sequence[tuple[Tensor, Tensor]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model, and the batches of an epoch."""

    make: Callable[[], nn.Module]
    optimizer: Callable[..., torch.optim.Optimizer]
    batches: Batches


def bench_fitting(effort: Effort) -> Section:
    found = {}
    for name, build in CASES.items():
        print(f"  {name} …", flush=True)
        found[name] = _measured(build(), effort)
    return Section(
        title="Training with fit",
        parts=[TEXT, _table(found)],
        verdicts=[
            Verdict(
                what=f"{name}: fit × the loop by hand", figure=times.ratio(FIT, HAND).median, at_most=_MOST
            )
            for name, times in found.items()
        ],
        data={name: times.by_name for name, times in found.items()},
    )


def _measured(case: Case, effort: Effort) -> Times:
    with tempfile.TemporaryDirectory(dir=ROOT) as folder, tl.Run(Path(folder) / "run") as run:
        runs = {
            HAND: partial(_by_hand, *_made(case), case.batches),
            FIT: partial(_fitted, *_made(case), case.batches, None),
            LOGGED: partial(_fitted, *_made(case), case.batches, run),
            HAND_NORM: partial(_by_hand_with_norm, *_made(case), case.batches),
        }
        times = interleave(clocks(runs), seconds=effort.seconds_a_model, min_rounds=5)
    return Times({name: _a_step(rounds, len(case.batches)) for name, rounds in times.by_name.items()})


def _a_step(rounds: dict[int, float], num_steps: int) -> dict[int, float]:
    return {number: seconds / num_steps for number, seconds in rounds.items()}


def _made(case: Case) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = case.make()
    return model, case.optimizer(model.parameters())


def _by_hand(model: nn.Module, optimizer: torch.optim.Optimizer, batches: Batches) -> float:
    model.train()
    total = torch.zeros(())
    for inputs, targets in batches:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = F.cross_entropy(outputs, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += loss.detach()
    return total.item() / len(batches)


def _by_hand_with_norm(model: nn.Module, optimizer: torch.optim.Optimizer, batches: Batches) -> float:
    model.train()
    total = torch.zeros(())
    for inputs, targets in batches:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = F.cross_entropy(outputs, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        optimizer.step()
        total += loss.detach()
    return total.item() / len(batches)


def _fitted(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Batches, run: tl.Run | None
) -> tl.History:
    return tl.fit(
        model, batches, loss=F.cross_entropy, optimizer=optimizer, epochs=1, run=run, progress=False
    )


def _table(found: dict[str, Times]) -> Table:
    return Table(
        columns=("", "ms a step", f"× {HAND}"),
        rows=[
            (
                f"{model}: {name}",
                f"{times.median(name) * 1e3:.3g}",
                "" if name == HAND else str(times.ratio(name, HAND)),
            )
            for model, times in found.items()
            for name in (HAND, FIT, LOGGED, HAND_NORM)
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
