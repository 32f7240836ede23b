"""What repeats is drawn once only where it is the same: folded blocks, and the passes of a rolled layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import torcheer as tl
from tests.graph.picture_checks import ReadPicture
from tests.graph.test_drawing import document, drawn, named, title_of, words_of
from torcheer.capture import document_of


def titles(picture: ReadPicture) -> list[str]:
    return [title_of(group) for group in picture.groups.values()]


class Dilated(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3, padding=dilation, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x).relu()


def block() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU())


class Chain(nn.Module):
    """Six blocks; what is read of them from outside differs."""

    def __init__(self, taps: tuple[int, ...]) -> None:
        super().__init__()
        self.taps = taps
        self.blocks = nn.ModuleList(block() for _ in range(6))
        self.heads = nn.ModuleList(nn.Linear(8, 2 + i) for i in range(len(taps)))

    def forward(self, x: Tensor) -> list[Tensor]:
        seen = []
        for i, one in enumerate(self.blocks):
            x = one(x)
            if i in self.taps:
                seen.append(x)
        return [head(value) for head, value in zip(self.heads, seen, strict=True)]


def test_blocks_with_other_arguments_are_not_folded() -> None:
    model = nn.Sequential(*(Dilated(2**i) for i in range(4)))

    assert titles(drawn(document(model, torch.rand(1, 4, 32)), vis_fold_repeats=True)) == [
        "0 Dilated",
        "1 Dilated",
        "2 Dilated",
        "3 Dilated",
    ]


def test_blocks_with_the_same_arguments_are_folded() -> None:
    model = nn.Sequential(*(Dilated(2) for _ in range(4)))

    assert titles(drawn(document(model, torch.rand(1, 4, 32)), vis_fold_repeats=True)) == ["0–3 × 4 Dilated"]


def test_a_fold_ends_at_the_block_that_somebody_else_reads() -> None:
    folded = drawn(document(Chain((2, 5)), torch.rand(2, 8)), vis_fold_repeats=True)

    assert titles(folded) == ["blocks.0–blocks.2 × 3 Sequential", "blocks.3–blocks.5 × 3 Sequential"]


def test_blocks_that_are_read_by_nobody_else_are_one() -> None:
    folded = drawn(document(Chain((5,)), torch.rand(2, 8)), vis_fold_repeats=True)

    assert titles(folded) == ["blocks.0–blocks.5 × 6 Sequential"]


def test_blocks_abreast_are_folded_only_where_the_same_box_reads_them() -> None:
    class Pairs(nn.Module):
        def __init__(self, together: bool) -> None:
            super().__init__()
            self.together = together
            self.experts = nn.ModuleList(block() for _ in range(4))

        def forward(self, x: Tensor) -> Tensor:
            a, b, c, d = (expert(x) for expert in self.experts)
            return torch.stack([a, b, c, d]) if self.together else torch.stack([a + b, c + d])

    apart = drawn(document(Pairs(False), torch.rand(2, 8)), vis_fold_repeats=True)
    together = drawn(document(Pairs(True), torch.rand(2, 8)), vis_fold_repeats=True)

    assert len(apart.groups) == 4
    assert titles(together) == ["experts.0–experts.3 × 4 Sequential"]


def test_an_edited_block_is_not_folded_away() -> None:
    model = nn.Sequential(*(block() for _ in range(6)))
    history = tl.log_forward_pass(model, torch.rand(2, 8), edit={"linear_3": torch.zeros_like})

    folded = drawn(document_of(history), vis_fold_repeats=True)

    assert titles(folded) == ["0–1 × 2 Sequential", "2 Sequential", "3–5 × 3 Sequential"]
    assert "edited" in words_of(named(folded, "linear_3_5"))


def test_passes_of_other_shapes_show_the_first_and_the_last() -> None:
    class Grows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            out = x
            for _ in range(4):
                out = torch.cat([out, self.layer(x)])
            return out

    rolled = drawn(document(Grows(), torch.rand(2, 4)), "rolled")

    assert "4×4 … 10×4 · 64 B … 160 B" in words_of(named(rolled, "cat_1_2"))


def test_two_passes_of_one_layer_are_two_arguments() -> None:
    class Siamese(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Linear(4, 4)

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return self.encoder(a) - self.encoder(b)

    rolled = drawn(document(Siamese(), torch.rand(2, 4), torch.rand(2, 4)), "rolled")

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
    class Alternates(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for i in range(40):
                x = (torch.sin, torch.cos)[i % 3 > 0](x)
            return x

    rolled = drawn(document(Alternates(), torch.rand(3)), "rolled")

    assert all(len(words) < 40 for words, _ in rolled.labels)
    assert any(words.endswith("passes") and " of " in words for words, _ in rolled.labels)


def test_single_layers_abreast_are_folded_too() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branches = nn.ModuleList(nn.Linear(4, 4) for _ in range(30))

        def forward(self, x: Tensor) -> Tensor:
            return torch.stack([branch(x) for branch in self.branches]).sum(0)

    folded = drawn(document(Wide(), torch.rand(2, 4)), vis_fold_repeats=True)

    assert "× 30" in words_of(named(folded, "linear_1_1–linear_30_30"))
