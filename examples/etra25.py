"""The random associator: a network learns 25 arbitrary pairs of patterns, while you step it and look inside.

python -m examples.etra25             # the control page, in the browser
python -m examples.etra25 --no-gui    # all runs at once; logs as TSV, and statistics of the runs

A pattern is a picture of 5 × 5 bits, 6 of them on. Nothing in one says anything of the other that belongs to
it, so every pair has to be learned by heart. A run is over after five epochs without an error.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import torcheer as tl

NUM_PAIRS, NUM_BITS, NUM_ON = 25, 25, 6


@dataclass(frozen=True)
class Parameters(tl.Parameters):
    """What can be changed in the form; the learning rate and the momentum also while it runs."""

    runs: int = 10
    epochs: int = 100
    test_every: int | None = 5
    netview_every: str = "1 epoch"
    hidden: int = tl.parameter(35, low=1, section="Network", about="units of each of the two hidden layers")
    learning_rate: float = tl.parameter(0.2, low=0.0, live="lr", section="Optimizer")
    momentum: float = tl.parameter(0.9, low=0.0, high=1.0, live="momentum", section="Optimizer")


class Associator(nn.Module):
    """25 - 35 - 35 - 25, each layer fully connected with the next."""

    def __init__(self, num_hidden: int) -> None:
        super().__init__()
        self.hidden1 = nn.Linear(NUM_BITS, num_hidden)
        self.hidden2 = nn.Linear(num_hidden, num_hidden)
        self.output = nn.Linear(num_hidden, NUM_BITS)

    def forward(self, pattern: Tensor) -> Tensor:
        x = torch.tanh(self.hidden1(pattern))
        x = torch.tanh(self.hidden2(x))
        return torch.sigmoid(self.output(x))


def random_patterns() -> Tensor:
    """A row for each: 0, and 1 where a bit is on."""
    ranks = torch.rand(NUM_PAIRS, NUM_BITS).argsort(1).argsort(1)
    return (ranks < NUM_ON).float()


def setup(p: Parameters) -> tl.Setup:
    """What a run is made of. It is seeded before, each run otherwise: other patterns, other weights."""
    pairs = TensorDataset(random_patterns(), random_patterns())
    model = Associator(p.hidden)
    return tl.Setup(
        model=model,
        loss=nn.BCELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=p.learning_rate, momentum=p.momentum),
        train=DataLoader(pairs, batch_size=1, shuffle=True),  # a trial is one pair
        test=DataLoader(pairs, batch_size=NUM_PAIRS),
        is_done=tl.no_errors_for(5),
        statistics={"cosine": F.cosine_similarity},  # of what comes out and what should
        item_names=[f"pair {number}" for number in range(NUM_PAIRS)],
        netview={"items": NUM_PAIRS},
        plots={
            "loss": ["epoch/loss", "test/loss", "train/loss"],
            "errors": ["epoch/errors", "test/errors"],
            "cosine with target": ["epoch/cosine", "test/cosine"],
            "gradient norm": ["train/grad_norm"],
        },
    )


def loop() -> tl.Loop[Parameters]:
    return tl.Loop(setup, Parameters(), name="etra25")


def run_headless(training: tl.Loop[Parameters]) -> None:
    """To the end, or until Ctrl-C; then the tables beside the runs, and what they come to."""
    training.run()
    folder = training.runs[0].parent
    for name in training.tables:
        training.table(name).to_csv(folder / f"{name.replace(' ', '-')}.tsv", separator="\t")
    if training.run_rows:
        show_statistics(training, folder / "statistics.tsv")
    print(f"the runs, and their tables as TSV: {folder}")


def show_statistics(training: tl.Loop[Parameters], path: Path) -> None:
    names = ["epochs needed", "train loss", "train errors", "test errors", "test cosine", "run seconds"]
    heads = ["", "mean", "std", "lowest", "highest"]
    figures = training.table("runs").statistics()[0].figures
    rows = []
    for name in names:
        found = figures[name]
        numbers = (found.mean, found.std, found.low, found.high)
        rows.append([name, *("" if number is None else f"{number:.4g}" for number in numbers)])
    path.write_text("".join("\t".join(row) + "\n" for row in [heads, *rows]), encoding="utf-8")
    table = Table(*heads, title=f"{len(training.run_rows)} runs with seed {training.seed}")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-gui", action="store_true", help="run to the end, without a page")
    parser.add_argument("--runs", type=int, default=Parameters().runs)
    parser.add_argument("--seed", type=int, default=0, help="the page has a button for another one")
    parser.add_argument("--folder", type=Path, default=Path("runs"))
    chosen = parser.parse_args()
    if not chosen.no_gui:
        tl.control(loop, folder=chosen.folder, values={"runs": chosen.runs}, seed=chosen.seed)
        return
    torch.set_num_threads(1)  # a net this small is not worth more
    with loop() as training:
        training.folder = chosen.folder
        training.init(chosen.seed, runs=chosen.runs)
        run_headless(training)


if __name__ == "__main__":
    main()
