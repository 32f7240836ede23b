"""Models that take other ways for other data: a module is found by its call, an op by its place in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.features.hooking import first_tensor
from torcheer.errors import CaptureError

FULL, PADDED = (5, 5, 5), (5, 4, 3)


def extracted(model: nn.Module, data: Any, to: Path, layers: Any, **options: Any) -> tl.Features:
    return tl.extract(model, data, layers=layers, to=to, progress=False, **options)


# --- text, with and without padding -----------------------------------------------------------------------


def text(lengths: tuple[int, ...], seed: int) -> dict[str, Tensor]:
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(1, 50, mask.shape, generator=torch.Generator().manual_seed(seed))
    return {"input_ids": ids * mask, "attention_mask": mask}


def language_model(kind: str) -> nn.Module:
    from tests.vision import torchvision  # noqa: F401 - transformers imports it

    transformers = pytest.importorskip("transformers")
    size: dict[str, Any] = {"vocab_size": 50, "bos_token_id": 1, "eos_token_id": 2}
    plain = {
        **size,
        "hidden_size": 8,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    torch.manual_seed(0)
    if kind.startswith("bert"):
        attention = kind.partition(" ")[2] or "sdpa"
        return transformers.BertModel(transformers.BertConfig(**plain, attn_implementation=attention))  # type: ignore[no-any-return]
    if kind == "llama":
        return transformers.LlamaModel(transformers.LlamaConfig(**plain))  # type: ignore[no-any-return]
    config = transformers.GPT2Config(**size, n_embd=8, n_layer=2, n_head=2, n_positions=16)
    return transformers.GPT2Model(config)  # type: ignore[no-any-return]


NAMED = {
    "gpt2": ["h.0", "h.1.attn", "h.1.mlp", "ln_f"],
    "llama": ["layers.0", "layers.1.self_attn", "layers.1.mlp.act_fn", "norm"],
    "bert": ["encoder.layer.0", "encoder.layer.1.attention", "pooler"],
    "bert eager": ["encoder.layer.0.attention", "encoder.layer.1"],
}


@pytest.mark.parametrize(
    "batches",
    [(FULL, PADDED, FULL), (PADDED, FULL, (2, 4, 4)), ((5, 5, 3), FULL)],
    ids=["whole first", "padded first", "two whole ones first"],
)
@pytest.mark.parametrize("kind", NAMED)
def test_text_with_and_without_padding(
    kind: str, batches: tuple[tuple[int, ...], ...], tmp_path: Path
) -> None:
    model = language_model(kind).eval()
    data = [text(lengths, number) for number, lengths in enumerate(batches)]
    features = extracted(model, data, tmp_path / "f", NAMED[kind], shapes="ragged")

    for layer in NAMED[kind]:
        rows = _rows_by_hook(model, data, layer)
        assert len(features[layer]) == len(rows)
        for found, expected in zip(features[layer], rows, strict=True):
            numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def _rows_by_hook(model: nn.Module, data: list[dict[str, Tensor]], layer: str) -> list[Any]:
    """What a hook sees of each sample, without the tokens that do not count."""
    seen: list[Tensor] = []
    handle = model.get_submodule(layer).register_forward_hook(
        lambda _module, _args, output: seen.append(first_tensor(output).detach().clone())
    )
    with torch.no_grad():
        for batch in data:
            model(**batch)
    handle.remove()
    return [
        (row[: int(counts.sum())] if row.ndim == 2 else row).numpy()
        for values, batch in zip(seen, data, strict=True)
        for row, counts in zip(values, batch["attention_mask"], strict=True)
    ]


# --- branches ---------------------------------------------------------------------------------------------


class Branching(nn.Module):
    """Goes through `extra`, and some ops of its own, where no input is below zero."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(3, 4)
        self.extra = nn.Linear(4, 4)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.last = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        if (x > 0).all():
            hidden = torch.relu(self.extra(hidden)) + 1
        return torch.sigmoid(self.last(self.block(hidden)))


def mixed(*signs: int, size: int = 4) -> Tensor:
    """A batch for each sign: all inputs above zero, or not all of them."""
    torch.manual_seed(1)
    parts = []
    for sign in signs:
        part = torch.rand(size, 3) + 0.1
        part[-1] *= sign  # the first samples are above zero in any case
        parts.append(part)
    return torch.cat(parts)


def by_hook(model: nn.Module, address: str, x: Tensor, size: int = 4) -> Any:
    seen: list[Tensor] = []
    handle = model.get_submodule(address).register_forward_hook(
        lambda _module, _args, output: seen.append(first_tensor(output).clone())
    )
    with torch.no_grad():
        for part in x.split(size):
            model(part)
    handle.remove()
    return torch.cat(seen).numpy()


@pytest.mark.parametrize("signs", [(1, -1, 1), (-1, 1, 1), (-1, -1), (1, 1, -1)], ids=str)
@pytest.mark.parametrize("layers", [["block.0", "last"], ["first", "block"], ["last"]], ids=str)
def test_what_runs_in_every_batch_is_found_in_every_batch(
    signs: tuple[int, ...], layers: list[str], tmp_path: Path
) -> None:
    model, x = Branching(), mixed(*signs)

    features = extracted(model, x, tmp_path / "f", layers, batch_size=4)

    assert features.layers == layers
    for layer in layers:
        assert numpy.array_equal(features[layer][:], by_hook(model, layer, x)), layer


def test_a_pattern_means_what_runs_in_the_first_batch(tmp_path: Path) -> None:
    """Also where two of its samples alone would have gone through more modules."""
    model, x = Branching(), mixed(-1, -1)

    features = extracted(model, x, tmp_path / "f", "modules", batch_size=4)

    assert features.layers == ["first", "block.0", "block.1", "last"]
    for layer in features.layers:
        assert numpy.array_equal(features[layer][:], by_hook(model, layer, x)), layer


def test_a_module_that_two_samples_do_not_reach_may_be_named(tmp_path: Path) -> None:
    class Counting(Branching):
        def forward(self, x: Tensor) -> Tensor:
            hidden = self.first(x)
            return self.last(self.extra(hidden) if len(x) > 3 else hidden)

    model, x = Counting(), mixed(1, 1)

    features = extracted(model, x, tmp_path / "f", ["extra", "last"], batch_size=4)

    assert numpy.array_equal(features["extra"][:], by_hook(model, "extra", x))


def test_a_module_that_is_not_called_in_a_batch_is_told_with_the_batch(tmp_path: Path) -> None:
    model, x = Branching(), mixed(1, 1, -1)

    with pytest.raises(CaptureError, match=r"extra is missing in batch 2: .* was not called there.*last"):
        extracted(model, x, tmp_path / "f", ["extra", "last"], batch_size=4)

    broken = tl.open_features(tmp_path / "f")
    assert not broken.is_complete
    assert broken.num_done in (0, 4, 8)


def test_an_op_that_is_elsewhere_is_found_by_its_place_in_its_module(tmp_path: Path) -> None:
    """`tanh_1` stands after more ops in some batches, and is the same op of the same module in all."""
    model, x = Branching(), mixed(-1, 1, 1, -1)

    features = extracted(model, x, tmp_path / "f", ["tanh_1", "last"], batch_size=4)

    assert numpy.array_equal(features["tanh_1"][:], by_hook(model, "block.1", x))


@pytest.mark.parametrize(
    ("label", "signs", "words"),
    [
        ("relu_1", (1, 1, -1), r"relu_1 is missing in batch 2.*Name a module instead.*through first, block"),
        ("linear_2", (1, -1), r"linear_2 is missing in batch 1.*Name a module instead"),
    ],
)
def test_a_label_that_is_not_there_is_told_with_what_to_name_instead(
    label: str, signs: tuple[int, ...], words: str, tmp_path: Path
) -> None:
    """The ops of the model itself are others in another branch: what bears the label is not what it was."""
    with pytest.raises(CaptureError, match=words):
        extracted(Branching(), mixed(*signs), tmp_path / "f", [label], batch_size=4)


def test_the_module_of_a_missing_op_is_named(tmp_path: Path) -> None:
    class Block(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if (x > 0).all():
                return torch.tanh(x.abs())
            return torch.tanh(x)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()

        def forward(self, x: Tensor) -> Tensor:
            return self.block(x) * 2

    words = r"tanh_1 is missing in batch 1.*Name the module 'block'"
    with pytest.raises(CaptureError, match=words):
        extracted(Net(), mixed(1, -1), tmp_path / "f", ["tanh_1"], batch_size=4)


class Bending(nn.Module):
    """All ops are the model's own: some stand in a branch, and one in a loop."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.extra = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        if (x > 0).all():
            x = torch.relu(self.extra(torch.tanh(x))) + x
        hidden = torch.relu(self.first(x))
        for _ in range(2):
            hidden = hidden * 2
        return torch.sigmoid(hidden)


@pytest.mark.parametrize("signs", [(-1, 1, -1), (1, -1, 1)], ids=str)
def test_an_op_is_found_by_its_line_whatever_ran_before_it_in_the_same_module(
    signs: tuple[int, ...], tmp_path: Path
) -> None:
    model, x = Bending(), mixed(*signs)
    label = "relu_1" if signs[0] < 0 else "relu_2"  # before it stands the relu of the branch

    features = extracted(model, x, tmp_path / "f", [label, "sigmoid_1"], batch_size=4)

    with torch.no_grad():
        expected = torch.cat([model(part) for part in x.split(4)]).numpy()
        behind = torch.relu(torch.from_numpy(by_hook(model, "first", x))).numpy()
    assert numpy.array_equal(features["sigmoid_1"][:], expected)
    assert numpy.array_equal(features[label][:], behind)


@pytest.mark.parametrize("signs", [(-1, 1), (1, -1)], ids=str)
def test_what_to_name_instead_is_something_that_all_batches_have(
    signs: tuple[int, ...], tmp_path: Path
) -> None:
    # Of several at one line it is not known which is which, where other ops ran before them.
    with pytest.raises(CaptureError, match=r"mul_1:1 is missing in batch 1.*through first\.$"):
        extracted(Bending(), mixed(*signs), tmp_path / "f", ["mul_1"], batch_size=4)


# --- calls ------------------------------------------------------------------------------------------------


@dataclass
class Both:
    """What a module of somebody's gives."""

    note: str
    values: Tensor
    others: tuple[Tensor, ...]


class Packed(nn.Module):
    def __init__(self, pack: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.pack = pack

    def forward(self, x: Tensor) -> Any:
        return self.pack(self.inner(x))


@pytest.mark.parametrize(
    "pack",
    [
        lambda y: (y + 1, y * 2),
        lambda y: [None, y + 1],
        lambda y: {"values": y + 1, "rest": (y,)},
        lambda y: Both("a note", y + 1, (y,)),
    ],
    ids=["tuple", "list", "dict", "dataclass"],
)
def test_the_first_tensor_is_what_a_module_gives(pack: Callable[[Tensor], Any], tmp_path: Path) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = Packed(pack)

        def forward(self, x: Tensor) -> Any:
            return self.part(x.neg().neg() if (x > 0).all() else x)

    torch.manual_seed(0)
    model, x = Net(), mixed(-1, 1)

    features = extracted(model, x, tmp_path / "f", ["part"], batch_size=4)

    with torch.no_grad():
        expected = torch.cat([model.part.inner(part) + 1 for part in x.split(4)])
    assert numpy.array_equal(features["part"][:], expected.numpy())


class Twice(nn.Module):
    """Calls `shared` twice; in between, there is more to do for some data."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.shared = nn.Linear(3, 3)
        self.other = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.shared(x)
        if (x > 0).all():
            hidden = self.other(hidden).relu()
        return self.shared(hidden).sum(1)


@pytest.mark.parametrize("layers", [["shared:2"], ["shared"], ["shared:1", "shared:2"]], ids=str)
def test_a_call_of_several_is_found_by_its_number(layers: list[str], tmp_path: Path) -> None:
    model, x = Twice(), mixed(1, -1, 1)

    features = extracted(model, x, tmp_path / "f", layers, batch_size=4)

    seen: list[Tensor] = []
    model.shared.register_forward_hook(lambda _module, _args, output: seen.append(output.clone()))
    with torch.no_grad():
        for part in x.split(4):
            model(part)
    if layers != ["shared:2"]:
        assert numpy.array_equal(features["shared:1"][:], torch.cat(seen[::2]).numpy())
    assert numpy.array_equal(features["shared:2"][:], torch.cat(seen[1::2]).numpy())


def test_a_call_that_is_not_there_is_told_with_how_many_there_are(tmp_path: Path) -> None:
    class Repeating(Twice):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(3 if (x > 0).all() else 2):
                x = self.shared(x)
            return x

    with pytest.raises(
        CaptureError, match=r"shared:3 is missing in batch 1: .*shared was called 2 times there"
    ):
        extracted(Repeating(), mixed(1, -1), tmp_path / "f", ["shared:3"], batch_size=4)


def test_a_pass_ends_when_all_that_is_wanted_was_there_in_whatever_order(tmp_path: Path) -> None:
    class Turning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.one, self.two, self.rest = (nn.Linear(3, 3) for _ in range(3))

        def forward(self, x: Tensor) -> Tensor:
            first, second = (self.one, self.two) if (x > 0).all() else (self.two, self.one)
            return self.rest(second(first(x)))

    model, x, ran = Turning(), mixed(1, -1, 1), []
    model.rest.register_forward_pre_hook(lambda *_: ran.append(1))

    features = extracted(model, x, tmp_path / "f", ["one", "two"], batch_size=4)

    assert len(ran) == 1  # on two samples, when it was planned
    for layer in ("one", "two"):
        assert numpy.array_equal(features[layer][:], by_hook(model, layer, x)), layer


def test_a_hook_that_replaces_what_a_module_gives_is_a_part_of_it(tmp_path: Path) -> None:
    model, x = Branching(), mixed(1, -1)
    model.block.register_forward_hook(lambda _module, _args, output: output * 3)

    features = extracted(model, x, tmp_path / "f", ["block", "last"], batch_size=4)

    assert numpy.array_equal(features["block"][:], by_hook(model, "block.1", x) * 3)
    assert numpy.array_equal(features["last"][:], by_hook(model, "last", x))


# --- interrupted, and by several --------------------------------------------------------------------------


class Stop(BaseException):
    """Ends an extraction in the middle."""


@pytest.mark.parametrize("num_threads", [None, 1, 2])
def test_it_goes_on_in_whatever_way(num_threads: int | None, tmp_path: Path) -> None:
    model, x, calls = Branching(), mixed(-1, 1, 1, -1, 1), [0]
    layers = ["block", "tanh_1", "last"]
    options: dict[str, Any] = {"batch_size": 4, "num_threads": num_threads}

    def stop(*_: Any) -> None:
        calls[0] += 1
        if calls[0] == 8:
            raise Stop

    handle = model.first.register_forward_pre_hook(stop)
    with pytest.raises(Stop):
        extracted(model, x, tmp_path / "f", layers, **options)
    handle.remove()
    assert not tl.open_features(tmp_path / "f").is_complete

    features = extracted(model, x, tmp_path / "f", layers, **options)

    for layer, address in zip(layers, ("block", "block.1", "last"), strict=True):
        numpy.testing.assert_allclose(features[layer][:], by_hook(model, address, x), rtol=1e-6, atol=1e-6)


def test_several_ranks_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Branching(), mixed(1, -1, 1, -1, -1)
    whole = extracted(model, x, tmp_path / "one", ["tanh_1", "last"], batch_size=4)

    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "2")
        features = extracted(model, x, tmp_path / "two", ["tanh_1", "last"], batch_size=4)

    assert features.is_complete
    for layer in ("tanh_1", "last"):
        assert numpy.array_equal(features[layer][:], whole[layer][:])
