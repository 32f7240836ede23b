"""What each process of test_torchrun.py does: a fit, an evaluation, a loop of its own, and the end of one."""

import json
import sys
from pathlib import Path

import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from torcheer.models import rank_of
from torcheer.training import evaluate, fit, training_run

EPOCHS, BATCH = 2, 2


class Points(Dataset[tuple[Tensor, Tensor]]):
    """Remembers which of its items were asked for."""

    def __init__(self, number: int, seed: int) -> None:
        self.x = torch.randn(number, 3, generator=torch.Generator().manual_seed(seed))
        self.asked: list[int] = []

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        self.asked.append(index)
        return self.x[index], (self.x[index].sum() > 0).long()


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def losses_with_dropout(epochs: int, checkpoints: Path | None = None) -> list[float]:
    """Of each step on this rank. Dropout draws other numbers on each of them."""
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2)))
    history = fit(
        model,
        DataLoader(TRAINING, BATCH, sampler=DistributedSampler(TRAINING)),
        loss=nn.functional.cross_entropy,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.1),
        epochs=epochs,
        checkpoints=checkpoints,
        seed=3,
        progress=False,
    )
    losses: list[float] = history.steps["train/loss"].tolist()
    return losses


TRAINING, TEST = Points(8, seed=1), Points(7, seed=2)


def main(folder: Path) -> None:
    torch.distributed.init_process_group("gloo")
    number = rank_of()
    model = network()
    wrapped = DistributedDataParallel(model)
    test_loader = DataLoader(TEST, 2, sampler=DistributedSampler(TEST, shuffle=False))
    history = fit(
        wrapped,
        DataLoader(TRAINING, BATCH, sampler=DistributedSampler(TRAINING, shuffle=True)),
        loss=nn.functional.cross_entropy,
        optimizer=torch.optim.SGD(wrapped.parameters(), lr=0.5),
        epochs=EPOCHS,
        test_loader=test_loader,
        metrics="accuracy",
        run=folder / "fit",
    )
    evaluation = evaluate(wrapped, test_loader, loss=nn.functional.cross_entropy)
    seen = {
        "asked": list(TRAINING.asked),
        "history": {name: history[name].tolist() for name in history.names},
        "steps": history.steps["train/loss"].tolist(),
        "weights": [weight.tolist() for weight in model.parameters()],
        "loss": evaluation.loss,
        "confusion": evaluation.confusion.tolist(),
        "errors": [error.index for error in evaluation.errors],
    }
    seen["whole"] = losses_with_dropout(EPOCHS)
    losses_with_dropout(1, folder / "kept")
    seen["resumed"] = losses_with_dropout(EPOCHS, folder / "kept")
    (folder / f"rank-{number}.json").write_text(json.dumps(seen))

    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    with training_run(model=wrapped, optimizer=optimizer, watch=1, progress=True) as training:
        loss = wrapped(TRAINING.x[number::2]).square().mean()
        loss.backward()
        optimizer.step()
        training.step(loss=loss)
        training.epoch()
        (folder / f"run-{number}.txt").write_text(str(training.run.path))

    with training_run(folder / "dies") as training:
        training.step(loss=1.0)
        training.run.flush()
        torch.distributed.barrier()
        if number == 1:
            raise RuntimeError("rank 1 is out of memory")
        torch.distributed.barrier()  # for which rank 0 waits until it is ended


if __name__ == "__main__":
    main(Path(sys.argv[1]))
