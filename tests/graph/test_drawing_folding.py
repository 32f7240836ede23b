"""What repeats is drawn once only where it is the same: folded blocks, and the passes of a rolled layer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.graph.picture_checks import ReadPicture
from tests.graph.test_drawing import Block, Called, document, drawn, named, title_of, words_of
from torcheer.capture import document_of


def titles(picture: ReadPicture) -> list[str]:
    return [title_of(group) for group in picture.groups.values()]


class Wide(Block):
    pass


class Other(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.tanh(self.linear(x))


class Dilated(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 1, 3, padding=dilation, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x).relu()


def block(_: int = 0) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU())


def skips(model: Any, x: Tensor) -> Tensor:
    b = model.blocks[1](model.blocks[0](x))
    out: Tensor = model.blocks[2](x) + b  # the third reads what the first read
    return out


def tapped(*taps: int) -> nn.Module:
    """Six blocks; what is read of them from outside differs."""

    def call(model: Any, x: Tensor) -> list[Tensor]:
        seen = []
        for i, one in enumerate(model.blocks):
            x = one(x)
            if i in taps:
                seen.append(x)
        return [head(value) for head, value in zip(model.heads, seen, strict=True)]

    heads = nn.ModuleList(nn.Linear(4, 2 + i) for i in range(len(taps)))
    return Called(call, *(block() for _ in range(6)), heads=heads)


def abreast(model: Any, x: Tensor) -> Tensor:
    a, b, c, d = (one(x) for one in model.blocks)
    return torch.stack([a, b, c, d])


def in_pairs(model: Any, x: Tensor) -> Tensor:
    a, b, c, d = (one(x) for one in model.blocks)
    return torch.stack([a + b, c + d])


FOLDS: dict[str, tuple[nn.Module, str]] = {
    "equal blocks": (nn.Sequential(*(Dilated(2) for _ in range(4))), "0–3 × 4 Dilated"),
    "another size": (nn.Sequential(Block(), Block(), Wide(1), Block()), "0–1 × 2 Block, 2 Wide, 3 Block"),
    "other arguments": (
        nn.Sequential(*(Dilated(2**i) for i in range(4))),
        "0 Dilated, 1 Dilated, 2 Dilated, 3 Dilated",
    ),
    "in turn": (
        nn.Sequential(Block(), Other(), Block(), Other(), Block(), Other()),
        "0–5 × 3, 0 Block, 1 Other",
    ),
    "wired otherwise": (
        Called(skips, Block(), Block(), Block()),
        "blocks.0–blocks.1 × 2 Block, blocks.2 Block",
    ),
    "read by another": (tapped(2, 5), "blocks.0–blocks.2 × 3 Sequential, blocks.3–blocks.5 × 3 Sequential"),
    "read at the end": (tapped(5), "blocks.0–blocks.5 × 6 Sequential"),
    "abreast": (Called(abreast, *map(block, range(4))), "blocks.0–blocks.3 × 4 Sequential"),
    "abreast, read in pairs": (
        Called(in_pairs, *map(block, range(4))),
        "blocks.0 Sequential, blocks.1 Sequential, blocks.2 Sequential, blocks.3 Sequential",
    ),
}


@pytest.mark.parametrize("case", FOLDS)
def test_equal_blocks_are_folded_where_they_are_wired_and_read_alike(case: str) -> None:
    model, shown = FOLDS[case]

    assert ", ".join(titles(drawn(document(model, torch.rand(1, 4)), vis_fold_repeats=True))) == shown


def test_an_edited_block_is_not_folded_away() -> None:
    model = nn.Sequential(*(block() for _ in range(6)))
    history = tl.log_forward_pass(model, torch.rand(2, 4), edit={"linear_3": torch.zeros_like})

    folded = drawn(document_of(history), vis_fold_repeats=True)

    assert titles(folded) == ["0–1 × 2 Sequential", "2 Sequential", "3–5 × 3 Sequential"]
    assert "edited" in words_of(named(folded, "linear_3_5"))


def test_passes_of_other_shapes_show_the_first_and_the_last() -> None:
    def call(m: Any, x: Tensor) -> Tensor:
        out = x
        for _ in range(4):
            out = torch.cat([out, m.layer(x)])
        return out

    rolled = drawn(document(Called(call, layer=nn.Linear(4, 4)), torch.rand(2, 4)), "rolled")

    assert "4×4 … 10×4 · 64 B … 160 B" in words_of(named(rolled, "cat_1_2"))


def test_two_passes_of_one_layer_are_two_arguments() -> None:
    siamese = Called(lambda model, a, b: model.encoder(a) - model.encoder(b), encoder=nn.Linear(4, 4))
    rolled = drawn(document(siamese, torch.rand(2, 4), torch.rand(2, 4)), "rolled")

    assert "0 from pass 1, 1 from pass 2" in [words for words, _ in rolled.labels]


def test_what_comes_from_the_pass_before_is_an_edge_of_its_own() -> None:
    class Lags(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            before = torch.zeros_like(x)
            for _ in range(4):
                now = self.first(x)
                x = torch.tanh(self.second(now) + now + before)
                before = now
            return x

    rolled = drawn(document(Lags(), torch.rand(4)), "rolled")
    first = named(rolled, "linear_1_2")
    readers = [line.target for line in rolled.lines if line.source == first.key]

    assert len(readers) == 3  # the second layer, and the two sums
    assert "from the pass before" in [words for words, _ in rolled.labels]


def test_a_long_list_of_passes_is_a_number() -> None:
    def call(_: nn.Module, x: Tensor) -> Tensor:
        for i in range(40):
            x = (torch.sin, torch.cos)[i % 3 > 0](x)
        return x

    rolled = drawn(document(Called(call), torch.rand(3)), "rolled")

    assert all(len(words) < 40 for words, _ in rolled.labels)
    assert any(words.endswith("passes") and " of " in words for words, _ in rolled.labels)


def test_single_layers_abreast_are_folded_too() -> None:
    def all_branches(model: Any, x: Tensor) -> Tensor:
        return torch.stack([branch(x) for branch in model.blocks]).sum(0)

    wide = Called(all_branches, *(nn.Linear(4, 4) for _ in range(30)))
    folded = drawn(document(wide, torch.rand(2, 4)), vis_fold_repeats=True)

    assert "× 30" in words_of(named(folded, "linear_1_1–linear_30_30"))
