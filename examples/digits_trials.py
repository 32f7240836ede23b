"""Train the CNN of examples/digits.py in three ways, one of them until it breaks.

Run it with `python -m examples.digits_trials [FOLDER]`; `torcheer view FOLDER` compares them, and shows the
alarms of the one that broke.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader

import torcheer as tl
from examples.digits import BATCH_SIZE, Look, Net

PATIENCE = 50  # steps without a loss that is a number, until it is given up


def loss_by_hand(outputs: Tensor, labels: Tensor) -> Tensor:
    """What cross_entropy computes, until a chance is so small that it is 0: its logarithm is infinite."""
    return -outputs.softmax(1).log()[torch.arange(len(labels)), labels].mean()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One training."""

    name: str
    comment: str
    optimizer: str
    learning_rate: float
    growth: float  # of the learning rate from epoch to epoch
    loss: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy


TRIALS = (
    Trial(name="adam", comment="the one to beat", optimizer="Adam", learning_rate=1e-3, growth=0.9),
    Trial(name="sgd", comment="as good in the end", optimizer="SGD", learning_rate=0.1, growth=0.95),
    Trial(
        name="sgd-own-loss",
        comment="faster every epoch, until it breaks",
        optimizer="SGD",
        learning_rate=0.05,
        growth=1.2,
        loss=loss_by_hand,
    ),
)


def train(trial: Trial, folder: Path, num_epochs: int) -> None:
    """One training, with its run in `folder/<name>`. Raises where it breaks."""
    torch.manual_seed(0)
    train_set, test_set = tl.load_digits()
    train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=len(test_set))
    model = Net()
    optimizer = getattr(torch.optim, trial.optimizer)(model.parameters(), lr=trial.learning_rate)

    num_steps = num_epochs * len(train_loader)
    with (
        tl.Run(folder / trial.name, comment=trial.comment, tags=["digits"], total_steps=num_steps) as run,
        tl.watch(model, optimizer, run, every="20/s"),
    ):
        run.log_text(0, "model", f"```\n{model}\n```")
        history = tl.fit(
            model,
            train_loader,
            loss=trial.loss,
            optimizer=optimizer,
            scheduler=ExponentialLR(optimizer, trial.growth),
            epochs=num_epochs,
            test_loader=test_loader,
            metrics="accuracy",
            run=run,
            callbacks=[Look(model, test_set), tl.StopOnNonFinite(PATIENCE)],
            progress=False,
        )
        if history.stopped_by is not None:
            raise FloatingPointError(history.stopped_by)  # the run then says what it died of


def main(folder: Path, num_epochs: int) -> None:
    torch.set_num_threads(1)  # a net this small is not worth more
    for trial in TRIALS:
        print(f"training {trial.name}: {trial.optimizer}, learning rate {trial.learning_rate}", flush=True)
        try:
            train(trial, folder, num_epochs)
        except FloatingPointError as error:
            print(f"    {error}")
        print(f"    {tl.open_run(folder / trial.name)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("runs"))
    parser.add_argument("--epochs", type=int, default=30)
    chosen = parser.parse_args()
    main(chosen.folder, chosen.epochs)
