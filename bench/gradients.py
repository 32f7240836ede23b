"""One pass captured with its gradients, and its backward, against a bare forward and backward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

import torcheer as tl
from bench.effort import Effort
from bench.measure import Times, clocks, interleave
from bench.models import build
from bench.report import Section, Table, Verdict

MEASURED = ("ResNet-18", "GPT-2 small, 64 tokens")
BARE = "bare"
GRADIENTS = "save_gradients"
ONE_CALL = "log_backward"
AT_MOST = 1.25
TEXT = """\
Forward, and backward of the output's sum, against the bare two. Before each, no parameter has a `.grad`.

- **save_gradients**: `log_forward_pass(save_gradients=True)`, then `output.sum().backward()`: the values and
  gradients of all ops are kept, and the gradients of all parameters.
- **log_backward**: the same, with `history.log_backward(output.sum())`, and the nodes made readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    model: str
    times: Times
    num_nodes: int
    num_grads: int


def bench_gradients(effort: Effort) -> Section:
    measured = [
        _measure(name, share) for name, share in effort.divide(MEASURED[: 1 if effort.is_quick else None])
    ]
    return Section(
        title="A pass with its gradients",
        parts=[TEXT, _table(measured)],
        verdicts=[
            Verdict(
                what=f"{one.model}, gradients: × a bare forward and backward",
                figure=one.times.ratio(GRADIENTS, BARE).median,
                at_most=AT_MOST,
            )
            for one in measured
        ],
        data=[_as_data(one) for one in measured],
    )


def _measure(name: str, effort: Effort) -> Measured:
    print(f"  {name}, gradients …", flush=True)
    model, inputs = build(name)
    one = _log_backward(model, inputs).backward_passes[0]
    runs = {
        BARE: lambda: _bare(model, inputs),
        GRADIENTS: lambda: _save_gradients(model, inputs),
        ONE_CALL: lambda: _log_backward(model, inputs),
    }
    with torch.enable_grad():
        times = interleave(clocks(runs), effort)
    return Measured(model=name, times=times, num_nodes=len(one.nodes), num_grads=len(one.grads))


def _bare(model: nn.Module, inputs: Any) -> Tensor:
    model.zero_grad(set_to_none=True)
    loss = _loss(model(inputs))
    loss.backward()
    return loss


def _save_gradients(model: nn.Module, inputs: Any) -> tl.ModelHistory:
    model.zero_grad(set_to_none=True)
    history = tl.log_forward_pass(model, inputs, save_gradients=True)
    _loss(history.output).backward()
    return history


def _log_backward(model: nn.Module, inputs: Any) -> tl.ModelHistory:
    model.zero_grad(set_to_none=True)
    history = tl.log_forward_pass(model, inputs, save_gradients=True)
    history.log_backward(_loss(history.output))
    return history


def _loss(output: Any) -> Tensor:
    logits: Tensor = output if isinstance(output, Tensor) else output.logits
    return logits.sum()


def _table(measured: list[Measured]) -> Table:
    return Table(
        columns=("model", "autograd nodes", "gradients of ops", "bare, ms", GRADIENTS, ONE_CALL, "rounds"),
        rows=[
            (
                one.model,
                f"{one.num_nodes:,}",
                f"{one.num_grads:,}",
                f"{one.times.median(BARE) * 1e3:.1f}",
                str(one.times.ratio(GRADIENTS, BARE)),
                str(one.times.ratio(ONE_CALL, BARE)),
                str(len(one.times.by_name[BARE])),
            )
            for one in measured
        ],
    )


def _as_data(one: Measured) -> dict[str, Any]:
    return {
        "model": one.model,
        "num_nodes": one.num_nodes,
        "num_grads": one.num_grads,
        "seconds": {name: list(rounds.values()) for name, rounds in one.times.by_name.items()},
    }
