"""The teaching engine against torch's: the same model, weights and batch, step by step in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Final

import torch
from torch import Tensor

from bench.effort import Effort
from bench.measure import Times, clocks, interleave
from bench.report import Section, Table, Verdict
from torcheer import autograd

TORCH, OURS, MICROGRAD = "torch", "torcheer.autograd", "micrograd"
_MOST: Final = {"MLP": 1.5, "transformer": 1.5, "CNN": 3.0, "LSTM": 4.0}

TEXT: Final = """\
Training steps: `zero_grad`, forward, loss, `backward`, Adam's `step`. The model is written once, with the
`nn` of either; both have the same weights and see the same batch, in turn, step by step. MLP:
784-512-256-10, 64 items. CNN: three convolutions with batch norm and pooling on 28 × 28 pixels, 32 items.
LSTM: 32 steps, 64 to 128 units, 32 items (torch's is one fused op, ours a loop). Transformer: two layers of
128 with four heads, 16 × 64 tokens."""
SMALL_TEXT: Final = f"""\
A tiny MLP, 2-16-16-1 with ReLU, 16 points: what *{MICROGRAD}*'s engine of single numbers takes beside it,
with the same mean squared error and plain gradient descent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model, written with the `nn` of either engine, and a batch for it."""

    make: Callable[[Any], Any]
    inputs: Tensor
    targets: Tensor


def bench_teaching(effort: Effort) -> Section:
    found = {}
    for name, share in effort.divide((*CASES, MICROGRAD)):
        print(f"  {name} …", flush=True)
        found[name] = _small(share) if name == MICROGRAD else _measured(CASES[name](), share)
    small = found.pop(MICROGRAD)
    return Section(
        title="The teaching engine",
        parts=[TEXT, _table(found), SMALL_TEXT, _small_table(small)],
        verdicts=[
            Verdict(what=f"{name}: ours × torch", figure=times.ratio(OURS, TORCH).median, at_most=_MOST[name])
            for name, times in found.items()
        ],
        data={name: times.by_name for name, times in {**found, "small": small}.items()},
    )


def _measured(case: Case, effort: Effort) -> Times:
    torch.manual_seed(0)
    theirs = case.make(torch.nn)
    ours = case.make(autograd.nn)
    ours.load_state_dict(theirs.state_dict())
    steps = {
        TORCH: partial(_step, theirs, torch.optim.Adam(theirs.parameters()), torch.nn, case),
        OURS: partial(_step, ours, autograd.optim.Adam(ours.parameters()), autograd.nn, case),
    }
    return interleave(clocks(steps), effort)


def _step(model: Any, optimizer: Any, nn: ModuleType, case: Case) -> Any:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(case.inputs), case.targets)
    loss.backward()
    optimizer.step()
    return loss


# --- models ------------------------------------------------------------------------------------------


def _mlp() -> Case:
    def make(nn: Any) -> Any:
        return nn.Sequential(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)
        )

    return Case(make=make, inputs=torch.randn(64, 784), targets=torch.randint(0, 10, (64,)))


def _cnn() -> Case:
    def make(nn: Any) -> Any:
        return nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 10),
        )

    return Case(make=make, inputs=torch.randn(32, 1, 28, 28), targets=torch.randint(0, 10, (32,)))


def _lstm() -> Case:
    def make(nn: Any) -> Any:
        class LastState(nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.lstm = nn.LSTM(64, 128, batch_first=True)
                self.head = nn.Linear(128, 10)

            def forward(self, x: Any) -> Any:
                states, _ = self.lstm(x)
                return self.head(states[:, -1])

        return LastState()

    return Case(make=make, inputs=torch.randn(32, 32, 64), targets=torch.randint(0, 10, (32,)))


def _transformer() -> Case:
    def make(nn: Any) -> Any:
        class Encoder(nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(100, 128)
                self.layers = nn.Sequential(
                    *(
                        nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
                        for _ in range(2)
                    )
                )
                self.head = nn.Linear(128, 10)

            def forward(self, x: Any) -> Any:
                return self.head(self.layers(self.embed(x)).mean(1))

        return Encoder()

    return Case(make=make, inputs=torch.randint(0, 100, (16, 64)), targets=torch.randint(0, 10, (16,)))


CASES: dict[str, Callable[[], Case]] = {
    "MLP": _mlp,
    "CNN": _cnn,
    "LSTM": _lstm,
    "transformer": _transformer,
}


# --- single numbers ----------------------------------------------------------------------------------


def _small(effort: Effort) -> Times:
    """micrograd has no other shape than this: scalars, ReLU inside, a linear last neuron."""
    from micrograd.nn import MLP

    torch.manual_seed(0)
    points, wanted = torch.randn(16, 2), torch.randn(16, 1)
    numbers = MLP(2, [16, 16, 1])
    rows, targets = points.tolist(), wanted.flatten().tolist()

    def scalar_step() -> None:
        numbers.zero_grad()
        errors = [(numbers(row) - target) ** 2 for row, target in zip(rows, targets, strict=True)]
        loss = sum(errors) * (1 / len(errors))
        loss.backward()
        for parameter in numbers.parameters():
            parameter.data -= 0.01 * parameter.grad

    def small_step(model: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        ((model(points) - wanted) ** 2).mean().backward()
        optimizer.step()

    def made(nn: Any, optim: Any) -> Callable[[], None]:
        model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
        return partial(small_step, model, optim.SGD(model.parameters(), lr=0.01))

    steps = {
        TORCH: made(torch.nn, torch.optim),
        OURS: made(autograd.nn, autograd.optim),
        MICROGRAD: scalar_step,
    }
    return interleave(clocks(steps), effort)


# --- tables ------------------------------------------------------------------------------------------


def _table(found: dict[str, Times]) -> Table:
    return Table(
        columns=("", f"{TORCH}, ms a step", f"{OURS}, ms", f"× {TORCH}", "at most"),
        rows=[
            (
                name,
                f"{times.median(TORCH) * 1e3:.3g}",
                f"{times.median(OURS) * 1e3:.3g}",
                str(times.ratio(OURS, TORCH)),
                f"{_MOST[name]:g}",
            )
            for name, times in found.items()
        ],
    )


def _small_table(times: Times) -> Table:
    return Table(
        columns=("", "ms a step", f"× {OURS}"),
        rows=[
            (name, f"{times.median(name) * 1e3:.3g}", str(times.ratio(name, OURS)))
            for name in (TORCH, OURS, MICROGRAD)
        ],
    )
