"""Teach a small CNN to read digits, with gradients of our own: `python -m examples.digits_autograd`.

Everything that learns here is `torcheer.autograd`: the layers, the way back, the optimizer. torch only adds
and multiplies. It reads more than 97 % of digits that it has never seen, after less than a minute.
"""

import argparse
import time
from collections.abc import Iterator

import torch
from torch import Tensor

import torcheer as tl
from torcheer.autograd import nn, no_grad, optim
from torcheer.autograd.nn import functional as F

BATCH_SIZE = 32


class Net(nn.Model):
    """Two looks at the picture through small windows, then a vote of everything that was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.classifier(self.features(x))
        return scores


def batches(images: Tensor, labels: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """All pictures once, in an order that nobody has seen before."""
    for places in torch.split(torch.randperm(len(images)), BATCH_SIZE):
        yield images[places], labels[places]


def accuracy(model: Net, images: Tensor, labels: Tensor) -> float:
    model.eval()
    with no_grad():  # nobody asks for gradients here, so nothing is remembered
        said = model(images).argmax(1)
    model.train()
    return float((said == labels).float().mean())


def main(num_epochs: int) -> float:
    torch.set_num_threads(1)  # a net this small is not worth more
    torch.manual_seed(0)
    train, test = tl.load_digits()
    model = Net()
    print(model)

    # What a gradient passes on its way from the loss to the first layer, shown once.
    F.cross_entropy(model(train.images[:1]), train.labels[:1]).backward(show=True)

    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, num_epochs)
    started = time.perf_counter()
    for epoch in range(num_epochs):
        total = 0.0
        for images, labels in batches(train.images, train.labels):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(images)
        schedule.step()
        read = accuracy(model, test.images, test.labels)
        print(f"epoch {epoch + 1:>2}  loss {total / len(train.images):.4f}  read {read:.1%} of new digits")

    print(f"{time.perf_counter() - started:.0f} s, and {read:.1%} of digits that it has never seen.")
    return read


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    main(parser.parse_args().epochs)
