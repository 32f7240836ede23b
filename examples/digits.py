"""Teach a small CNN to read handwritten digits, and see all of it: `python -m examples.digits [FOLDER]`.

It reads more than 97 % of digits that it has never seen, after less than a minute on two cores. Meanwhile
`torcheer view FOLDER` shows it: charts, layers, pictures, confusions, the projector, the graph of the model,
and, in a second run, the network itself while it learns.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader

import torcheer as tl
from torcheer.training import Digits

BATCH_SIZE = 32
EPOCHS_BETWEEN_LOOKS = 4  # at what takes more room than a number


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


class Look(tl.Callback):
    """After each epoch, record the network; every few epochs, log what cannot be said in a number."""

    def __init__(self, model: Net, test: Digits, view: tl.NetView | None = None) -> None:
        self.model, self.test, self.view = model, test, view

    def on_epoch(self, training: tl.Training) -> None:
        if self.view is not None:
            self.view.update(epoch=training.epoch)
        is_last = training.epochs_done == training.num_epochs
        if training.run is not None and (is_last or training.epoch % EPOCHS_BETWEEN_LOOKS == 0):
            self.log(training.run, training.step)

    def log(self, run: tl.Run, step: int) -> None:
        model, images, labels = self.model, self.test.images, self.test.labels
        for name, parameter in model.named_parameters():
            run.log_histogram(step, name, parameter)
        run.log_tensor(step, "features.0.weight", model.features[0].weight)

        with torch.no_grad():
            codes = model.embed(images)
            chances = model.classifier(codes).softmax(1)
        said = chances.argmax(1)
        wrong = images[said != labels][:16]
        run.log_images(step, "misread", wrong if len(wrong) else images[:1])
        run.log_confusion(step, "confusion", truth=labels, predictions=said, labels=self.test.classes)
        for digit in (3, 8):
            run.log_pr_curve(step, f"is it a {digit}", labels == digit, chances[:, digit])
        run.log_embedding(step, "hidden", codes, metadata=labels.tolist(), label_img=images)

        history = tl.log_forward_pass(model, images[:32], layers_to_save="all", save_gradients=True)
        history.log_backward(F.cross_entropy(history.output, labels[:32]))
        model.zero_grad()
        run.log_pass(step, "model", history)


def main(folder: Path, num_epochs: int) -> tl.History:
    torch.set_num_threads(1)  # a net this small is not worth more
    torch.manual_seed(0)
    train, test = tl.load_digits()
    train_loader = DataLoader(train, batch_size=BATCH_SIZE, shuffle=True)
    test_loader = DataLoader(test, batch_size=len(test))

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    few, which = test.images[:10], test.labels[:10]
    with (
        tl.Run(
            folder / "digits",
            comment="a small CNN",
            tags=["digits"],
            total_steps=num_epochs * len(train_loader),
        ) as run,
        tl.watch(model, optimizer, run, every="20/s"),
        tl.NetView(
            model,
            few,
            run=folder / "digits-network",
            loss=lambda outputs: F.cross_entropy(outputs, which),
            optimizer=optimizer,
            items=len(few),
        ) as view,
    ):
        history = tl.fit(
            model,
            train_loader,
            loss=F.cross_entropy,
            optimizer=optimizer,
            scheduler=CosineAnnealingLR(optimizer, num_epochs),
            epochs=num_epochs,
            test_loader=test_loader,
            metrics="accuracy",
            run=run,
            callbacks=Look(model, test, view),
        )

    print(history)
    print(tl.evaluate(model, test_loader))
    return history


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("runs"))
    parser.add_argument("--epochs", type=int, default=20)
    chosen = parser.parse_args()
    main(chosen.folder, chosen.epochs)
