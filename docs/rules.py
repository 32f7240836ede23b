"""Write rules.md, all rules of our autograd with their errors: `python -m docs.rules` (`make gallery`).

Each rule is tried on random shapes, the same as in its tests: its gradients beside those of torch's autograd
through the same forward, and beside differences of the forward itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.autograd.test_rules import CASES, JUMPS, Case
from torcheer.autograd import RULES, Rule, apply, grad, tracer

NUM_SAMPLES = 40
STEP = 1e-6
HEAD = """\
# The rules of our autograd

Written by `python -m docs.rules`. *c* is what comes out of an op, and a bar stands for "how much the loss
changes with it": the gradient that arrives at the output becomes those of the inputs. What is the same for
all ops is left out: an input that was broadcast gets the sum over its copies, and gradients that arrive by
several ways are added.

The last two columns are the largest relative error over {samples} random cases each in float64 (broadcast,
without dimensions, empty, strided): against torch's own autograd, and against differences, (f(x + h) − f(x
− h)) / 2h with h = {step:g}, which are that coarse themselves. Where an op jumps or has a kink there is no
difference to compare with.

| op | gradients | in words | error to torch | to differences |
| --- | --- | --- | ---: | ---: |
"""


def main() -> None:
    torch.set_num_threads(1)
    text = HEAD.format(samples=NUM_SAMPLES, step=STEP) + "".join(_row(rule) for rule in RULES.values())
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def _row(rule: Rule) -> str:
    torch_error, difference = _errors(rule)
    formulas = [
        rf"$\bar {symbol} = {way.formula}$" for symbol, way in zip(rule.symbols, rule.ways, strict=True)
    ]
    words = re.sub(r"\{(\w+)\}", r"*\1*", rule.words).replace("|", r"\|")
    cells = [f"`{rule.name}`", "<br>".join(formulas), words, _shown(torch_error), _shown(difference)]
    return f"| {' | '.join(cells)} |\n"


def _shown(error: float | None) -> str:
    if error is None:
        return "–"
    return f"{error:.0e}" if error else "0"


def _errors(rule: Rule) -> tuple[float, float | None]:
    """The largest of all samples."""
    to_torch, to_differences = [0.0], [0.0]

    @settings(max_examples=NUM_SAMPLES, derandomize=True, database=None, deadline=None)
    @given(data=st.data())
    def sample(data: Any) -> None:
        case = CASES[rule.name](data.draw)
        if rule.forward(*case.inputs, *case.others, **case.options).numel() == 0:
            return  # nothing to compare
        ours, theirs, seen = _compared(rule, case)
        to_torch.extend(_relative(one, other) for one, other in zip(ours, theirs, strict=True))
        if seen is not None:
            to_differences.append(seen)

    sample()
    return max(to_torch), None if rule.name in JUMPS else max(to_differences)


def _compared(rule: Rule, case: Case) -> tuple[list[Tensor], list[Tensor], float | None]:
    source = torch.Generator().manual_seed(0)

    def forward(inputs: list[Any]) -> Tensor:
        return rule.forward(*inputs, *case.others, **case.options)

    mine = [tracer(one.clone(), requires_grad=True) for one in case.inputs]
    his = [one.clone().requires_grad_() for one in case.inputs]
    result = apply(rule, *mine, *case.others, **case.options)
    weights = torch.randn(tuple(result.shape), generator=source, dtype=torch.float64)
    ours = [one for one in grad((result * weights).sum(), mine) if one is not None]
    theirs = torch.autograd.grad((forward(his) * weights).sum(), his, allow_unused=True)
    filled = [torch.zeros_like(a) if b is None else b for a, b in zip(ours, theirs, strict=True)]
    if rule.name in JUMPS:
        return ours, filled, None
    ways = [torch.randn(tuple(one.shape), generator=source, dtype=torch.float64) for one in case.inputs]
    moved = [forward([x + h * way for x, way in zip(case.inputs, ways, strict=True)]) for h in (STEP, -STEP)]
    seen = ((moved[0] - moved[1]) * weights).sum() / (2 * STEP)
    along = sum(((a * way).sum() for a, way in zip(ours, ways, strict=True)), torch.zeros(()))
    return ours, filled, _relative(along.double(), seen)


def _relative(one: Tensor, other: Tensor) -> float:
    """The largest error, beside the largest number, or beside 1 where all are smaller."""
    if one.numel() == 0:
        return 0.0
    return float((one - other).abs().max()) / max(1.0, float(other.abs().max()))


if __name__ == "__main__":
    main()
