"""Train a small CNN on handwritten digits and log what can be seen of it.

Run it with `python -m examples.digits [FOLDER]`, and look at it meanwhile with `torcheer view FOLDER`.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional as F

import torcheer as tl

NUM_TEST = 360
BATCH_SIZE = 32
PATIENCE = 50  # steps without a loss that is a number, until it is given up
EPOCHS_BETWEEN_LOOKS = 4  # at what takes more room: weights, pictures, embeddings, passes


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits:
    """Pictures of 8 by 8 pixels from 0 to 1, and which digits they are."""

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.hidden = nn.Linear(32 * 4 * 4, 64)
        self.classifier = nn.Linear(64, 10)

    def embed(self, x: Tensor) -> Tensor:
        return torch.relu(self.hidden(self.features(x).flatten(1)))

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.classifier(self.embed(x))
        return outputs


def load() -> Digits:
    images, labels = load_digits(return_X_y=True)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    x = (torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16)[order]
    y = torch.tensor(labels)[order]
    return Digits(
        train_images=x[NUM_TEST:],
        train_labels=y[NUM_TEST:],
        test_images=x[:NUM_TEST],
        test_labels=y[:NUM_TEST],
    )


def batches(digits: Digits) -> Iterator[tuple[Tensor, Tensor]]:
    for chosen in torch.split(torch.randperm(len(digits.train_labels)), BATCH_SIZE):
        yield digits.train_images[chosen], digits.train_labels[chosen]


def train(trial: Trial, folder: Path, digits: Digits, num_epochs: int) -> None:
    """One training, with its run in `folder/<name>`."""
    torch.manual_seed(0)
    model = Net()
    optimizer = getattr(torch.optim, trial.optimizer)(model.parameters(), lr=trial.learning_rate)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, trial.growth)
    num_steps = num_epochs * -(-len(digits.train_labels) // BATCH_SIZE)

    with (
        tl.Run(folder / trial.name, comment=trial.comment, tags=["digits"], total_steps=num_steps) as run,
        tl.watch(model, optimizer, run, every="20/s"),
    ):
        run.log_hparams({"optimizer": trial.optimizer, "lr": trial.learning_rate, "growth": trial.growth})
        run.log_text(0, "model", f"```\n{model}\n```")
        step = num_bad = 0
        for epoch in range(num_epochs):
            for images, labels in batches(digits):
                optimizer.zero_grad()
                outputs = model(images)
                loss = trial.loss(outputs, labels)
                loss.backward()  # type: ignore[no-untyped-call]
                grad_norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
                optimizer.step()
                accuracy = (outputs.argmax(1) == labels).float().mean()
                run.log(
                    step,
                    {
                        "train/loss": loss.detach(),
                        "train/accuracy": accuracy,
                        "train/grad_norm": grad_norm,
                        "train/lr": schedule.get_last_lr()[0],
                    },
                )
                num_bad = 0 if loss.isfinite() else num_bad + 1
                if num_bad > PATIENCE:
                    raise FloatingPointError(f"the loss is {loss.item()} since step {step - PATIENCE}")
                step += 1
            schedule.step()
            evaluate(run, step, model, digits, look_closely=epoch % EPOCHS_BETWEEN_LOOKS == 0)


def evaluate(run: tl.Run, step: int, model: Net, digits: Digits, *, look_closely: bool) -> None:
    with torch.no_grad():
        codes = model.embed(digits.test_images)
        outputs = model.classifier(codes)
    chances, labels = outputs.softmax(1), digits.test_labels
    said = outputs.argmax(1)
    run.log(
        step,
        {
            "val/loss": F.cross_entropy(outputs, labels),
            "val/accuracy": (said == labels).float().mean(),
        },
    )
    if not look_closely:
        return
    for name, parameter in model.named_parameters():
        run.log_histogram(step, name, parameter)
    run.log_tensor(step, "features.0.weight", model.features[0].weight)
    run.log_tensor(step, "hidden.Act", codes[:32])
    wrong = digits.test_images[said != labels][:16]
    run.log_images(step, "misread", wrong if len(wrong) else digits.test_images[:1])
    names = [str(digit) for digit in range(10)]
    run.log_confusion(step, "confusion", truth=labels, predictions=said, labels=names)
    for digit in (3, 8):
        run.log_pr_curve(step, f"is it a {digit}", labels == digit, chances[:, digit])
    run.log_embedding(step, "hidden", codes, metadata=labels.tolist(), label_img=digits.test_images)
    history = tl.log_forward_pass(model, digits.test_images[:32], layers_to_save="all", save_gradients=True)
    history.log_backward(F.cross_entropy(history.output, labels[:32]))
    model.zero_grad()
    run.log_pass(step, "model", history)


def main(folder: Path, num_epochs: int) -> None:
    torch.set_num_threads(1)  # a net this small is not worth more
    digits = load()
    for trial in TRIALS:
        print(f"training {trial.name}: {trial.optimizer}, learning rate {trial.learning_rate}", flush=True)
        try:
            train(trial, folder, digits, num_epochs)
        except FloatingPointError as error:
            print(f"    {error}")
        print(f"    {tl.open_run(folder / trial.name)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("runs"))
    parser.add_argument("--epochs", type=int, default=30)
    chosen = parser.parse_args()
    main(chosen.folder, chosen.epochs)
