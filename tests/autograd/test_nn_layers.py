"""Every layer: the first weights of torch's, its state both ways, its outputs and its gradients."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.autograd.twins import Make, close, compare, twins
from torcheer.autograd import nn, tracer
from torcheer.errors import InputError

F64 = torch.float64


def numbers(*shape: int) -> Callable[[], tuple[Tensor, ...]]:
    return lambda: (torch.randn(*shape, dtype=F64),)


# name: how to make it with either nn, and an input
LAYERS: dict[str, tuple[Make, Callable[[], tuple[Any, ...]]]] = {
    "linear": (lambda nn: nn.Linear(5, 3), numbers(4, 5)),
    "linear of one item": (lambda nn: nn.Linear(5, 3), numbers(5)),
    "linear of sequences, no bias": (lambda nn: nn.Linear(5, 3, bias=False), numbers(2, 4, 5)),
    "bilinear": (
        lambda nn: nn.Bilinear(3, 4, 2),
        lambda: (torch.randn(5, 3, dtype=F64), torch.randn(5, 4, dtype=F64)),
    ),
    "embedding": (lambda nn: nn.Embedding(7, 3), lambda: (torch.tensor([[1, 2, 1], [6, 0, 1]]),)),
    "embedding with padding": (
        lambda nn: nn.Embedding(7, 3, padding_idx=-6),
        lambda: (torch.tensor([[1, 2, 1], [6, 0, 1]]),),
    ),
    "embedding of limited length": (lambda nn: nn.Embedding(7, 3, max_norm=1.0), lambda: (torch.arange(5),)),
    "conv1d": (lambda nn: nn.Conv1d(3, 4, 3), numbers(2, 3, 9)),
    "conv1d with all options": (
        lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2, bias=False),
        numbers(2, 4, 11),
    ),
    "conv1d to the same length": (lambda nn: nn.Conv1d(2, 3, 4, padding="same"), numbers(2, 2, 9)),
    "conv1d of one item": (lambda nn: nn.Conv1d(2, 3, 3), numbers(2, 9)),
    "conv2d": (lambda nn: nn.Conv2d(3, 4, 3), numbers(2, 3, 7, 6)),
    "conv2d with all options": (
        lambda nn: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2),
        numbers(2, 4, 8, 7),
    ),
    "conv2d for each channel": (
        lambda nn: nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False),
        numbers(2, 4, 5, 5),
    ),
    "conv2d to the same size": (
        lambda nn: nn.Conv2d(2, 3, (4, 3), padding="same", dilation=2),
        numbers(2, 2, 9, 8),
    ),
    "conv2d with steps that leave a rest": (lambda nn: nn.Conv2d(2, 3, 3, stride=3), numbers(2, 2, 8, 7)),
    "conv_transpose1d": (
        lambda nn: nn.ConvTranspose1d(3, 2, 4, stride=3, padding=1, output_padding=1),
        numbers(2, 3, 5),
    ),
    "conv_transpose2d": (lambda nn: nn.ConvTranspose2d(3, 2, 3), numbers(2, 3, 4, 5)),
    "conv_transpose2d with all options": (
        lambda nn: nn.ConvTranspose2d(
            4, 6, (3, 2), stride=2, padding=1, output_padding=(1, 0), groups=2, dilation=2
        ),
        numbers(2, 4, 4, 5),
    ),
    "max_pool1d": (lambda nn: nn.MaxPool1d(3, 2, 1), numbers(2, 3, 9)),
    "max_pool2d": (lambda nn: nn.MaxPool2d(2), numbers(2, 3, 6, 7)),
    "max_pool2d with all options": (
        lambda nn: nn.MaxPool2d((3, 2), stride=2, padding=1, dilation=(1, 2), ceil_mode=True),
        numbers(2, 3, 9, 8),
    ),
    "max_pool2d of one item, with places": (
        lambda nn: nn.MaxPool2d(2, return_indices=True),
        numbers(3, 6, 6),
    ),
    "avg_pool1d": (lambda nn: nn.AvgPool1d(3, 2, 1, ceil_mode=True), numbers(2, 3, 10)),
    "avg_pool2d": (lambda nn: nn.AvgPool2d(2), numbers(2, 3, 6, 7)),
    "avg_pool2d without its edge": (
        lambda nn: nn.AvgPool2d((3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        numbers(2, 3, 8, 7),
    ),
    "avg_pool2d with its edge": (
        lambda nn: nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True),
        numbers(2, 3, 8, 7),
    ),
    "avg_pool2d by another number": (
        lambda nn: nn.AvgPool2d(3, stride=1, padding=1, divisor_override=4),
        numbers(3, 8, 7),
    ),
    "adaptive_avg_pool1d": (lambda nn: nn.AdaptiveAvgPool1d(4), numbers(2, 3, 9)),
    "adaptive_avg_pool2d": (lambda nn: nn.AdaptiveAvgPool2d((3, None)), numbers(2, 3, 7, 5)),
    "adaptive_avg_pool2d to one": (lambda nn: nn.AdaptiveAvgPool2d(1), numbers(2, 3, 7, 5)),
    "adaptive_max_pool2d": (lambda nn: nn.AdaptiveMaxPool2d((3, 2)), numbers(2, 3, 7, 5)),
    "upsample": (lambda nn: nn.Upsample(scale_factor=2), numbers(2, 3, 4, 5)),
    "upsample smoothly": (
        lambda nn: nn.Upsample(size=(7, 3), mode="bilinear", align_corners=True),
        numbers(2, 3, 4, 5),
    ),
    "upsample a sequence": (lambda nn: nn.Upsample(scale_factor=1.5, mode="linear"), numbers(2, 3, 5)),
    "pixel_shuffle": (lambda nn: nn.PixelShuffle(2), numbers(2, 8, 3, 4)),
    "batch_norm1d": (lambda nn: nn.BatchNorm1d(3), numbers(5, 3)),
    "batch_norm1d of sequences": (lambda nn: nn.BatchNorm1d(3, momentum=None), numbers(5, 3, 4)),
    "batch_norm2d": (lambda nn: nn.BatchNorm2d(3, eps=1e-3, momentum=0.3), numbers(5, 3, 4, 2)),
    "batch_norm2d that learns nothing": (
        lambda nn: nn.BatchNorm2d(3, affine=False, track_running_stats=False),
        numbers(5, 3, 4, 2),
    ),
    "batch_norm2d not training": (lambda nn: nn.BatchNorm2d(3).eval(), numbers(5, 3, 4, 2)),
    "instance_norm1d": (lambda nn: nn.InstanceNorm1d(3), numbers(2, 3, 5)),
    "instance_norm2d": (
        lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
        numbers(2, 3, 4, 5),
    ),
    "layer_norm": (lambda nn: nn.LayerNorm(6), numbers(2, 3, 6)),
    "layer_norm of pictures": (lambda nn: nn.LayerNorm((4, 6), eps=1e-3, bias=False), numbers(2, 4, 6)),
    "rms_norm": (lambda nn: nn.RMSNorm(6), numbers(2, 3, 6)),
    "rms_norm of pictures": (lambda nn: nn.RMSNorm((4, 6), eps=1e-3), numbers(2, 4, 6)),
    "group_norm": (lambda nn: nn.GroupNorm(2, 6), numbers(2, 6, 4, 3)),
    "dropout": (lambda nn: nn.Dropout(0.3), numbers(20, 5)),
    "dropout of everything": (lambda nn: nn.Dropout(1.0), numbers(4, 5)),
    "dropout1d": (lambda nn: nn.Dropout1d(0.5), numbers(4, 5, 3)),
    "dropout2d": (lambda nn: nn.Dropout2d(0.5), numbers(4, 5, 3, 2)),
    "alpha_dropout": (lambda nn: nn.AlphaDropout(0.3), numbers(20, 5)),
    "dropout not training": (lambda nn: nn.Dropout(0.5).eval(), numbers(4, 5)),
    "rnn": (lambda nn: nn.RNN(3, 4), numbers(5, 2, 3)),
    "rnn with relu": (
        lambda nn: nn.RNN(3, 4, 2, nonlinearity="relu", bidirectional=True, batch_first=True),
        numbers(2, 5, 3),
    ),
    "lstm": (lambda nn: nn.LSTM(3, 4), numbers(5, 2, 3)),
    "lstm with all options": (
        lambda nn: nn.LSTM(3, 4, num_layers=2, batch_first=True, dropout=0.4, bidirectional=True),
        numbers(2, 5, 3),
    ),
    "lstm with a state": (
        lambda nn: nn.LSTM(3, 4, num_layers=2, bias=False),
        lambda: (
            torch.randn(5, 2, 3, dtype=F64),
            (torch.randn(2, 2, 4, dtype=F64), torch.randn(2, 2, 4, dtype=F64)),
        ),
    ),
    "lstm of one sequence": (lambda nn: nn.LSTM(3, 4, bidirectional=True, batch_first=True), numbers(5, 3)),
    "gru": (lambda nn: nn.GRU(3, 4), numbers(5, 2, 3)),
    "gru with all options": (
        lambda nn: nn.GRU(3, 4, num_layers=2, batch_first=True, dropout=0.4, bidirectional=True),
        numbers(2, 5, 3),
    ),
    "gru with a state, of one sequence": (
        lambda nn: nn.GRU(3, 4, bias=False),
        lambda: (torch.randn(5, 3, dtype=F64), torch.randn(1, 4, dtype=F64)),
    ),
    "rnn_cell": (lambda nn: nn.RNNCell(3, 4), numbers(2, 3)),
    "lstm_cell": (
        lambda nn: nn.LSTMCell(3, 4),
        lambda: (
            torch.randn(2, 3, dtype=F64),
            (torch.randn(2, 4, dtype=F64), torch.randn(2, 4, dtype=F64)),
        ),
    ),
    "lstm_cell from nothing": (lambda nn: nn.LSTMCell(3, 4, bias=False), numbers(2, 3)),
    "gru_cell": (
        lambda nn: nn.GRUCell(3, 4),
        lambda: (torch.randn(2, 3, dtype=F64), torch.randn(2, 4, dtype=F64)),
    ),
    "encoder_layer": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), numbers(5, 2, 8)),
    "encoder_layer with all options": (
        lambda nn: nn.TransformerEncoderLayer(
            8, 4, 16, dropout=0.3, activation="gelu", batch_first=True, norm_first=True, layer_norm_eps=1e-3
        ),
        numbers(2, 5, 8),
    ),
    "encoder": (
        lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2, norm=nn.LayerNorm(8)
        ),
        numbers(2, 5, 8),
    ),
    "flatten": (lambda nn: nn.Flatten(), numbers(2, 3, 4)),
    "unflatten": (lambda nn: nn.Unflatten(1, (2, 3)), numbers(2, 6, 4)),
    "identity": (lambda nn: nn.Identity(5, unused=True), numbers(2, 3)),
    "prelu": (lambda nn: nn.PReLU(3), numbers(2, 3, 4)),
    "leaky_relu": (lambda nn: nn.LeakyReLU(0.2), numbers(20)),
    "hardtanh": (lambda nn: nn.Hardtanh(-0.5, 0.3), numbers(20)),
    "elu": (lambda nn: nn.ELU(0.7), numbers(20)),
    "celu": (lambda nn: nn.CELU(0.7), numbers(20)),
    "gelu by tanh": (lambda nn: nn.GELU(approximate="tanh"), numbers(20)),
    "softplus": (lambda nn: nn.Softplus(2.0), numbers(20)),
    "softmax": (lambda nn: nn.Softmax(1), numbers(4, 5)),
    "log_softmax": (lambda nn: nn.LogSoftmax(1), numbers(4, 5)),
    "glu": (lambda nn: nn.GLU(1), numbers(4, 6)),
}
for _name in (
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Mish",
    "Hardswish",
    "Hardsigmoid",
    "Tanh",
    "Sigmoid",
    "LogSigmoid",
    "Softsign",
    "GELU",
):
    LAYERS[_name] = (lambda nn, name=_name: getattr(nn, name)(), numbers(20))

ROUGH = {"celu": 1e-7, "Hardsigmoid": 1e-7}  # torch has single precision in their constants


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_computes_what_torchs_does_and_so_do_its_gradients(name: str) -> None:
    make, inputs = LAYERS[name]
    theirs, ours = twins(make)
    torch.manual_seed(3)

    compare(theirs, ours, *inputs(), tolerance=ROUGH.get(name, 1e-9))


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_the_first_weights_of_torchs_by_the_same_names(name: str) -> None:
    theirs, ours = twins(LAYERS[name][0], dtype=torch.float32)

    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        assert torch.equal(ours.state_dict()[key], value), key
        assert type(ours.state_dict()[key]) is Tensor


@pytest.mark.parametrize("name", LAYERS)
def test_the_state_of_a_layer_goes_over_to_torch_and_back(name: str) -> None:
    make, inputs = LAYERS[name]
    theirs, ours = twins(make)
    torch.manual_seed(5)
    for value in ours.state_dict().values():
        value.copy_(torch.rand_like(value) if value.is_floating_point() else torch.tensor(7))

    theirs.load_state_dict(pickle.loads(pickle.dumps(ours.state_dict())))
    again = copy.deepcopy(make(nn)).double()
    again.load_state_dict(theirs.state_dict())

    for key, value in ours.state_dict().items():
        assert torch.equal(again.state_dict()[key], value)
    compare(theirs, again, *inputs(), tolerance=ROUGH.get(name, 1e-9))


def test_a_batch_norm_goes_on_from_its_statistics() -> None:
    theirs, ours = twins(lambda nn: nn.BatchNorm2d(3))
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn(4, 3, 5, 5, dtype=F64) * (1 + seed)
        theirs(x)
        ours(x)

    compare(theirs.eval(), ours.eval(), x)
    assert ours.num_batches_tracked == 3


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("masks", ["none", "bool", "float", "padding", "both", "each head"])
def test_attention_is_torchs_with_every_mask(masks: str, batch_first: bool) -> None:
    theirs, ours = twins(lambda nn: nn.MultiheadAttention(8, 2, batch_first=batch_first))
    torch.manual_seed(4)
    query, key = torch.randn(3, 4, 8, dtype=F64), torch.randn(3, 5, 8, dtype=F64)
    if not batch_first:
        query, key = query.transpose(0, 1), key.transpose(0, 1)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [True] + [False] * 4])
    options: dict[str, Any] = {
        "none": {},
        "bool": {"attn_mask": torch.ones(4, 5, dtype=torch.bool).triu(2)},
        "float": {"attn_mask": torch.randn(4, 5, dtype=F64)},
        "padding": {"key_padding_mask": padding},
        "both": {
            "attn_mask": torch.randn(4, 5, dtype=F64),
            "key_padding_mask": torch.where(padding, -torch.inf, 0.0).double(),
        },
        "each head": {"attn_mask": torch.ones(6, 4, 5, dtype=torch.bool).triu(2)},
    }[masks]

    compare(lambda q, k: theirs(q, k, k, **options), lambda q, k: ours(q, k, k, **options), query, key)
    compare(
        lambda q: theirs(q, q, q, need_weights=False), lambda q: ours(q, q, q, need_weights=False)[0], query
    )


def test_attention_has_other_sizes_for_keys_and_values_and_weights_of_each_head() -> None:
    theirs, ours = twins(lambda nn: nn.MultiheadAttention(8, 4, kdim=3, vdim=5, batch_first=True))
    inputs = [torch.randn(2, steps, size, dtype=F64) for steps, size in ((4, 8), (6, 3), (6, 5))]

    assert list(ours.state_dict()) == list(theirs.state_dict())
    compare(
        lambda *three: theirs(*three, average_attn_weights=False),
        lambda *three: ours(*three, average_attn_weights=False),
        *inputs,
    )
    compare(theirs, ours, *(one[0] for one in inputs))


def test_attention_has_keys_that_are_no_part_of_the_input() -> None:
    theirs, ours = twins(lambda nn: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True))
    x = torch.randn(5, 2, 8, dtype=F64)

    compare(lambda q: theirs(q, q, q), lambda q: ours(q, q, q), x)


def test_attention_drops_the_same_as_torch() -> None:
    theirs, ours = twins(lambda nn: nn.MultiheadAttention(8, 2, dropout=0.4, batch_first=True, bias=False))
    x = torch.randn(2, 5, 8, dtype=F64)

    compare(lambda q: theirs(q, q, q), lambda q: ours(q, q, q), x)


def test_an_encoder_takes_masks() -> None:
    theirs, ours = twins(
        lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2
        )
    )
    x = torch.randn(2, 5, 8, dtype=F64)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    mask = nn.causal_mask(5).double()

    assert torch.equal(mask, torch.nn.Transformer.generate_square_subsequent_mask(5).double())
    float_padding = torch.where(padding, -torch.inf, 0.0).double()
    compare(lambda x: theirs(x, mask, float_padding), lambda x: ours(x, mask, padding), x)
    assert ours.layers[0].linear1.weight is not ours.layers[1].linear1.weight


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "attention": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    "attention that sees no future": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "attention with a mask": lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, torch.ones(4, 5, dtype=torch.bool).tril(), scale=0.3
    ),
    "attention with numbers": lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, torch.linspace(-1, 1, 20, dtype=F64).reshape(4, 5)
    ),
    "attention with dropout": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.4),
    "attention of one that may not look": lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, torch.tensor([[False] * 5] + [[True] * 5] * 3)
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_attention_as_a_function_is_torchs(name: str) -> None:
    torch.manual_seed(6)
    q, k, v = (torch.randn(2, 3, steps, 6, dtype=F64) for steps in (4, 5, 5))

    compare(FUNCTIONS[name], FUNCTIONS[name], q, k, v)


PICTURES: dict[str, Callable[[Any], Any]] = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2, 2),
    "nearest": lambda x: F.interpolate(x, size=(4, 9)),
    "nearest by a factor": lambda x: F.interpolate(x, scale_factor=(1.7, 0.6), mode="nearest-exact"),
    "bilinear": lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
    "bilinear again": lambda x: F.interpolate(
        x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True
    ),
    "bicubic": lambda x: F.interpolate(x, size=(4, 9), mode="bicubic", align_corners=False),
    "smoothed": lambda x: F.interpolate(x, size=(4, 3), mode="bilinear", antialias=True),
    "area": lambda x: F.interpolate(x, size=(4, 3), mode="area"),
    "pixel_shuffle": lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2),
    "conv2d without a batch": lambda x: F.conv2d(x[0], x[:2, :, :2, :2]),
    "batch_norm": lambda x: F.batch_norm(x, torch.ones(4).double(), torch.full((4,), 2.0).double()),
    "instance_norm": lambda x: F.instance_norm(x),
    "layer_norm": lambda x: F.layer_norm(x, (6, 6)),
    "rms_norm": lambda x: F.rms_norm(x, (6,)),
    "group_norm": lambda x: F.group_norm(x, 2),
    "dropout": lambda x: F.dropout(x, 0.4),
    "dropout2d": lambda x: F.dropout2d(x, 0.4),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.4, training=True),
}


@pytest.mark.parametrize("name", PICTURES)
def test_functions_of_torch_lead_to_ours(name: str) -> None:
    torch.manual_seed(7)
    x = torch.randn(3, 4, 6, 6, dtype=F64).abs() + 0.1

    compare(PICTURES[name], PICTURES[name], x)


def test_functional_has_torchs_names_and_takes_ordinary_tensors() -> None:
    x = torch.randn(3, 5)

    assert torch.equal(nn.functional.relu(x), F.relu(x))
    assert torch.equal(nn.functional.one_hot(torch.tensor([1, 0])), F.one_hot(torch.tensor([1, 0])))
    assert {"linear", "layer_norm", "cross_entropy", "gelu", "max_pool2d"} <= set(dir(nn.functional))
    with pytest.raises(AttributeError, match="no fancy"):
        _ = nn.functional.fancy


def test_gradients_of_gradients_go_through_norms_and_cells() -> None:
    from torcheer.autograd import grad

    torch.manual_seed(8)
    makes: list[tuple[Make, Tensor]] = [
        (lambda nn: nn.LayerNorm(5), torch.randn(3, 5)),
        (lambda nn: nn.LSTM(3, 4), torch.randn(4, 2, 3)),
        (lambda nn: nn.GRU(3, 4), torch.randn(4, 2, 3)),
        (lambda nn: nn.MaxPool2d(2), torch.randn(1, 2, 4, 4)),
    ]
    for make, values in makes:
        theirs, ours = twins(make)
        found = []
        for layer, x, gradient in (
            (theirs, values.double().requires_grad_(), torch.autograd.grad),
            (ours, tracer(values.double(), requires_grad=True), grad),
        ):
            output = layer(x)
            output = output if isinstance(output, Tensor) else output[0]
            (first,) = gradient((output**3).sum(), [x], create_graph=True)
            (second,) = gradient((first**2).sum(), [x])
            found.append(second)
        close(found[1], found[0], 1e-9)


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda: nn.BatchNorm1d(3)(torch.randn(1, 3)), "more than one item"),
        (lambda: nn.LayerNorm(4)(torch.randn(2, 3)), r"last dimensions are to be \(4,\)"),
        (lambda: nn.LSTM(3, 4, proj_size=2)(torch.randn(5, 2, 3)), "proj_size"),
        (lambda: nn.GRU(3, 4)(packed(torch.randn(5, 2, 3))), "packed sequences"),
        (lambda: nn.functional.embedding(torch.tensor([0]), torch.zeros(2, 2), sparse=True), "sparse"),
        (lambda: nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2), 1), "take the layer of that"),
    ],
)
def test_what_cannot_be_meant_is_refused(do: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        do()


def packed(x: Tensor) -> Any:
    return torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda: nn.Dropout(1.5), "between 0 and 1"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "divisible by groups"),
        (lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), "zeros"),
        (lambda: nn.GroupNorm(4, 6), "divisible by"),
        (lambda: nn.MultiHeadAttention(10, 4), "divisible by num_heads"),
        (lambda: nn.LSTM(3, 4)(torch.randn(5, 2, 2)), "[Ee]xpected 3, got 2"),
        (lambda: nn.GRU(3, 4)(torch.randn(5, 2, 3), torch.zeros(1, 3, 4)), "Expected hidden size"),
        (lambda: nn.BatchNorm2d(3)(torch.randn(2, 3)), "expected 4D input"),
        (lambda: nn.RNN(3, 4, nonlinearity="gelu"), "Unknown nonlinearity"),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="step"), "activation should be relu/gelu"),
    ],
)
def test_what_torchs_layers_refuse_is_refused_here(do: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, RuntimeError, AssertionError), match=message):
        do()
