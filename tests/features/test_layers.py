"""Features of many kinds of models are what a plain pass with hooks gives, to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.features.hooking import StoppedError, batches_of, check_all_leaves, hooked
from torcheer.errors import CaptureError, InputError, LayerNotFoundError
from torcheer.features import extract

BATCH = 3


def extracted(model: nn.Module, data: Any, to: Path, layers: Any = "modules", **options: Any) -> Any:
    return extract(model, data, layers=layers, to=to, batch_size=BATCH, progress=False, **options)


# --- models of libraries ----------------------------------------------------------------------------------


def test_a_network_whose_relus_write_over_their_inputs(tmp_path: Path) -> None:
    from tests.vision import torchvision

    torch.manual_seed(0)
    model = torchvision.models.alexnet(weights=None, num_classes=5)
    model.classifier = nn.Sequential(nn.Linear(256 * 36, 8), nn.ReLU(inplace=True))  # the rest is large

    check_all_leaves(model, torch.randn(5, 3, 64, 64), tmp_path / "f")


def test_a_residual_network(tmp_path: Path) -> None:
    from tests.vision import torchvision

    torch.manual_seed(0)

    check_all_leaves(torchvision.models.resnet18(weights=None), torch.randn(5, 3, 32, 32), tmp_path / "f")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vit_tiny_patch16_224", {"img_size": 32, "depth": 1}),
        # Windows are folded into the batch.
        (
            "swin_tiny_patch4_window7_224",
            {"img_size": 32, "window_size": 2, "depths": (2, 1), "embed_dim": 12, "num_heads": (1, 2)},
        ),
        ("convnext_atto", {"depths": (1, 1, 1, 1)}),  # channels last
        # What it computes in its first pass only it remembers.
        ("levit_128s", {"img_size": 64}),
    ],
)
def test_models_of_timm(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    from tests.vision import torchvision  # noqa: F401 - timm imports it

    timm = pytest.importorskip("timm")
    torch.manual_seed(0)
    size = options.get("img_size", 32)

    check_all_leaves(
        timm.create_model(name, pretrained=False, **options), torch.randn(4, 3, size, size), tmp_path / "f", 3
    )


TOKENS = torch.randint(5, 40, (5, 6), generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 3 + [0] * 3, [1] * 6, [1] * 2 + [0] * 4])


def small_models() -> dict[str, tuple[Any, dict[str, Any], tuple[str, ...]]]:
    """Of transformers: how to make one, what it is given, and which modules have no samples."""
    from tests.vision import torchvision  # noqa: F401 - transformers imports it

    transformers = pytest.importorskip("transformers")
    small = {
        "vocab_size": 50,
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    text = {"input_ids": TOKENS, "attention_mask": MASK}
    attention = "block.0.layer.0.SelfAttention.relative_attention_bias"
    return {
        "bert": (
            lambda: transformers.BertModel(transformers.BertConfig(**small)),
            text,
            ("embeddings.position_embeddings",),
        ),
        "gpt2": (
            lambda: transformers.GPT2Model(
                transformers.GPT2Config(
                    vocab_size=50, n_embd=8, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2
                )
            ),
            text,
            ("wpe",),
        ),
        "t5": (
            lambda: transformers.T5Model(
                transformers.T5Config(vocab_size=50, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2)
            ),
            {**text, "decoder_input_ids": TOKENS[:, :4]},
            (f"encoder.{attention}", f"decoder.{attention}"),
        ),
        "whisper": (
            lambda: transformers.WhisperModel(
                transformers.WhisperConfig(
                    vocab_size=50,
                    d_model=8,
                    encoder_layers=1,
                    decoder_layers=1,
                    encoder_attention_heads=2,
                    decoder_attention_heads=2,
                    encoder_ffn_dim=16,
                    decoder_ffn_dim=16,
                    num_mel_bins=4,
                    max_source_positions=5,
                    max_target_positions=6,
                    pad_token_id=0,
                    bos_token_id=1,
                    eos_token_id=2,
                    decoder_start_token_id=3,
                )
            ),
            {"input_features": torch.randn(5, 4, 10), "decoder_input_ids": TOKENS[:, :4]},
            ("encoder.embed_positions",),
        ),
    }


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "whisper"])
def test_models_of_transformers(name: str, tmp_path: Path) -> None:
    make, data, without = small_models()[name]
    torch.manual_seed(0)

    check_all_leaves(make(), data, tmp_path / "f", BATCH, without)


# --- kinds of modules -------------------------------------------------------------------------------------


class Recurrent(nn.Module):
    def __init__(self, *, batch_first: bool) -> None:
        super().__init__()
        self.rnn = nn.LSTM(5, 6, batch_first=batch_first)
        self.head = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        if self.rnn.batch_first:
            return self.head(self.rnn(x)[0][:, -1])
        return self.head(self.rnn(x.transpose(0, 1))[0][-1])


@pytest.mark.parametrize("num_steps", [2, 3, 5])
@pytest.mark.parametrize("size", [2, 3])
def test_samples_in_the_second_dimension_come_first(num_steps: int, size: int, tmp_path: Path) -> None:
    model, x = Recurrent(batch_first=False), torch.randn(6, num_steps, 5)

    features = extract(model, x, layers=["rnn"], to=tmp_path / "f", batch_size=size, progress=False)

    parts = [hooked(model, [batch], ["rnn"])["rnn"] for batch in batches_of(x, size)]
    assert numpy.array_equal(features["rnn"][:], numpy.concatenate(parts, axis=1).swapaxes(0, 1))


def test_an_lstm_with_the_batch_first(tmp_path: Path) -> None:
    check_all_leaves(Recurrent(batch_first=True), torch.randn(7, 3, 5), tmp_path / "f")


class Looped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> dict[str, Any]:
        for _ in range(3):
            x = self.act(self.rnn(x))
        return {"a": x, "b": (x + 1, [x * 2])}


def test_a_module_that_runs_several_times_gives_one_layer_for_each(tmp_path: Path) -> None:
    features = check_all_leaves(Looped(), torch.randn(7, 4), tmp_path / "f")

    assert features.layers == ["rnn:1", "act:1", "rnn:2", "act:2", "rnn:3", "act:3"]


def test_one_pass_of_a_module_can_be_asked_for(tmp_path: Path) -> None:
    model, x = Looped(), torch.randn(7, 4)

    features = extracted(model, x, tmp_path / "f", ["act:2"])

    assert features.layers == ["act:2"]
    assert numpy.array_equal(features["act:2"][:], hooked(model, batches_of(x, 3), ["act"])["act:2"])


def test_what_hooks_of_the_model_change_is_what_is_kept(tmp_path: Path) -> None:
    model = Looped()
    model.rnn.register_forward_hook(lambda _, __, output: output.index_fill(1, torch.tensor([2]), 0.0))
    model.act.register_forward_pre_hook(lambda _, args: (args[0] + 1,))

    features = check_all_leaves(model, torch.randn(7, 4), tmp_path / "f")

    assert not features["rnn:2"][:, 2].any()


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(3, 4)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.a(x) * self.b(y)


def test_a_model_with_two_inputs_by_place(tmp_path: Path) -> None:
    check_all_leaves(TwoInputs(), (torch.randn(7, 4), torch.randn(7, 3)), tmp_path / "f")


def test_a_model_with_two_inputs_by_name_of_which_one_is_called_as_targets_often_are(tmp_path: Path) -> None:
    check_all_leaves(TwoInputs(), {"x": torch.randn(7, 4), "y": torch.randn(7, 3)}, tmp_path / "f")


def test_labels_beside_two_inputs(tmp_path: Path) -> None:
    data = (torch.randn(7, 4), torch.randn(7, 3), torch.arange(7))

    assert extracted(TwoInputs(), data, tmp_path / "f").labels.tolist() == list(range(7))


class TwoOutputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)
        self.register_buffer("shift", torch.arange(4.0))

    def forward(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        hidden = self.a(x + y).relu() + self.shift
        return {"out": self.b(hidden), "hidden": hidden, "twice": hidden * 2}


@pytest.mark.parametrize("size", [4, 9])
def test_every_input_and_output_is_kept_under_its_own_name(size: int, tmp_path: Path) -> None:
    model, data = TwoOutputs(), {"x": torch.randn(9, 3), "y": torch.randn(9, 3)}
    names = ["out", "hidden", "twice", "output_2", "output_3_11", "x", "y", "input_2", "relu_1"]
    history = tl.log_forward_pass(model, data)

    features = extract(model, data, layers=names, to=tmp_path / "f", batch_size=size, progress=False)

    for name in names:
        assert numpy.allclose(features[name][:], history[name].tensor_contents.detach(), atol=1e-6), name


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_precisions(dtype: torch.dtype, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 2)).to(dtype)

    features = check_all_leaves(model, torch.randn(7, 4).to(dtype), tmp_path / "f")

    kept = {torch.float64: "float64", torch.bfloat16: "float32", torch.float16: "float16"}[dtype]
    assert features["0"].dtype == kept
    assert bool(features.manifest.notes) == (dtype is torch.bfloat16)


class Spectrum(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain, self.conjugate = nn.Identity(), nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.conjugate(self.plain(torch.fft.fft(x)).conj()).abs()


def test_complex_values_and_their_conjugates(tmp_path: Path) -> None:
    assert check_all_leaves(Spectrum(), torch.randn(7, 4), tmp_path / "f")["conjugate"].dtype == "complex64"


def test_a_model_wrapped_for_data_parallelism(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(5, 4)
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        features = extracted(nn.parallel.DistributedDataParallel(model), x, tmp_path / "f")
    finally:
        torch.distributed.destroy_process_group()

    assert numpy.array_equal(features["1"][:], hooked(model, batches_of(x, 3), ["1"])["1"])


class Sparse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.kept(x.relu().to_sparse()).to_dense()


def test_sparse_values_are_kept_as_dense_ones(tmp_path: Path) -> None:
    x = torch.randn(7, 4)

    features = extracted(Sparse(), x, tmp_path / "f", ["kept"])

    assert numpy.array_equal(features["kept"][:], x.relu().numpy())
    assert any("sparse" in note for note in features.manifest.notes)


def test_a_compiled_model_is_extracted_as_it_was_written(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(5, 4)

    features = extracted(torch.compile(model, backend="eager"), x, tmp_path / "f")  # type: ignore[arg-type]

    assert numpy.array_equal(features["1"][:], hooked(model, batches_of(x, 3), ["1"])["1"])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_scripted_model_gives_its_ops_and_says_that_it_has_no_modules(tmp_path: Path) -> None:
    plain, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(5, 4)
    model = torch.jit.script(plain)

    with pytest.raises(InputError, match="scripted"):
        extracted(model, x, tmp_path / "f")

    features = extracted(model, x, tmp_path / "g", "all")
    expected = hooked(plain, batches_of(x, 3), ["1"])["1"]
    assert numpy.allclose(features[features.layers[-1]][:], expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_script_within_a_model_is_a_layer_like_others(tmp_path: Path) -> None:
    script = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    x = torch.randn(5, 4)

    features = extracted(nn.Sequential(script, nn.Linear(4, 2)), x, tmp_path / "f", ["0"])

    with torch.no_grad():
        assert numpy.allclose(features["0"][:], script(x).numpy(), atol=1e-6)


def test_a_lazy_module_must_run_before(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gets its shape from the first batch"):
        extracted(nn.Sequential(nn.LazyLinear(4)), torch.randn(5, 4), tmp_path / "f")


# --- forwards of their own kind ---------------------------------------------------------------------------


class Noisy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.given, self.noise = nn.Identity(), nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.given(x) + self.noise(torch.randn(len(x), 4))


def test_what_a_forward_draws_is_the_same_each_time_and_other_for_each_batch(tmp_path: Path) -> None:
    x = torch.randn(6, 4)
    one = extracted(Noisy(), x, tmp_path / "1", ["noise"])["noise"][:]
    torch.randn(9)
    other = extracted(Noisy(), x, tmp_path / "2", ["noise"])["noise"][:]
    seeded = extracted(Noisy(), x, tmp_path / "3", ["noise"], seed=1)["noise"][:]

    assert numpy.array_equal(one, other)
    assert not numpy.array_equal(one[:3], one[3:])
    assert not numpy.array_equal(one, seeded)


class TwoWays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.a, self.b, self.last = (nn.Linear(4, 4) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        way = self.a if x.sum() > 0 else self.b
        return self.last(way(self.first(x)))


def test_a_model_that_takes_another_way_is_told_and_layers_before_it_can_be_had(tmp_path: Path) -> None:
    x = torch.ones(6, 4)
    x[3:] = -1

    with pytest.raises(CaptureError, match="takes other ways for other data"):
        extracted(TwoWays(), x, tmp_path / "f", ["a"])

    assert extracted(TwoWays(), x, tmp_path / "g", ["first"]).is_complete


class Choosy(nn.Module):
    def __init__(self, refused: set[int]) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.refused = refused

    def forward(self, x: Tensor) -> Tensor:
        if len(x) in self.refused:
            raise StoppedError(f"{len(x)} samples")
        return self.layer(x)


@pytest.mark.parametrize("refused", [{1}, {2}, {1, 2}, {1, 2, 3}, set(range(50)) - {4}])
def test_a_model_that_refuses_some_sizes_of_batches(refused: set[int], tmp_path: Path) -> None:
    model, x = Choosy(refused), torch.randn(8, 4)

    features = extract(model, x, layers=["layer"], to=tmp_path / "f", batch_size=4, progress=False)

    assert numpy.array_equal(features["layer"][:], hooked(model, batches_of(x, 4), ["layer"])["layer"])


class Transposed(Choosy):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).transpose(0, 1)


def test_the_dimension_of_samples_is_found_although_two_samples_are_refused(tmp_path: Path) -> None:
    model, x = Transposed({1, 2}), torch.randn(8, 4)

    features = extract(model, x, layers=["transpose_1"], to=tmp_path / "f", batch_size=4, progress=False)

    assert numpy.array_equal(features["transpose_1"][:], hooked(model, batches_of(x, 4), ["layer"])["layer"])


class Squeezing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x).squeeze()


def test_a_squeeze_does_not_lose_the_last_batch_of_one(tmp_path: Path) -> None:
    model, x = Squeezing(), torch.randn(7, 4)

    features = extracted(model, x, tmp_path / "f", ["layer", "squeeze_1"])

    assert numpy.array_equal(features["squeeze_1"][:], features["layer"][:, 0])


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.mean, self.gram = nn.Linear(4, 4), nn.Identity(), nn.Identity()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.layer(x)
        return self.mean(y.mean(0)), self.gram(y @ y.T)


def test_layers_without_a_row_for_each_sample_are_left_out_with_a_note(tmp_path: Path) -> None:
    features = extracted(Mixed(), torch.randn(7, 4), tmp_path / "f")

    assert features.layers == ["layer"]
    assert any("mean is left out: it is computed once" in note for note in features.manifest.notes)
    assert any("gram is left out: it compares the samples" in note for note in features.manifest.notes)


@pytest.mark.parametrize("layer", ["mean", "gram"])
def test_one_that_was_asked_for_by_name_is_refused(layer: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{layer} has no row for each sample"):
        extracted(Mixed(), torch.randn(7, 4), tmp_path / "f", [layer])


# --- which layers -----------------------------------------------------------------------------------------


def three() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 2))


@pytest.mark.parametrize(
    ("layers", "names"),
    [
        ("all", ["linear_1_1", "relu_1_2", "linear_2_3"]),
        ("modules", ["0", "1", "2"]),
        ("*", ["0", "1", "2"]),
        (nn.Linear, ["0", "2"]),
        ([nn.Linear, "1"], ["0", "1", "2"]),
        (["2", "0", "2"], ["0", "2"]),
        ((name for name in ["0"]), ["0"]),
        ({"0", "1"}, ["0", "1"]),
        (1, ["linear_1_1"]),
        (["relu_1_2", "relu_1"], ["relu_1_2", "relu_1"]),
        ("linear", ["linear_1_1", "linear_2_3"]),
    ],
)
def test_layers_are_named_in_many_ways(layers: Any, names: list[str], tmp_path: Path) -> None:
    assert extracted(three(), torch.randn(4, 4), tmp_path / "f", layers).layers == names


@pytest.mark.parametrize(
    ("layers", "error"),
    [
        ("nothing", LayerNotFoundError),
        ("nothing.*", LayerNotFoundError),
        (99, LayerNotFoundError),
        (nn.Conv2d, InputError),
        ([], InputError),
        ("", InputError),
        (None, InputError),
        (3.5, InputError),
        (True, InputError),
        (b"0", InputError),
        (["0", None], InputError),
        ([["0"]], InputError),
    ],
)
def test_layers_that_are_not_there_are_told(layers: Any, error: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(error):
        extracted(three(), torch.randn(4, 4), tmp_path / "f", layers)

    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize("layers", [{"0": None, "*": "float16"}, {"*": "float16", "0": None}])
def test_transforms_of_a_layer_by_name_count_before_those_of_a_pattern(
    layers: dict[str, Any], tmp_path: Path
) -> None:
    features = extracted(three(), torch.randn(4, 4), tmp_path / "f", layers)

    assert [str(features[name].dtype) for name in features] == ["float32", "float16", "float16"]


def test_the_model_stops_after_the_last_wanted_layer(tmp_path: Path) -> None:
    model, ran = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4))), []
    for number, layer in enumerate(model):
        layer.register_forward_pre_hook(lambda *_, number=number: ran.append(number))

    extracted(model, torch.randn(9, 4), tmp_path / "f", ["1"])

    assert ran == [0, 1, 2, 3] + [0, 1] * 3  # once whole on a few samples; then each batch, once


@pytest.mark.parametrize("middle", [nn.Identity(), nn.ReLU(), nn.Upsample(scale_factor=1, mode="bilinear")])
def test_channels_of_a_convolution_are_told_from_places_of_their_number(
    middle: nn.Module, tmp_path: Path
) -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 1), middle, nn.ReLU())

    features = extracted(model, torch.randn(4, 3, 8, 5), tmp_path / "f", ["2"])

    assert features["2"].dims == ("sample", "channel", "y", "x")


def test_channels_of_a_linear_layer_on_pictures_are_last(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(6, 7), nn.GELU())

    features = extracted(model, torch.randn(4, 3, 5, 6), tmp_path / "f", ["1"])

    assert features["1"].dims == ("sample", "y", "x", "channel")


def test_what_follows_a_convolution_in_time_has_channels_first(tmp_path: Path) -> None:
    features = extracted(
        nn.Sequential(nn.Conv1d(3, 5, 1), nn.ReLU()), torch.randn(4, 3, 9), tmp_path / "f", ["1"]
    )

    assert features["1"].dims == ("sample", "channel", "time")
