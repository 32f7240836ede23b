"""Models that generate, and models whose weights are DTensors: they work, or it is said what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

import torcheer as tl
from torcheer.errors import InputError

X = torch.randn(10, 4, generator=torch.Generator().manual_seed(1))


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def extracted(model: nn.Module, to: Path, data: Any = X, layers: Any = ("0", "2")) -> tl.Features:
    return tl.extract(model, data, layers=list(layers), to=to, batch_size=4, progress=False)


# --- generate ---------------------------------------------------------------------------------------------


class Writing(nn.Module):
    """Writes on before it answers."""

    def __init__(self) -> None:
        from tests.vision import torchvision  # noqa: F401 - transformers imports it

        transformers = pytest.importorskip("transformers")
        super().__init__()
        torch.manual_seed(0)
        config = transformers.GPT2Config(
            vocab_size=50, n_embd=8, n_layer=2, n_head=2, n_positions=16, bos_token_id=1, eos_token_id=2
        )
        self.language = transformers.GPT2LMHeadModel(config)
        self.head = nn.Linear(50, 3)

    def forward(self, input_ids: Tensor) -> Tensor:
        written = self.language.generate(
            input_ids, attention_mask=torch.ones_like(input_ids), max_new_tokens=3, min_new_tokens=3,
            do_sample=False, pad_token_id=0,
        )  # fmt: skip
        return self.head(self.language(written).logits)  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_generates_in_its_forward(tmp_path: Path) -> None:
    model, ids = Writing().eval(), torch.randint(3, 50, (10, 4))
    seen: dict[str, list[Tensor]] = {"head": [], "language.transformer.h.0": []}
    layers = ["head", "language.transformer.h.0"]

    features = extracted(model, tmp_path / "f", {"input_ids": ids}, layers)

    for name, parts in seen.items():
        model.get_submodule(name).register_forward_hook(
            lambda _module, _args, output, parts=parts: parts.append(
                output if isinstance(output, Tensor) else output[0]
            )
        )
    with torch.no_grad():
        for part in ids.split(4):
            model(part)
    numpy.testing.assert_allclose(features["head"][:], torch.cat(seen["head"]).numpy(), atol=1e-5)
    names = [f"language.transformer.h.0:{number}" for number in range(1, 5)]
    assert features.layers == [*names, "head"]
    for number, name in enumerate(names):  # three times to write, and once to read it again
        expected = torch.cat(seen["language.transformer.h.0"][number::4]).numpy()
        numpy.testing.assert_allclose(features[name][:], expected, atol=1e-5)


# --- weights that are spread ------------------------------------------------------------------------------


@pytest.fixture
def one_process() -> Iterator[Any]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield dist.device_mesh.init_device_mesh("cpu", (1,))
    finally:
        dist.destroy_process_group()


@pytest.fixture
def one_of_two() -> Iterator[Any]:
    """As if another process were there."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        yield dist.device_mesh.init_device_mesh("cpu", (2,))
    finally:
        dist.destroy_process_group()


def _replicated(model: nn.Module, mesh: Any) -> nn.Module:
    from torch.distributed.tensor import Replicate, distribute_tensor

    for module in model.modules():
        for name, weights in list(module._parameters.items()):
            if weights is not None:
                spread = distribute_tensor(weights.detach(), mesh, [Replicate()])
                module.register_parameter(name, nn.Parameter(spread))
    return model


def _tensor_parallel(model: nn.Module, mesh: Any) -> nn.Module:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    return parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})


def _fully_sharded(model: nn.Module, mesh: Any) -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    fully_shard(model[0], mesh=mesh)  # type: ignore[index]
    return fully_shard(model, mesh=mesh)  # type: ignore[no-any-return]


@pytest.mark.parametrize("spread", [_replicated, _tensor_parallel])
def test_weights_that_are_dtensors_of_one_process(spread: Any, one_process: Any, tmp_path: Path) -> None:
    model, plain = spread(net(), one_process), net()

    features = extracted(model, tmp_path / "f")

    for layer, part in (("0", plain[:1]), ("2", plain)):
        expected = torch.cat([part(one) for one in X.split(4)]).detach().numpy()
        numpy.testing.assert_allclose(features[layer][:], expected, rtol=1e-5, atol=1e-6)
    assert extracted(model, tmp_path / "f").is_complete
    with torch.no_grad():
        next(model.parameters()).mul_(2)
    with pytest.raises(InputError, match="with other weights"):
        extracted(model, tmp_path / "f")


@pytest.mark.parametrize("spread", [_fully_sharded, _tensor_parallel])
def test_a_model_that_is_spread_over_processes_is_refused(
    spread: Any, one_of_two: Any, tmp_path: Path
) -> None:
    model = spread(net(), one_of_two)

    with pytest.raises(InputError, match=r"spread.*each process needs all of it.*full_state_dict=True"):
        extracted(model, tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_a_model_that_fsdp_manages_is_refused_on_one_process_too(one_process: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is managed by FSDP"):
        extracted(_fully_sharded(net(), one_process), tmp_path / "f")
