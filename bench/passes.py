"""One pass captured, against the bare forward, against keeping its outputs, and against TorchLens."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch

from bench import contenders
from bench.contenders import BARE, HOOKS, KEEP_OUTPUTS, KEEP_VALUES, OURS, RECORDED, TORCHLENS
from bench.effort import Effort
from bench.measure import Times, clocks, interleave
from bench.models import ARCHITECTURES, MODELS, TINY, build, requiring_grad
from bench.peer import Program, torchlens_process
from bench.report import Section, Table, Verdict

AGAINST_TORCHLENS = {
    "ResNet-18": 10,
    "GPT-2 small, 64 tokens": 10,
    **dict.fromkeys(TINY, 80),
}
QUICK_MODELS = ("AlexNet", "ResNet-18", "GPT-2 small, 64 tokens", "2,000 tiny ops, a loop")
COMPARED = (KEEP_OUTPUTS, KEEP_VALUES, HOOKS, RECORDED, OURS, TORCHLENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    model: str
    grad: bool
    times: Times
    num_ops: int
    kept: dict[str, tuple[int, float]]  # by contender: tensors, and megabytes

    @property
    def name(self) -> str:
        return f"{self.model}{', grad' if self.grad else ''}"


def bench_passes(effort: Effort) -> Section:
    settings = product(QUICK_MODELS, (False,)) if effort.is_quick else product(MODELS, (False, True))
    with torchlens_process() as peer:
        measured = [_measure(name, grad, peer, share) for (name, grad), share in effort.divide(settings)]
    explained = "\n".join(f"- **{name}**: {text}." for name, text in contenders.EXPLAINED.items())
    return Section(
        title="A captured pass",
        parts=[
            explained,
            "Ratios to the bare forward:",
            _ratio_table(measured),
            "torcheer against a forward that merely keeps what it makes; how many times faster than "
            "TorchLens it is, in all and in what it adds to the bare forward; and the tensors that each "
            "holds on to:",
            _comparison_table(measured),
        ],
        verdicts=[verdict for one in measured for verdict in _verdicts(one)],
        data=[_as_data(one) for one in measured],
    )


def _measure(name: str, grad: bool, peer: Program | None, effort: Effort) -> Measured:
    print(f"  {name}{', grad' if grad else ''} …", flush=True)
    model, inputs = build(name)
    inputs = requiring_grad(inputs) if grad else inputs
    rarely = {}
    if peer is not None:
        peer.ask({"load": name, "grad": grad})
        rarely = {TORCHLENS: partial(peer.ask, {"run": True})}
    with torch.set_grad_enabled(grad):
        runs = contenders.in_this_process(model, inputs)
        kept = {}
        for contender in (KEEP_OUTPUTS, KEEP_VALUES, HOOKS, OURS):
            tensors = contenders.tensors_kept(runs[contender]())
            kept[contender] = (len(tensors), contenders.megabytes(tensors))
            del tensors
            gc.collect()
        times = interleave(clocks(runs), effort, rarely=rarely)
    return Measured(model=name, grad=grad, times=times, num_ops=kept[OURS][0], kept=kept)


def _verdicts(one: Measured) -> list[Verdict]:
    to_bare = one.times.ratio(OURS, BARE).median
    verdicts = []
    if one.model in ARCHITECTURES:
        for limit in (KEEP_VALUES, KEEP_OUTPUTS):
            ratio = one.times.ratio(OURS, limit).median
            verdicts.append(Verdict(what=f"{one.name}: × a forward that {limit}", figure=ratio, at_most=1.10))
        verdicts.append(Verdict(what=f"{one.name}: × the bare forward", figure=to_bare, at_most=1.25))
    else:
        verdicts.append(Verdict(what=f"{one.name}: × the bare forward", figure=to_bare, at_most=4))
    least = AGAINST_TORCHLENS.get(one.model)
    if least is not None and TORCHLENS in one.times.by_name:
        faster = one.times.ratio(TORCHLENS, OURS).median
        possible = one.times.ratio(TORCHLENS, BARE).median
        what = f"{one.name}: times faster than TorchLens (the bare forward itself: {possible:.1f})"
        verdicts.append(Verdict(what=what, figure=faster, at_least=least))
    return verdicts


def _ratio_table(measured: list[Measured]) -> Table:
    return Table(
        columns=("model", "ops", "bare, ms", *COMPARED, "rounds"),
        rows=[
            (
                one.name,
                f"{one.num_ops:,}",
                f"{one.times.median(BARE) * 1e3:.1f}",
                *(_ratio(one.times, name, BARE) for name in COMPARED),
                str(len(one.times.by_name[BARE])),
            )
            for one in measured
        ],
    )


def _comparison_table(measured: list[Measured]) -> Table:
    return Table(
        columns=(
            "model",
            f"× {KEEP_VALUES}",
            f"× {KEEP_OUTPUTS}",
            "× faster than TorchLens",
            "in what it adds",
            *(f"{name}: kept" for name in (OURS, KEEP_VALUES, KEEP_OUTPUTS, HOOKS)),
        ),
        rows=[
            (
                one.name,
                _ratio(one.times, OURS, KEEP_VALUES),
                _ratio(one.times, OURS, KEEP_OUTPUTS),
                _ratio(one.times, TORCHLENS, OURS),
                _ratio_of_added(one.times),
                *(_kept(one.kept[name]) for name in (OURS, KEEP_VALUES, KEEP_OUTPUTS, HOOKS)),
            )
            for one in measured
        ],
    )


def _ratio(times: Times, name: str, to: str) -> str:
    return str(times.ratio(name, to)) if name in times.by_name else "–"


def _ratio_of_added(times: Times) -> str:
    if TORCHLENS not in times.by_name:
        return "–"
    ours = times.median_difference(OURS, BARE)
    return f"{times.median_difference(TORCHLENS, BARE) / ours:.0f}" if ours > 0 else "∞"


def _kept(kept: tuple[int, float]) -> str:
    return f"{kept[0]:,}, {kept[1]:.1f} MB"


def _as_data(one: Measured) -> dict[str, Any]:
    return {
        "model": one.model,
        "grad": one.grad,
        "num_ops": one.num_ops,
        "kept": {name: {"tensors": num, "megabytes": size} for name, (num, size) in one.kept.items()},
        "seconds": {name: list(rounds.values()) for name, rounds in one.times.by_name.items()},
    }
