"""AlexNet in three dimensions: all its layers, for a few pictures, in the browser.

python -m examples.alexnet_netview              # shows it until Ctrl-C
python -m examples.alexnet_netview --no-show    # only records, and says where

With torchvision and its weights on the disk (~/.cache/torch/hub/checkpoints), the network sees what it was
taught; otherwise its weights are random, and what it says means nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F

import torcheer as tl
from examples.alexnet import AlexNet

SIZE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WEIGHTS = "alexnet-owt-*.pth"


def network() -> tuple[nn.Module, list[str] | None]:
    """AlexNet, and the names of its classes where it has learned them."""
    torch.manual_seed(0)
    model = AlexNet().eval()
    found = sorted((Path(torch.hub.get_dir()) / "checkpoints").glob(WEIGHTS))
    if not found:
        return model, None
    model.load_state_dict(torch.load(found[0], map_location="cpu", weights_only=True))
    try:
        from torchvision.models import AlexNet_Weights
    except ImportError:
        return model, [f"class {number}" for number in range(1000)]
    return model, list(AlexNet_Weights.DEFAULT.meta["categories"])


def pictures() -> dict[str, Tensor]:
    """Two photographs that come with scikit-learn, and some that are drawn here, from 0 to 1."""
    shown = _drawn()
    try:
        from sklearn.datasets import load_sample_images

        photographs = load_sample_images().images
    except ImportError:  # without scikit-learn or Pillow there are only the drawn ones
        return shown
    for name, photograph in zip(("temple", "flower"), photographs, strict=True):
        pixels = torch.from_numpy(numpy.array(photograph)).permute(2, 0, 1).float() / 255
        side = min(pixels.shape[1:])
        top, left = ((size - side) // 2 for size in pixels.shape[1:])
        square = pixels[None, :, top : top + side, left : left + side]
        shown[name] = F.interpolate(square, (SIZE, SIZE), mode="bilinear", antialias=True)[0]
    return dict(reversed(shown.items()))


def _drawn() -> dict[str, Tensor]:
    """What a first layer is known to like: stripes, a ring, and colours that run into each other."""
    down, across = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")
    ring = torch.exp(-(((down**2 + across**2).sqrt() - 0.6) ** 2) / 0.005)
    stripes = (torch.sin(40 * (down + across)) + 1) / 2
    colours = torch.stack([(down + 1) / 2, (across + 1) / 2, 1 - (down + 1) / 2])
    return {"colours": colours, "ring": ring.expand(3, -1, -1), "stripes": stripes.expand(3, -1, -1)}


def normalised(picture: Tensor) -> Tensor:
    """As the network was taught to expect it."""
    return (picture - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]


def top_five(names: list[str], outputs: Tensor, classes: list[str] | None) -> Table:
    title = "What AlexNet says" if classes else "What AlexNet says (its weights are random)"
    table = Table("picture", *(f"{place}." for place in range(1, 6)), title=title)
    for name, chances in zip(names, outputs.softmax(1), strict=True):
        best = chances.topk(5)
        said = [
            f"{classes[index] if classes else index} {chance:.1%}"
            for chance, index in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]
        table.add_row(name, *said)
    return table


def record(folder: Path) -> tl.NetView:
    """The network as it sees the pictures, in a run of its own."""
    model, classes = network()
    shown = pictures()
    batch = torch.stack([normalised(picture) for picture in shown.values()])
    with tl.Run(folder, comment="AlexNet, unit by unit") as run:
        run.log_text(0, "picture", "\n".join(shown))  # by which the page's analysis names its items
        view = tl.NetView(model, batch, run=run, items=len(batch))
        with torch.inference_mode():
            Console().print(top_five(list(shown), model(batch), classes))
        items = ", ".join(f"item {number} is {name}" for number, name in enumerate(shown))
        print(f"recorded in {folder}: {items}")
    return view


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-show", action="store_true", help="only record")
    parser.add_argument("--run", type=Path, help="the folder of the run; a new one where none is given")
    arguments = parser.parse_args()

    folder = arguments.run or Path(tempfile.mkdtemp(prefix="alexnet-")) / "run"
    with record(folder) as view:
        if not arguments.no_show:
            view.show()
            with suppress(KeyboardInterrupt):
                while True:
                    time.sleep(1)


if __name__ == "__main__":
    main()
