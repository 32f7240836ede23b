"""The training cycle, on CIFAR-10: data, net, optimizer, fit, save and reload, testing.

python -m examples.cifar10          # with CIFAR-10 in ./data; where it is not, this says how to get it
python -m examples.cifar10 --try    # with a small set in the same format, made of scikit-learn's digits

`torcheer view runs` shows it, also while it trains.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

import torcheer as tl
from torcheer.training.data import transforms

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


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


def main(folder: Path, run: Path, num_epochs: int, *, download: bool = False) -> tl.Evaluation:
    torch.set_num_threads(1)  # four small pictures at a time are not worth more
    torch.manual_seed(0)
    to_numbers = transforms.Compose(  # from -1 to 1
        [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    )
    train = tl.CIFAR10(folder, train=True, transform=to_numbers, download=download)
    train_loader = DataLoader(train, batch_size=4, shuffle=True, num_workers=2)
    test = tl.CIFAR10(folder, train=False, transform=to_numbers)
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


def write_small_set(folder: Path) -> None:
    """The digits as pictures of 32 by 32 pixels, in the files of CIFAR-10's binary version.

    There each picture is a byte for its class, then all its red pixels, its green ones, its blue ones.
    """
    train, test = tl.load_digits()
    (folder / "cifar-10-batches-bin").mkdir(parents=True, exist_ok=True)
    parts = {f"data_batch_{number}.bin": train for number in range(1, 6)} | {"test_batch.bin": test}
    for number, (name, digits) in enumerate(parts.items()):
        mine = slice(number, None, 5) if digits is train else slice(None)
        pixels = F.interpolate(digits.images[mine] * 255, scale_factor=4).expand(-1, 3, -1, -1).flatten(1)
        rows = torch.cat([digits.labels[mine, None], pixels], 1)
        (folder / "cifar-10-batches-bin" / name).write_bytes(rows.to(torch.uint8).numpy().tobytes())
    (folder / "cifar-10-batches-bin" / "batches.meta.txt").write_text("\n".join(DIGITS))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("data"), help="where CIFAR-10 is")
    parser.add_argument("--run", type=Path, default=Path("runs/cifar10"), help="where to log to")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--download", action="store_true", help="fetch CIFAR-10 where it is not there")
    parser.add_argument("--try", action="store_true", dest="is_try", help="without CIFAR-10")
    chosen = parser.parse_args()
    if chosen.is_try:
        chosen.folder = chosen.run.with_name("small-cifar10")
        write_small_set(chosen.folder)
    try:
        main(chosen.folder, chosen.run, chosen.epochs, download=chosen.download)
    except tl.InputError as error:
        advice = str(error).replace("say download=True", "give --download")  # as it is said to this program
        raise SystemExit(f"{advice}\n--try trains on a small set instead.") from None
