"""The training cycle, on CIFAR-10: data, net, optimizer, fit, save and reload, testing.

python -m examples.cifar10          # with CIFAR-10 in ./data; where it is not, this says how to get it
python -m examples.cifar10 --try    # with scikit-learn's digits, as pictures of the same size

`torcheer view runs` shows it, also while it trains.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

import torcheer as tl
from torcheer.training import Digits


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return x


def main(train: Dataset[Any], test: Dataset[Any], run: Path, num_epochs: int) -> tl.Evaluation:
    torch.set_num_threads(1)  # four small pictures at a time are not worth more
    torch.manual_seed(0)
    train_loader = DataLoader(train, batch_size=4, shuffle=True, num_workers=2)
    test_loader = DataLoader(test, batch_size=4, num_workers=2)

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)

    history = tl.fit(
        net,
        train_loader,
        loss=F.cross_entropy,
        optimizer=optimizer,
        epochs=num_epochs,
        test_loader=test_loader,
        metrics="accuracy",
        run=run,
    )
    print(history)

    path = tl.save_checkpoint(run / "net.safetensors", model=net)
    net = Net()
    tl.load_checkpoint(path, model=net)
    print(f"saved to {path}, and read again")

    evaluation = tl.evaluate(net, test_loader)
    print(evaluation)
    return evaluation


def to_numbers(picture: Any) -> Tensor:
    """From -1 to 1, colour first."""
    return torch.from_numpy(numpy.array(picture)).permute(2, 0, 1) / 127.5 - 1


def cifar10(folder: Path, *, download: bool) -> tuple[Dataset[Any], Dataset[Any]]:
    """CIFAR-10, by torchvision."""
    return (
        tl.CIFAR10(folder, train=True, transform=to_numbers, download=download),
        tl.CIFAR10(folder, train=False, transform=to_numbers),
    )


class SmallSet(TensorDataset):
    """The digits as pictures of the size and with the colours of CIFAR-10's."""

    classes = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

    def __init__(self, digits: Digits) -> None:
        pictures = F.interpolate(digits.images * 2 - 1, scale_factor=4).expand(-1, 3, -1, -1)
        super().__init__(pictures, digits.labels)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("data"), help="where CIFAR-10 is")
    parser.add_argument("--run", type=Path, default=Path("runs/cifar10"), help="where to log to")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--download", action="store_true", help="fetch CIFAR-10 where it is not there")
    parser.add_argument("--try", action="store_true", dest="is_try", help="without CIFAR-10")
    chosen = parser.parse_args()
    try:
        if chosen.is_try:
            small_train, small_test = map(SmallSet, tl.load_digits())
            main(small_train, small_test, chosen.run, chosen.epochs)
        else:
            main(*cifar10(chosen.folder, download=chosen.download), chosen.run, chosen.epochs)
    except tl.InputError as error:
        advice = str(error).replace("Say download=True", "Give --download")  # as it is said to this program
        raise SystemExit(f"{advice}\n--try trains on a small set instead.") from None
