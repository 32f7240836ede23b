"""Which inputs reach a unit, and which outputs a unit reaches. Torch's own derivatives are the oracle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import torcheer as tl
from examples.alexnet import AlexNet
from tests.capture.outcomes import Does
from tests.many import examples
from tests.vision import torchvision

QUICK = settings(max_examples=examples(25), deadline=None)


def gradient_mask(model: nn.Module, x: Tensor, unit: tuple[int, ...]) -> Tensor:
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(model(x)[unit], x)[0] != 0


# --- against derivatives ------------------------------------------------------------------------


@st.composite
def conv_stacks(draw: st.DrawFn, smooth: bool = False) -> nn.Sequential:
    layers: list[nn.Module] = []
    channels = 2
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["conv", "pool", "act"]))
        kernel = draw(st.integers(1, 3))
        stride = draw(st.integers(1, 2))
        if kind == "conv":
            groups = draw(st.sampled_from([1, 2]))
            out = draw(st.sampled_from([2, 4]))
            dilation, padding = draw(st.integers(1, 2)), draw(st.integers(0, 2))
            layers.append(nn.Conv2d(channels, out, kernel, stride, padding, dilation, groups))
            channels = out
        elif kind == "pool":
            pool = nn.AvgPool2d if smooth else draw(st.sampled_from([nn.AvgPool2d, nn.MaxPool2d]))
            layers.append(pool(kernel, stride, kernel // 2))
        else:
            layers.append(nn.Tanh() if smooth else draw(st.sampled_from([nn.ReLU, nn.ReLU6, nn.GELU]))())
    return nn.Sequential(*layers)


@QUICK
@given(conv_stacks(), st.integers(0, 999))
def test_what_has_a_gradient_is_in_the_field(model: nn.Sequential, seed: int) -> None:
    torch.manual_seed(seed)
    model.double()
    x = torch.randn(2, 2, 30, 29, dtype=torch.float64)
    history = tl.log_forward_pass(model, x)

    field = history.receptive_field("output_1")

    assert field.is_exact
    assert not (gradient_mask(model, x, field.unit) & ~field.mask).any()


@QUICK
@given(conv_stacks(smooth=True), st.integers(0, 999))
def test_of_a_smooth_net_the_field_is_where_the_gradient_is(model: nn.Sequential, seed: int) -> None:
    torch.manual_seed(seed)
    model.double()
    x = torch.randn(2, 2, 30, 29, dtype=torch.float64)

    field = tl.log_forward_pass(model, x).receptive_field("output_1")

    assert torch.equal(field.mask, gradient_mask(model, x, field.unit))


def classic_interval(layers: nn.Sequential, unit: int, sizes: list[int]) -> tuple[int, int]:
    """From a unit back through kernels, strides, dilations and paddings: the first and last input."""
    first = last = unit
    for layer, size in zip(reversed(layers), reversed(sizes), strict=True):
        if not hasattr(layer, "kernel_size"):
            continue
        one = lambda value: value if isinstance(value, int) else value[0]  # noqa: E731
        kernel, stride, padding = (one(v) for v in (layer.kernel_size, layer.stride, layer.padding))
        dilation = one(getattr(layer, "dilation", 1))
        first = max(0, first * stride - padding)
        last = min(size - 1, last * stride - padding + (kernel - 1) * dilation)
        if first % 1 or last < first:
            break
    return first, last


@QUICK
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.booleans()), min_size=1, max_size=4))
def test_a_stack_has_the_field_of_the_textbook(shape: list[tuple[int, int, bool]]) -> None:
    torch.manual_seed(0)
    layers = nn.Sequential(
        *(
            nn.MaxPool2d(kernel, stride) if pools and stride <= kernel else nn.Conv2d(3, 3, kernel, stride)
            for kernel, stride, pools in shape
        )
    )
    x = torch.randn(1, 3, 64, 64)
    history = tl.log_forward_pass(layers, x)
    sizes = [x.shape[-1], *(history[str(i)].tensor_shape[-1] for i in range(len(layers) - 1))]

    field = history.receptive_field("output_1")

    first, last = classic_interval(layers, field.unit[-1], sizes)
    assert field.box[2:] == (slice(first, last + 1),) * 2


def test_alexnet_and_resnet_have_their_known_fields() -> None:
    alexnet = tl.log_forward_pass(AlexNet().eval(), torch.rand(1, 3, 224, 224), layers_to_save="none")
    resnet = tl.log_forward_pass(torchvision.models.resnet18().eval(), torch.rand(1, 3, 112, 112))

    assert alexnet.receptive_field("conv2d_3", (5, 6, 6)).size == (1, 3, 99, 99)
    assert resnet.receptive_field("maxpool2d_1").size == (1, 3, 11, 11)
    assert resnet.receptive_field("layer1").size == (1, 3, 43, 43)
    assert resnet.receptive_field("layer2.1").size == (1, 3, 99, 99)
    assert resnet.receptive_field("output_1", 7).mask.all()


# --- the twin --------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[], nn.Module]] = {
    "conv": lambda: nn.Conv1d(3, 3, 3, padding=1, bias=False),
    "sparse conv": lambda: _pruned(nn.Conv1d(3, 3, 2, stride=2)),
    "max pool": lambda: nn.MaxPool1d(2, stride=1, ceil_mode=True),
    "relu": nn.ReLU,
    "running maximum": lambda: Does(lambda x: x.cummax(-1).values),
    "running sum": lambda: Does(lambda x: x.cumsum(-1)),
    "norm": lambda: nn.GroupNorm(3, 3),
    "batch norm": lambda: nn.BatchNorm1d(3),
    "flip in place": lambda: Does(_flip_in_place),
    "gate": lambda: Does(lambda x: torch.where(x > 0, x, x.roll(1, -1))),
    "sort": lambda: Does(lambda x: x.sort(1).values),
}


def _pruned(layer: nn.Conv1d) -> nn.Conv1d:
    with torch.no_grad():
        layer.weight[:, 1:] = 0
    return layer


def _flip_in_place(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, 0] = y[:, 1] * 2
    y[..., 1:].add_(y[..., :1])
    return y


@QUICK
@given(st.lists(st.sampled_from(list(PARTS)), min_size=1, max_size=4), st.data())
def test_an_input_sees_a_unit_where_the_unit_sees_it(names: list[str], data: st.DataObject) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 16)
    history = tl.log_forward_pass(nn.Sequential(*(PARTS[name]() for name in names)), x)
    shape = history["output_1"].tensor_shape
    unit = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
    element = tuple(data.draw(st.integers(0, size - 1)) for size in x.shape)

    back = history.receptive_field("output_1", unit)
    forth = history.projective_field("input_1", element)

    assert bool(back.mask[element]) == bool(forth.mask[unit])
    for index in back.mask.nonzero()[:3]:
        assert history.projective_field("input_1", index.tolist()).mask[unit]
    for index in forth.mask.nonzero()[:3]:
        assert history.receptive_field("output_1", index.tolist()).mask[element]


def test_a_unit_reaches_a_layer_in_between() -> None:
    model = nn.Sequential(nn.Conv1d(1, 2, 3), nn.ReLU(), nn.Conv1d(2, 2, 3), nn.Flatten(), nn.Linear(16, 4))
    history = tl.log_forward_pass(model, torch.randn(1, 1, 12))

    field = history.projective_field("input_1", (0, 5), onto="2")
    hidden = history.projective_field("conv1d_1", (1, 4), onto="conv1d_2")

    assert field.box == (slice(0, 1), slice(0, 2), slice(1, 6))
    assert hidden.box == (slice(0, 1), slice(0, 2), slice(2, 5))
    assert history.projective_field("conv1d_1", (1, 4)).mask.all()
    with pytest.raises(tl.InputError, match=r"no way leads from 'conv1d_2_3' to 'conv1d_1_1'.*swap them"):
        history.projective_field("conv1d_2", (1, 4), onto="conv1d_1")


class Mixed(nn.Module):
    """Two inputs, ways past each other, writes, several outputs of one call, a loop, a causal mask."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        board = x.clone()
        board[:, 0] = y[:, 1]
        left, right = board.chunk(2, 1)
        right.mul_(2)
        z = torch.cat([left, right.relu()], 1)
        for _ in range(2):
            z = z.roll(1, 1) + z.cummax(0).values
        values, places = z.topk(2, 1)
        padded = F.pad(torch.zeros_like(z).scatter(1, places, values), (1, 1))
        later = torch.ones(6, 6).triu(1).bool()
        weights = (padded.T @ padded).masked_fill(later, -torch.inf).softmax(-1)
        return weights @ padded.T, (board > 0).sum(), y * 2


@settings(max_examples=examples(120), deadline=None)
@given(st.data())
def test_for_any_two_layers_one_sees_where_the_other_reaches(data: st.DataObject) -> None:
    torch.manual_seed(0)
    history = tl.log_forward_pass(Mixed(), (torch.randn(3, 4), torch.randn(3, 4)))
    labels = [op.layer_label for op in history]
    start, end = data.draw(st.sampled_from(labels)), data.draw(st.sampled_from(labels))
    element, unit = (
        tuple(data.draw(st.integers(0, size - 1)) for size in history[label].tensor_shape)
        for label in (start, end)
    )
    start_op, end_op = history[start].index, history[end].index
    if start != end and start_op not in history._structure.ancestors(end_op):
        with pytest.raises(tl.InputError, match=f"no way leads from '{start}' to '{end}'"):
            history.receptive_field(end, unit or None, onto=start)
        return

    back = history.receptive_field(end, unit or None, onto=start)
    forth = history.projective_field(start, element or None, onto=end)

    assert bool(back.mask[element]) == bool(forth.mask[unit])
    for index in back.mask.nonzero()[:2]:
        assert history.projective_field(start, index.tolist() or None, onto=end).mask[unit]
    for index in forth.mask.nonzero()[:2]:
        assert history.receptive_field(end, index.tolist() or None, onto=start).mask[element]


@QUICK
@given(conv_stacks(smooth=True), st.integers(0, 999), st.data())
def test_onto_a_layer_the_field_is_where_the_gradient_of_that_layer_is(
    model: nn.Sequential, seed: int, data: st.DataObject
) -> None:
    torch.manual_seed(seed)
    model.double()
    x = torch.randn(2, 2, 30, 29, dtype=torch.float64)
    cut = data.draw(st.integers(0, len(model) - 1))

    field = tl.log_forward_pass(model, x).receptive_field("output_1", onto=str(cut))

    assert torch.equal(field.mask, gradient_mask(model[cut + 1 :], model[: cut + 1](x), field.unit))


def test_what_leads_past_a_layer_does_not_count() -> None:
    def model(x: Tensor) -> Tensor:
        return x.flip(0) + torch.sin(x)

    history = tl.log_forward_pass(Does(model), torch.randn(4))

    assert history.receptive_field("output_1", 0).mask.tolist() == [True, False, False, True]
    assert history.receptive_field("output_1", 0, onto="sin_1").mask.tolist() == [True, False, False, False]
    assert history.receptive_field("output_1", 0, onto="flip_1").mask.tolist() == [True, False, False, False]
    assert history.receptive_field("sin_1", 2, onto="sin_1").mask.tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("mask", "masked"),
    [
        (lambda scores, keep: scores.masked_fill(~keep, -torch.inf), "maskedfill_1"),
        (lambda scores, keep: scores + torch.where(keep, 0.0, -1e9), "add_1"),
    ],
    ids=["filled", "shifted"],
)
def test_a_layer_that_is_taken_for_the_data_may_hold_any_values(mask: Any, masked: str) -> None:
    keep = torch.ones(3, 3).tril().bool()

    def model(x: Tensor) -> Tensor:
        scores: Tensor = mask(x @ x.T, keep)
        return scores.softmax(-1) * 1.0

    history = tl.log_forward_pass(Does(model), torch.randn(3, 2))

    # Above the mask it cuts; a score put in below it would be seen.
    above = history.receptive_field("output_1", (1, 0), onto="matmul_1")
    assert above.mask.nonzero().tolist() == [[1, 0], [1, 1]]
    assert history.receptive_field("output_1", (1, 0), onto=masked).mask[1].all()
    assert history.projective_field(masked, (1, 2), onto="output_1").mask[1].all()


def test_a_part_that_was_constant_is_data_when_it_is_asked_for() -> None:
    def model(x: Tensor) -> Tensor:
        first, second = F.pad(x, (3, 0)).split(3)
        return first + second

    history = tl.log_forward_pass(Does(model), torch.randn(3))

    assert history.receptive_field("output_1", 1, onto="split_1").mask.tolist() == [False, True, False]


def test_what_lies_above_the_layer_need_not_be_known() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x: Tensor) -> Tensor:
            return (x * self.scale).sin().cos()

    with torch.device("meta"):
        history = tl.log_forward_pass(Scaled(), torch.randn(3))

    assert not history.receptive_field("output_1").is_exact
    assert history.receptive_field("output_1", onto="sin_1").is_exact
    assert history.projective_field("sin_1").is_exact


def test_a_loop_is_looked_back_on_from_pass_to_pass() -> None:
    def model(x: Tensor) -> Tensor:
        for _ in range(4):
            x = x + x.roll(1)
        return x

    history = tl.log_forward_pass(Does(model), torch.randn(8))

    sizes = [history.receptive_field("add_1:4", 7, onto=f"add_1:{k}").num_elements for k in (1, 2, 3, 4)]
    assert sizes == [4, 3, 2, 1]


def test_a_layer_that_sees_a_read_only_past_the_other_has_no_note_of_it() -> None:
    def model(x: Tensor) -> Tensor:
        doubled = x.sin()
        return doubled * 2 if x.sum() > -99 else doubled

    history = tl.log_forward_pass(Does(model), torch.ones(3))

    assert history.receptive_field("output_1", 1).notes
    assert not history.receptive_field("output_1", 1, onto="sin_1").notes


# --- what a model keeps apart ---------------------------------------------------------------------------


class MaskedConv(nn.Conv2d):
    """Sees only what was drawn before: above, and to the left."""

    def __init__(self) -> None:
        super().__init__(1, 1, 3, padding=1)
        mask = torch.ones(3, 3)
        mask[1, 1:] = 0
        mask[2] = 0
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight * self.mask, self.bias, padding=1)


@pytest.mark.parametrize("save", ["all", "none"])
def test_a_pixel_of_a_masked_convolution_sees_only_pixels_before_it(save: str) -> None:
    model = nn.Sequential(MaskedConv(), nn.ReLU(), MaskedConv())
    history = tl.log_forward_pass(model, torch.randn(1, 1, 7, 7), layers_to_save=save)

    mask = history.receptive_field("output_1", (0, 3, 3)).mask[0, 0]

    before = [[], [1, 2, 3, 4, 5], [1, 2, 3], [1], [], [], []]
    assert [row.nonzero().flatten().tolist() for row in mask] == before


def _scores_filled(scores: Tensor, keep: Tensor) -> Tensor:
    return scores.masked_fill(~keep, -torch.inf)


def _scores_shifted(scores: Tensor, keep: Tensor) -> Tensor:
    return scores + (1 - keep.float()) * -10_000.0


def _scores_least(scores: Tensor, keep: Tensor) -> Tensor:
    bias = torch.where(keep, 0.0, torch.finfo(scores.dtype).min)
    return torch.maximum(scores + bias, torch.tensor(torch.finfo(scores.dtype).min))


def _scores_chosen(scores: Tensor, keep: Tensor) -> Tensor:
    return torch.where(keep, scores, torch.tensor(-1e9))


class Attention(nn.Module):
    def __init__(self, mask: Callable[[Tensor, Tensor], Tensor] | None) -> None:
        super().__init__()
        self.mask = mask
        self.project = nn.Linear(4, 12)

    def forward(self, x: Tensor, padding: Tensor | None = None) -> Tensor:
        q, k, v = self.project(x).chunk(3, -1)
        if self.mask is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        keep = torch.ones(x.shape[1], x.shape[1]).tril().bool()
        if padding is not None:
            keep = keep & (padding[:, None] > 0)
        return self.mask(q @ k.transpose(1, 2), keep).softmax(-1) @ v


@pytest.mark.parametrize("save", ["all", "none"])
@pytest.mark.parametrize("mask", [None, _scores_filled, _scores_shifted, _scores_least, _scores_chosen])
def test_causal_attention_sees_no_later_token(mask: Any, save: str) -> None:
    model = nn.Sequential(Attention(mask), Attention(mask))
    history = tl.log_forward_pass(model, torch.randn(2, 6, 4), layers_to_save=save)

    back = history.receptive_field("output_1", (1, 2, 3))
    forth = history.projective_field("input_1", (1, 2, 3))

    assert back.box == (slice(1, 2), slice(0, 3), slice(0, 4))
    assert forth.box == (slice(1, 2), slice(2, 6), slice(0, 4))
    assert back.mask[back.box].all()
    assert back.is_exact


@pytest.mark.parametrize("save", ["all", "none"])
@pytest.mark.parametrize("mask", [_scores_filled, _scores_shifted, _scores_least, _scores_chosen])
def test_a_padding_mask_that_came_in_can_let_through_only_what_is_causal(mask: Any, save: str) -> None:
    x, padding = torch.randn(2, 6, 4), torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
    history = tl.log_forward_pass(Attention(mask), (x, padding), layers_to_save=save)

    field = history.receptive_field("output_1", (1, 3, 3))

    # Tokens 0 and 1 are padding now, but with another mask they would be seen.
    assert field["input_1"].box[:2] == (slice(1, 2), slice(0, 4))
    assert field["input_2"].box == (slice(1, 2), slice(0, 4))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("padded", [False, True])
def test_a_token_of_gpt2_reaches_only_later_positions(attention: str, padded: bool) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=2, n_head=2, n_embd=8, vocab_size=20, n_positions=8, attn_implementation=attention,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    options: dict[str, Any] = {"use_cache": False}
    if padded:
        options["attention_mask"] = torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 1]])
    history = tl.log_forward_pass(model, (torch.randint(0, 20, (2, 5)),), options)

    back = history.receptive_field("output_1", (1, 2, 9))["input_1"]
    forth = history.projective_field("input_1", (1, 2), onto="output_1")

    assert back.mask.tolist() == [[False] * 5, [True, True, True, False, False]]
    assert forth.box == (slice(1, 2), slice(2, 5), slice(0, 20))


class HandLSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = c = torch.zeros(x.shape[1], 3)
        states = []
        for step in x:
            h, c = self.cell(step, (h, c))
            states.append(h)
        return torch.stack(states)


class Packed(nn.Module):
    def __init__(self, bidirectional: bool) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, 3, num_layers=2, bidirectional=bidirectional, dropout=0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0]


@pytest.mark.parametrize(
    ("model", "sees"),
    [(HandLSTM(), 3), (Packed(False), 3), (Packed(True), 5)],
    ids=["hand", "lstm", "both ways"],
)
def test_a_recurrent_state_sees_the_steps_up_to_it(model: nn.Module, sees: int) -> None:
    history = tl.log_forward_pass(model, torch.randn(5, 2, 2))

    back = history.receptive_field("output_1", (2, 1, 0))

    assert back.box == (slice(0, sees), slice(1, 2), slice(0, 2))
    assert back.mask[back.box].all()
    assert history.projective_field("input_1", (4, 1, 0)).mask[2, 1].any() == (sees == 5)


class UNet(nn.Module):
    def __init__(self, skips: bool) -> None:
        super().__init__()
        self.skips = skips
        self.down, self.inner, self.up = nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 2, 1), nn.Conv2d(4, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        fine = self.down(x).relu()
        coarse = F.interpolate(self.inner(F.max_pool2d(fine, 4)), scale_factor=4)
        return self.up(torch.cat([fine if self.skips else torch.zeros_like(fine), coarse], 1))


def test_a_skip_adds_its_own_field() -> None:
    x = torch.randn(1, 1, 16, 16)
    joined, bare = (
        tl.log_forward_pass(UNet(skips), x).receptive_field("output_1", (0, 4, 4)).mask[0, 0]
        for skips in (True, False)
    )

    assert torch.equal(joined, bare)  # the coarse way covers the fine one here
    corner = tl.log_forward_pass(UNet(True), x).receptive_field("up", (0, 7, 7))
    assert corner.box[2:] == (slice(3, 9), slice(3, 9))
    assert tl.log_forward_pass(UNet(True), x).receptive_field("down", (0, 7, 7)).size[2:] == (3, 3)


def test_items_of_a_batch_meet_only_in_a_batch_norm_that_trains() -> None:
    model = nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2), nn.ReLU())
    x = torch.randn(3, 2, 4)

    trained = tl.log_forward_pass(model, x).receptive_field("output_1", (1, 0, 2))
    model.eval()
    judged = tl.log_forward_pass(model, x).receptive_field("output_1", (1, 0, 2))

    assert trained.mask.all()
    assert judged.box == (slice(1, 2), slice(0, 2), slice(2, 3))


class Writes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        board = torch.zeros(4, 4)
        board[1:3] = x[:2]
        row = board[1]
        row.mul_(x[2])
        board[:, 0] = 5.0
        return board.relu_()


def test_what_is_written_into_a_slice_is_followed() -> None:
    history = tl.log_forward_pass(Writes(), torch.randn(3, 4))

    def seen(unit: tuple[int, int]) -> list[list[int]]:
        return history.receptive_field("output_1", unit).mask.nonzero().tolist()

    assert seen((1, 2)) == [[0, 2], [2, 2]]
    assert seen((2, 3)) == [[1, 3]]
    assert seen((0, 3)) == seen((1, 0)) == []


def test_a_weight_of_zero_cuts_the_way() -> None:
    layer = nn.Linear(4, 3)
    with torch.no_grad():
        layer.weight[1, 2:] = 0
    history = tl.log_forward_pass(layer, torch.randn(5, 4))

    assert history.receptive_field("output_1", (3, 1)).mask.nonzero().tolist() == [[3, 0], [3, 1]]
    assert history.projective_field("input_1", (3, 2)).mask.nonzero().tolist() == [[3, 0], [3, 2]]


def test_a_detached_way_is_a_way() -> None:
    history = tl.log_forward_pass(Does(lambda x: x[:1].detach() + x[1:].data), torch.randn(2, 3))

    assert history.receptive_field("output_1", (0, 1)).mask.nonzero().tolist() == [[0, 1], [1, 1]]


# --- whatever the pass is like -----------------------------------------------------------------------------


def test_several_inputs_and_outputs_each_have_their_part() -> None:
    def model(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return a + b, (b * 2).sum(0)

    history = tl.log_forward_pass(Does(model), (torch.randn(2, 3), torch.randn(2, 3), torch.randn(4)))

    back = history.receptive_field("output_1", (1, 2))
    forth = history.projective_field("input_2", (1, 2))

    assert [end.num_elements for end in back] == [1, 1, 0]
    assert back["input_3"].is_empty
    assert forth["output_1"].mask.nonzero().tolist() == [[1, 2]]
    assert forth["output_2"].mask.nonzero().tolist() == [[2]]
    with pytest.raises(tl.InputError, match="3 ends"):
        back.mask
    with pytest.raises(tl.LayerNotFoundError, match="it has 'input_1_0'"):
        back["input_9"]


def test_a_model_on_meta_tensors_has_its_field() -> None:
    with torch.device("meta"):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)).eval()
        history = tl.log_forward_pass(model, torch.randn(1, 3, 16, 16))

    field = history.receptive_field("output_1", (1, 2, 2))

    assert field.box == (slice(0, 1), slice(0, 3), slice(4, 8), slice(4, 8))
    assert not field.is_exact
    assert "0.weight" in str(field)


def test_a_loaded_history_has_no_functions_to_ask(tmp_path: Path) -> None:
    history = tl.log_forward_pass(nn.Linear(3, 4), torch.randn(2, 3))
    history.save(tmp_path / "pass.tl")
    loaded = tl.load_history(tmp_path / "pass.tl")

    with pytest.raises(tl.InputError, match="has no functions"):
        loaded.receptive_field("output_1")
    with pytest.raises(tl.InputError, match="has no functions"):
        loaded.projective_field("input_1")


def test_asking_leaves_model_and_random_numbers_alone() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5), nn.ReLU(inplace=True)).double()
    history = tl.log_forward_pass(model, torch.randn(4, 3, dtype=torch.float64))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    saved = [op.tensor_contents.clone() for op in history]
    state = torch.get_rng_state()

    with torch.inference_mode():
        history.receptive_field("output_1")
    with torch.no_grad():
        history.projective_field("input_1")

    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(torch.equal(op.tensor_contents, value) for op, value in zip(history, saved, strict=True))
    assert all(p.grad is None for p in model.parameters())


def test_an_op_that_cannot_be_run_again_lets_everything_through_and_says_so() -> None:
    def model(x: Tensor) -> Tensor:
        return x[x[:, 0] > -99] * 2

    field = tl.log_forward_pass(Does(model), torch.randn(3, 2)).receptive_field("output_1", (1, 1))

    assert field.mask.all()
    assert not field.is_exact
    assert "getitem_2" in field.notes[0]


def test_a_view_by_strides_may_see_all_of_the_memory() -> None:
    history = tl.log_forward_pass(Does(lambda x: x[1].as_strided((2,), (1,), 0) * 2), torch.randn(3))

    field = history.receptive_field("output_1", 0)

    assert field.mask.all()
    assert not field.is_exact


def test_a_value_that_python_read_is_named() -> None:
    def model(x: Tensor) -> Tensor:
        return x * 2 if x.sum() > 0 else x

    field = tl.log_forward_pass(Does(model), torch.ones(3)).receptive_field("output_1", 1)

    assert field.mask.tolist() == [False, True, False]
    assert "gt_1" in field.notes[0]


def test_a_loop_is_followed_pass_by_pass() -> None:
    def model(x: Tensor) -> Tensor:
        for _ in range(3):
            x = x + x.roll(1)
        return x

    history = tl.log_forward_pass(Does(model), torch.randn(8))

    assert [history.receptive_field(f"add_1:{k}", 5).num_elements for k in (1, 2, 3)] == [2, 3, 4]


@pytest.mark.parametrize(
    ("unit", "full"),
    [
        (None, (0, 2, 3, 1)),
        ((1, 3, 5, 2), (1, 3, 5, 2)),
        ((3, 5, 2), (0, 3, 5, 2)),
        ([-1, -1, -1, -1], (1, 3, 5, 2)),
        (torch.tensor([1, 2, 3, 0]), (1, 2, 3, 0)),
    ],
)
def test_a_unit_is_given_with_or_without_its_batch_item(unit: Any, full: tuple[int, ...]) -> None:
    history = tl.log_forward_pass(nn.ReLU(), torch.randn(2, 4, 6, 3))

    field = history.receptive_field("relu_1", unit)

    assert field.unit == full
    assert field.mask.nonzero().tolist() == [list(full)]


@pytest.mark.parametrize("unit", [(9, 0), (0, 0, 0), 5, "a", 1.5, (0, -4), ()])
def test_a_unit_that_is_not_there_is_refused_with_the_shape(unit: Any) -> None:
    history = tl.log_forward_pass(nn.ReLU(), torch.randn(2, 3))

    with pytest.raises(tl.InputError, match=r"has the shape \(2, 3\)"):
        history.receptive_field("relu_1", unit)


def test_an_empty_layer_has_no_units_and_a_scalar_has_one() -> None:
    history = tl.log_forward_pass(Does(lambda x: (x[:0] * 2, x.sum())), torch.randn(2, 3))

    with pytest.raises(tl.InputError, match=r"\(0, 3\)"):
        history.receptive_field("output_1")
    assert history.receptive_field("output_2").mask.all()


def test_a_layer_that_no_input_reaches_sees_nothing() -> None:
    history = tl.log_forward_pass(Does(lambda x: x + torch.ones(3).exp()), torch.randn(3))

    field = history.receptive_field("exp_1", 1)

    assert field.num_elements == 0
    assert field.size == (0,)
    assert str(field) == f"{history['exp_1'].layer_label} unit (1,) sees nothing of input_1_0"


def test_a_field_reads_well() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3, dilation=2))
    history = tl.log_forward_pass(model, torch.randn(1, 3, 16, 16))

    assert str(history.receptive_field("conv2d_2", (0, 1, 2))) == (
        "conv2d_2_2 unit (0, 0, 1, 2) sees 1×3×7×7 of input_1_0 (1×3×16×16): [:, :, 1:8, 2:9], every element"
    )
    gaps = tl.log_forward_pass(model[1], torch.randn(1, 4, 9, 9)).receptive_field("conv2d_1", (0, 1, 2))
    assert str(gaps).endswith("sees 1×4×5×5 of input_1_0 (1×4×9×9): [:, :, 1:6, 2:7], 36 of 100 elements")
    forth = str(history.projective_field("conv2d_2", (0, 1, 2)))
    assert forth.endswith("reaches 1×1×1×1 of output_1_3 (1×4×10×10): [:, 0, 1, 2], every element")
    assert repr(gaps) == "<Field receptive of conv2d_1_1 unit (0, 0, 1, 2): 36 elements>"


class Named(nn.Module):
    def forward(self, x: Tensor, attention_mask: Tensor, more: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"logits": x * attention_mask + more["bias"]}


def test_inputs_and_outputs_are_printed_with_their_own_names() -> None:
    history = tl.log_forward_pass(Named(), (torch.ones(2), torch.ones(2), {"bias": torch.ones(2)}))

    back = history.receptive_field("output_1", 1)
    forth = history.projective_field("input_2", 1, onto="output_1")

    label = history["output_1"].layer_label
    assert str(back).splitlines() == [
        f"{label} (logits) unit (1,) sees:",
        "  1 of input_1_0 (2): [1], every element",
        "  1 of input_2_1 (attention_mask, 2): [1], every element",
        "  1 of input_3_2 (more.bias, 2): [1], every element",
    ]
    assert str(forth) == (
        f"input_2_1 (attention_mask) unit (1,) reaches 1 of {label} (logits, 2): [1], every element"
    )
    assert back["more.bias"] is back["input_3"]
    assert back["attention_mask"] is back[1]
    assert forth["logits"] is forth["output.logits"] is forth[0]
