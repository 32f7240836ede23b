"""The gallery is complete, and up to date as far as small models tell."""

from __future__ import annotations

import re

import pytest
import torch

from examples.gallery import EXAMPLES, FOLDER, document_without_times
from torcheer.graph import draw_document, read_options

NAMES = [name for example in EXAMPLES for name in example.pictures]


def test_the_gallery_shows_every_picture_and_no_other() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")

    assert sorted(re.findall(r"\]\(([\w-]+)\.svg\)", page)) == sorted(NAMES)
    assert sorted(re.findall(r"\(([\w-]+)\.png\)", page)) == sorted(NAMES)
    files = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert files == {"README.md"} | {f"{name}.{ending}" for name in NAMES for ending in ("svg", "png")}


def test_the_gallery_is_light_enough_for_a_repository() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < 6_000_000


@pytest.mark.parametrize("name", ["unet", "lstm-rolled", "lstm-unrolled"])
def test_the_gallery_is_what_is_drawn_today(name: str) -> None:
    (example,) = [example for example in EXAMPLES if name in example.pictures]
    torch.manual_seed(0)
    options = dict(example.pictures[name])
    drawing = read_options(options.pop("vis_opt", "unrolled"), options)
    svg = draw_document(document_without_times(*example.build()), drawing).svg

    shown = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert svg == shown, "the pictures have changed: look at them, and run `python -m examples.gallery`"
