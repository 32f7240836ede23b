"""Modules that learn their sizes in their first forward: a capture may be that first one."""

from __future__ import annotations

import torch
from torch import nn

import torcheer as tl


def lazy_model() -> nn.Module:
    return nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyBatchNorm1d())


def test_a_capture_initialises_a_lazy_module_as_a_forward_does() -> None:
    x = torch.rand(3, 5)
    torch.manual_seed(0)
    plain = lazy_model()
    result = plain(x)
    torch.manual_seed(0)
    model = lazy_model()

    history = tl.log_forward_pass(model, x)

    assert torch.equal(history["output_1"].tensor_contents, result)
    assert [type(module) for module in model] == [nn.Linear, nn.ReLU, nn.BatchNorm1d]
    for a, b in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a, b)
    assert history.total_params == sum(p.numel() for p in plain.parameters())
    assert history["relu_1"].parent_layers == [history["0"].layer_label]
    assert history["linear_1"].containing_module_origin == "0"


def test_the_second_capture_is_an_ordinary_one() -> None:
    model, x = lazy_model(), torch.rand(3, 5)
    tl.log_forward_pass(model, x)

    history = tl.log_forward_pass(model, x)

    assert [op.layer_type for op in history if op.computed_with_params] == ["linear", "batchnorm"]
    assert history.validate()
