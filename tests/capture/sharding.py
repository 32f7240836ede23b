"""One rank of a model that FSDP2 spreads: captured, validated, looked at and trained. Run as a program."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import torcheer as tl

WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"reshard_after_forward": False},
    {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16)},
)


def check(way: dict[str, Any], num_ranks: int) -> None:
    mesh = init_device_mesh("cpu", (num_ranks,))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4), nn.LayerNorm(4))
    for layer in (model[0], model[2], model):  # the norm belongs to the root, which stays gathered
        fully_shard(layer, mesh=mesh, **way)
    x = torch.randn(4, 4)
    kinds = _kinds(model)

    assert tl.summary(model, x).rows[0].num_passes == 1
    assert _kinds(model) == kinds, "a look gathers nothing for good"
    history = tl.log_forward_pass(model, x)
    gathered = _kinds(model)
    report = history.validate()
    assert report, str(report)
    assert report.forward_checked
    assert _kinds(model) == gathered
    assert torch.equal(history.output, model(x))

    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(x).float().pow(2).sum().backward()
    optimizer.step()
    tl.summary(model, x)
    assert tl.log_forward_pass(model, x).validate()


def _kinds(model: nn.Module) -> list[str]:
    return [type(param).__name__ + type(param.data).__name__ for param in model.parameters()]


if __name__ == "__main__":
    rank, num_ranks, meeting_point = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    dist.init_process_group("gloo", init_method=f"file://{meeting_point}", rank=rank, world_size=num_ranks)
    for one in WAYS:
        check(one, num_ranks)
    dist.destroy_process_group()
    print("all is well")
