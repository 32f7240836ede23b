"""A pass is checked as it ran: under the modes, transforms and wrappers of then, whatever they are now."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils.checkpoint import checkpoint

import torcheer as tl
from tests.capture import sharding
from tests.copying import ROOT, Copy
from tests.many import some
from torcheer import ValidationReport

Forward = Callable[[Any, Tensor], Any]
Mode = Callable[[], AbstractContextManager[Any]]


class Written(nn.Module):
    """A forward that is written in the test, around a small network."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
        self.bias = nn.Parameter(torch.randn(16))
        self._forward = forward

    def forward(self, x: Tensor) -> Any:
        return self._forward(self, x)

    @property
    def own(self) -> dict[str, Tensor]:
        return {name: param.detach() for name, param in self.net.named_parameters()}


@contextmanager
def default_dtype(dtype: torch.dtype) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def threads(number: int) -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def deterministic() -> Any:
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def half(dtype: torch.dtype = torch.bfloat16) -> Any:
    return torch.autocast("cpu", dtype=dtype)


def checked(
    forward: Forward, x: Tensor, then: Mode = nullcontext, now: Mode = nullcontext
) -> ValidationReport:
    """Captured under one mode, and validated under another."""
    model = Written(forward)
    with then():
        history = tl.log_forward_pass(model, x)
    modes = _modes()
    with now():
        report = history.validate()
    assert _modes() == modes
    assert report, str(report)
    assert report.forward_checked
    return report


def _modes() -> list[Any]:
    return [
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_cache_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.backends.cuda.math_sdp_enabled(),
        torch.backends.cuda.flash_sdp_enabled(),
    ]


def _mixed_casts(model: Written, x: Tensor) -> Tensor:
    y = model.net[0](x)
    with torch.autocast("cpu", enabled=False):
        y = F.linear(y.float(), model.net[0].weight.new_ones(4, 5))
    return model.net(y)


def _made_by_default(model: Written, x: Tensor) -> Tensor:
    return (
        model.net(x.to(model.bias.dtype)).to(torch.get_default_dtype()) + torch.zeros(3) + torch.arange(3) / 3
    )


def _other_default_inside(model: Written, x: Tensor) -> Tensor:
    with default_dtype(torch.float64):
        thirds = torch.zeros(3) + torch.ones(3) / 3 + torch.arange(3) / 7
    return model.net(x) + thirds


def _asks_for_modes(model: Written, x: Tensor) -> Tensor:
    asked = (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"))
    more = (torch.are_deterministic_algorithms_enabled(), torch.get_num_threads() == 1)
    return model.net(x) * sum(2**place for place, is_on in enumerate((*asked, *more)) if is_on)


MODES: dict[str, Mode] = {
    "none": nullcontext,
    "autocast": half,
    "autocast to float16": lambda: half(torch.float16),
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "bfloat16 by default": lambda: default_dtype(torch.bfloat16),
    "float64 by default": lambda: default_dtype(torch.float64),
    "one thread": lambda: threads(1),
    "deterministic": deterministic,
}


@pytest.mark.parametrize("now", ["none", "autocast", "inference_mode", "float64 by default"])
@pytest.mark.parametrize("then", MODES)
@pytest.mark.parametrize("forward", [_mixed_casts, _made_by_default, _asks_for_modes])
def test_a_pass_is_checked_under_the_modes_that_it_ran_under(forward: Forward, then: str, now: str) -> None:
    checked(forward, torch.randn(3, 4), MODES[then], MODES[now])


def test_a_default_type_that_forward_sets_for_a_while_is_found_again() -> None:
    report = checked(_other_default_inside, torch.randn(3, 4))

    assert report.num_replayed == report.num_ops


def test_a_model_made_in_inference_mode_is_checked() -> None:
    with torch.inference_mode():
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        history = tl.log_forward_pass(model, torch.randn(5, 4))

    report = history.validate()

    assert report, str(report)


def test_a_pass_in_training_is_checked_in_training() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.BatchNorm1d(4))
    history = tl.log_forward_pass(model, torch.randn(5, 4))
    model.eval()

    report = history.validate()

    assert report, str(report)
    assert not any(module.training for module in model.modules())


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_the_kernel_of_an_attention_is_the_one_of_the_pass(backend: SDPBackend) -> None:
    def attends(_model: Written, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    def chooses(model: Written, x: Tensor) -> Tensor:
        with sdpa_kernel(backend):
            return attends(model, x)

    x = torch.randn(1, 2, 16, 8)
    assert checked(attends, x, lambda: sdpa_kernel(backend)).num_inexact == 0
    checked(chooses, x)


def test_a_wrong_value_is_still_found_under_autocast() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    with half():
        history = tl.log_forward_pass(model, torch.randn(3, 4))
    history["relu_1"].tensor_contents.add_(1)

    assert any("relu" in finding.layer for finding in history.validate().failures)


TRANSFORMS: dict[str, Forward] = {
    "vmap": lambda m, x: vmap(m.net)(x),
    "vmap of jacrev": lambda m, x: vmap(jacrev(m.net))(x),
    "vmap of jacfwd": lambda m, x: vmap(jacfwd(m.net))(x),
    "vmap of grad": lambda m, x: vmap(grad(lambda y: m.net(y).sum()))(x),
    "vmap of hessian": lambda m, x: vmap(hessian(lambda y: m.net(y).sum()))(x),
    "vmap of vmap": lambda m, x: vmap(vmap(lambda a: a.sin() * 2))(x),
    "vmap in chunks": lambda m, x: vmap(m.net, chunk_size=2)(x),
    "vmap that writes": lambda m, x: vmap(lambda y: m.net(y).clone().add_(1).mul_(2))(x),
    "laplacian": lambda m, x: vmap(lambda y: jacfwd(jacrev(lambda z: m.net(z).sum()))(y).trace())(x),
    "jacrev": lambda m, x: jacrev(m.net)(x[0]),
    "jacfwd": lambda m, x: jacfwd(m.net)(x[0]),
    "hessian": lambda m, x: hessian(lambda y: m.net(y).sum())(x[0]),
    "grad": lambda m, x: grad(lambda y: m.net(y).sum())(x),
    "vjp": lambda m, x: vjp(m.net, x)[1](torch.ones(3, 3))[0],
    "jvp": lambda m, x: jvp(m.net, (x,), (torch.ones_like(x),)),
    "linearize": lambda m, x: linearize(m.net, x)[1](torch.ones_like(x)),
    "gradients by sample": lambda m, x: vmap(
        grad(lambda own, y: functional_call(m.net, own, (y,)).sum()), in_dims=(None, 0)
    )(m.own, x)["0.weight"],
    "jacobian of weights": lambda m, x: jacrev(lambda own: functional_call(m.net, own, (x,)).sum(0))(m.own),
    "jacobian, vectorized": lambda m, x: torch.autograd.functional.jacobian(m.net, x, vectorize=True),
    "checkpoint": lambda m, x: checkpoint(m.net, x, use_reentrant=False),
    "checkpoint, reentrant": lambda m, x: checkpoint(m.net, x, use_reentrant=True),
}


@pytest.mark.parametrize(
    ("name", "mode"),
    some(itertools.product(TRANSFORMS, (nullcontext, torch.no_grad, half)), one_in=3),
)
def test_transforms_inside_forward_are_no_failures(name: str, mode: Mode) -> None:
    checked(TRANSFORMS[name], torch.randn(3, 4), mode)


def test_a_write_inside_vmap_needs_no_second_run() -> None:
    history = tl.log_forward_pass(Written(TRANSFORMS["vmap of jacrev"]), torch.randn(3, 4))

    assert history.notes == []


def _causal(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    return query >= key


def _blocks() -> Any:
    return create_block_mask(_causal, None, None, 16, 16, device="cpu", BLOCK_SIZE=8)


_MADE_BEFORE = _blocks()
FLEX: dict[str, Forward] = {
    "plain": lambda m, x: flex_attention(x, x, x),
    "with a score": lambda m, x: flex_attention(x, x, x, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.1),
    "with a bias": lambda m, x: flex_attention(x, x, x, score_mod=lambda s, b, h, i, j: s + m.bias[j]),
    "with a mask made inside": lambda m, x: flex_attention(x, x, x, block_mask=_blocks()),
    "with a mask made before": lambda m, x: flex_attention(x, x, x, block_mask=_MADE_BEFORE),
}


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("name", FLEX)
def test_flex_attention_is_no_failure(name: str) -> None:
    report = checked(FLEX[name], torch.randn(1, 2, 16, 8))

    parts = [finding for finding in report.exemptions if "blocks of a mask" in finding.why]
    assert parts
    assert all(finding.layer.startswith("flexattention") for finding in parts)


@pytest.mark.parametrize("num_ranks", [pytest.param(1, marks=pytest.mark.many), 2])
def test_a_model_that_fsdp_spreads_is_no_failure(num_ranks: int, tmp_path: Path) -> None:
    meeting = str(tmp_path / "meeting")
    ranks = [
        Copy([sharding.__file__, str(rank), str(num_ranks), meeting], cwd=ROOT) for rank in range(num_ranks)
    ]
    said = [rank.communicate() for rank in ranks]

    assert all("all is well" in words for words, _ in said), said


def test_an_output_without_tensors_is_not_said_to_equal_a_plain_forward() -> None:
    model = Written(lambda m, x: m.net(x).sum().item())

    report = tl.log_forward_pass(model, torch.randn(2, 4)).validate()

    assert report
    assert report.num_outputs == 0
    assert "the output has no tensors to compare." in str(report)
    assert "equals a plain forward" not in str(report)
