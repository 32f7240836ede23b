"""Keep what every layer of a network gives for all digits, and see what the layers are like.

Run it with `python -m examples.digits_features [FOLDER]`, then `torcheer view FOLDER`. The extraction alone,
from the shell: `torcheer extract examples.digits_features:cnn_and_digits --layers modules --to
features/digits`, and by four processes: `torchrun --nproc-per-node 4 --max-restarts 10 -m torcheer extract
…`.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset

import torcheer as tl
from examples.alexnet import AlexNet


class Enlarged(Dataset[tuple[torch.Tensor, int]]):
    """Pictures as a network for photographs wants them: three colours, 224 × 224 pixels."""

    def __init__(self, pictures: Dataset[tuple[torch.Tensor, int]]) -> None:
        self.pictures = pictures

    def __len__(self) -> int:
        return len(self.pictures)  # type: ignore[arg-type]

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        picture, label = self.pictures[number]
        large = nn.functional.interpolate(picture[None], size=224, mode="bilinear", align_corners=False)
        return large[0].expand(3, -1, -1), label


def all_digits() -> ConcatDataset[tuple[torch.Tensor, int]]:
    return ConcatDataset(tl.load_digits())


def cnn() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def cnn_and_digits() -> tuple[nn.Module, Dataset[tuple[torch.Tensor, int]]]:
    """A small network that has learnt the digits a little, the same each time, and all digits."""
    torch.manual_seed(0)
    model = cnn()
    train, _ = tl.load_digits()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    loader = DataLoader(train, batch_size=64, shuffle=True)
    tl.fit(
        model,
        loader,
        loss=nn.functional.cross_entropy,
        optimizer=optimizer,
        epochs=3,
        seed=0,
        progress=False,
    )
    return model, all_digits()


def alexnet_and_digits() -> tuple[nn.Module, Dataset[tuple[torch.Tensor, int]]]:
    """A large network that has learnt nothing, and the digits as large as it wants them."""
    torch.manual_seed(0)
    return AlexNet(), Enlarged(all_digits())


def main(folder: Path) -> None:
    model, digits = cnn_and_digits()
    layers = ["0", "1", "4", "7", "8"]
    features = tl.extract(model, digits, layers=layers, to=folder, batch_size=64)
    print(features)

    alike = features.compare_layers(method="cka", samples=500)
    print("\nHow alike the layers are (CKA):")
    for name, row in zip(alike.names, alike.values, strict=True):
        print(f"    {name:>3}  " + "  ".join(f"{value:.2f}" for value in row))

    print("\nHow many digits a linear probe reads from each (ridge, five folds):")
    for name, probe in features.probe_layers(kind="ridge", samples=1000).items():
        print(f"    {name:>3}  {probe.mean:6.1%}  {'█' * round(40 * probe.mean)}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "features/digits"))
