"""Draw the pictures of docs/gallery: `python -m examples.gallery [NAME...]`. The same files each time.

Needs torchvision and transformers, with random weights: nothing is downloaded.
"""

import argparse
import importlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor, nn

import torcheer as tl
from torcheer.capture import document_of
from torcheer.graph import PassDocument, Picture, draw_document, png_of, read_options

FOLDER = Path(__file__).parent.parent / "docs" / "gallery"
THUMBNAIL_SIDE = 900  # pixels, of the longer one
RIBBON = 1.5  # heights to a width, beyond which only the upper end is shown


class Example(NamedTuple):
    """A model, what it is given, and how it is drawn: one picture a name."""

    build: Callable[[], tuple[nn.Module, Any]]
    pictures: dict[str, dict[str, Any]]


class Step(nn.Module):
    """Two convolutions, as every level of a U-Net has them."""

    def __init__(self, num_in: int, num_out: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(num_in, num_out, 3, padding=1)
        self.second = nn.Conv2d(num_out, num_out, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(torch.relu(self.first(x))))


class UNet(nn.Module):
    """Down three levels, up again, each level handing its features across."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        sizes = [width * 2**level for level in range(4)]
        self.down = nn.ModuleList(Step(a, b) for a, b in zip([3, *sizes], sizes[:3], strict=False))
        self.bottom = Step(sizes[2], sizes[3])
        self.widen = nn.ModuleList(nn.ConvTranspose2d(s * 2, s, 2, stride=2) for s in reversed(sizes[:3]))
        self.up = nn.ModuleList(Step(s * 2, s) for s in reversed(sizes[:3]))
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, image: Tensor) -> Tensor:
        kept = []
        x = image
        for step in self.down:
            x = step(x)
            kept.append(x)
            x = torch.max_pool2d(x, 2)
        x = self.bottom(x)
        for widen, step, across in zip(self.widen, self.up, reversed(kept), strict=True):
            x = step(torch.cat([across, widen(x)], 1))
        out: Tensor = self.head(x)
        return out


class HandMadeLSTM(nn.Module):
    """Four gates and two states, in a plain loop."""

    def __init__(self, num_inputs: int = 8, num_units: int = 16) -> None:
        super().__init__()
        self.num_units = num_units
        self.gates = nn.Linear(num_inputs + num_units, 4 * num_units)
        self.readout = nn.Linear(num_units, 4)

    def forward(self, sequence: Tensor) -> Tensor:
        hidden = cell = torch.zeros(sequence.shape[0], self.num_units)
        for t in range(sequence.shape[1]):
            gates = self.gates(torch.cat([sequence[:, t], hidden], 1))
            write, keep, new, show = gates.chunk(4, 1)
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(write) * torch.tanh(new)
            hidden = torch.sigmoid(show) * torch.tanh(cell)
        out: Tensor = self.readout(hidden)
        return out


def torchvision_model(name: str, size: int) -> Callable[[], tuple[nn.Module, Any]]:
    def build() -> tuple[nn.Module, Any]:
        vision: Any = importlib.import_module("tests.vision")
        return getattr(vision.torchvision.models, name)().eval(), torch.rand(1, 3, size, size)

    return build


def gpt2() -> tuple[nn.Module, Any]:
    importlib.import_module("tests.vision")  # before transformers, which asks for torchvision
    transformers: Any = importlib.import_module("transformers")
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval()
    return model, {"input_ids": torch.randint(0, 50257, (1, 16))}


EXAMPLES = (
    Example(torchvision_model("alexnet", 224), {"alexnet": {}}),
    Example(
        torchvision_model("resnet18", 224),
        {
            "resnet18": {},
            "resnet18-modules": {"vis_nesting_depth": 2, "vis_direction": "leftright"},
            "resnet18-flops": {"vis_color_by": "flops", "vis_theme": "dark", "vis_fold_repeats": True},
        },
    ),
    Example(lambda: (UNet().eval(), torch.rand(1, 3, 64, 64)), {"unet": {}}),
    Example(
        lambda: (HandMadeLSTM().eval(), torch.rand(2, 5, 8)),
        {"lstm-unrolled": {}, "lstm-rolled": {"vis_opt": "rolled"}},
    ),
    Example(gpt2, {"gpt2": {}, "gpt2-folded": {"vis_fold_repeats": True}}),
    Example(torchvision_model("swin_v2_s", 256), {"swin": {}, "swin-folded": {"vis_fold_repeats": True}}),
)


def document_without_times(model: nn.Module, inputs: Any) -> PassDocument:
    """Times differ from run to run; all else is the same."""
    with torch.no_grad():
        history = tl.log_forward_pass(model, inputs, layers_to_save="none", random_seed=0)
    document = document_of(history)
    replace = msgspec.structs.replace
    return replace(
        document,
        ops=[replace(op, seconds=0.0) for op in document.ops],
        scopes=[replace(scope, seconds=0.0) for scope in document.scopes],
    )


def draw(example: Example, names: list[str]) -> None:
    torch.manual_seed(0)
    model, inputs = example.build()
    document = document_without_times(model, inputs)
    for name in names:
        options = dict(example.pictures[name])
        picture = draw_document(document, read_options(options.pop("vis_opt", "unrolled"), options))
        picture.save(FOLDER / f"{name}.svg")
        (FOLDER / f"{name}.png").write_bytes(thumbnail(picture))
        print(f"{name}: {picture.width:.0f} × {picture.height:.0f}, {len(document.ops)} ops")


def thumbnail(picture: Picture) -> bytes:
    """A small PNG: the whole picture, or its upper end where it is a ribbon."""
    width, height = picture.width, min(picture.height, RIBBON * picture.width)
    size = f'width="{width:.1f}" height="{height:.1f}" viewBox="0 0 {width:.1f} {height:.1f}"'
    svg = re.sub(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"', size, picture.svg, count=1)
    return in_few_colours(png_of(svg, width, height, min(1.0, THUMBNAIL_SIDE / max(width, height))))


def in_few_colours(png: bytes) -> bytes:
    """The same picture in less than half the bytes: a drawing has few colours."""
    image: Any = importlib.import_module("PIL.Image")
    content = io.BytesIO()
    picture = image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=image.Dither.NONE)
    picture.save(content, "PNG", optimize=True)
    return content.getvalue()


def main() -> None:
    known = [name for example in EXAMPLES for name in example.pictures]
    parser = argparse.ArgumentParser(description="Draw the pictures of docs/gallery.")
    parser.add_argument("names", nargs="*", choices=[*known, []], metavar="NAME", help=", ".join(known))
    wanted = parser.parse_args().names or known
    FOLDER.mkdir(exist_ok=True)
    for example in EXAMPLES:
        names = [name for name in example.pictures if name in wanted]
        if names:
            draw(example, names)


if __name__ == "__main__":
    main()
