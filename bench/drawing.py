"""A pass drawn as SVG, against the clock; beside TorchLens with Graphviz where that is installed."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

import torcheer as tl
from bench import peer
from bench.effort import Effort
from bench.models import Built, LoopOfTinyOps, build
from bench.report import ROOT, Section, Table, Verdict
from torcheer.capture import draw_history
from torcheer.graph import read_options

PEER_SECONDS = 30  # then it is given up
PEER_MODELS = ("ResNet-18", "GPT-2 small, 64 tokens")
QUICK_MODELS = ("ResNet-18", "2,000 ops, nested", "2,000 ops, flat")
TEXT = """\
From a captured pass to the text of its SVG, every op unfolded: description, diagram, layout, text. By the
clock on the wall, the median of a few runs. *Nested* models are blocks of blocks with residuals, as real
ones are; *flat* ones have all their ops in one forward."""
PEER_TEXT = """\
TorchLens draws with Graphviz, a system package. From the captured pass to the SVG file, one run in a process
of its own; a run that takes more than half a minute is given up."""
PEER_PROGRAM = """
import sys, time, warnings
warnings.simplefilter("ignore")
import torch, torchlens
import tests.vision
from bench.models import build
model, inputs = build(sys.argv[1])
with torch.no_grad():
    trace = torchlens.trace(model, inputs)
started = time.perf_counter()
trace.draw(vis_outpath=sys.argv[2] + "/picture", vis_save_only=True, vis_fileformat="svg")
print("seconds", time.perf_counter() - started)
"""


class Cell(nn.Module):
    """Ten ops with a residual and a few branches."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.tanh(self.first(x))
        gate = torch.sigmoid(self.second(y))
        z = y * gate + (1 - gate) * x
        return torch.relu(z.exp().log1p() + x)


def nested(num_ops: int) -> Built:
    """Blocks of eight cells, in stages of eight blocks."""
    cells = max(1, num_ops // 11)
    blocks = [nn.Sequential(*(Cell() for _ in range(8))) for _ in range(max(1, cells // 8))]
    stages = [nn.Sequential(*blocks[i : i + 8]) for i in range(0, len(blocks), 8)]
    return nn.Sequential(*stages).eval(), torch.randn(2, 8)


def flat(num_ops: int) -> Built:
    return LoopOfTinyOps(num_ops), torch.randn(8, 8)


def swin() -> Built:
    import timm  # after the models of torchvision have been made importable

    return timm.create_model("swin_base_patch4_window7_224").eval(), torch.rand(1, 3, 224, 224)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    model: str
    num_ops: int
    seconds: float
    kilobytes: float
    at_most: float | None


def bench_drawing(effort: Effort) -> Section:
    names = QUICK_MODELS if effort.is_quick else MODELS
    theirs = {} if effort.is_quick or not _has_peer() else {name: _peer_seconds(name) for name in PEER_MODELS}
    drawn = [_measure(name, share) for name, share in effort.divide(names)]
    rows = [
        (one.model, f"{one.num_ops:,}", f"{one.seconds:.2f}", f"{one.kilobytes:,.0f}", _limit(one.at_most))
        for one in drawn
    ]
    table = Table(columns=("model", "ops", "seconds", "KB of SVG", "at most"), rows=rows)
    return Section(
        title="Pictures",
        parts=[TEXT, table, *_beside_peer(drawn, theirs)],
        verdicts=[
            Verdict(what=f"SVG of {one.model}, s", figure=one.seconds, at_most=one.at_most)
            for one in drawn
            if one.at_most is not None
        ],
        data=[asdict(one) for one in drawn],
    )


# What builds it, and the most seconds that its picture may take.
MODELS: dict[str, tuple[Callable[[], Built], float | None]] = {
    "ResNet-18": (partial(build, "ResNet-18"), 0.3),
    "GPT-2 small, 64 tokens": (partial(build, "GPT-2 small, 64 tokens"), None),
    "Swin-B": (swin, 2.0),
    "2,000 ops, nested": (partial(nested, 2000), 2.0),
    "2,000 ops, flat": (partial(flat, 2000), 2.0),
    "10,000 ops, nested": (partial(nested, 10_000), 15.0),
    "10,000 ops, flat": (partial(flat, 10_000), 15.0),
}


def _measure(name: str, effort: Effort) -> Drawn:
    print(f"  {name} …", flush=True)
    make, at_most = MODELS[name]
    model, inputs = make()
    with torch.no_grad():
        history = tl.log_forward_pass(model, inputs)
    drawing = read_options("unrolled", {"vis_fold_repeats": False})
    seconds: list[float] = []
    svg = ""
    while len(seconds) < effort.min_rounds or effort.seconds_left > seconds[-1]:
        started = perf_counter()
        svg = draw_history(history, drawing).svg
        seconds.append(perf_counter() - started)
    return Drawn(
        model=name,
        num_ops=history.num_tensors_total,
        seconds=statistics.median(seconds),
        kilobytes=len(svg.encode()) / 1e3,
        at_most=at_most,
    )


def _has_peer() -> bool:
    return peer.version() is not None and shutil.which("dot") is not None


def _beside_peer(drawn: list[Drawn], theirs: dict[str, str]) -> list[str | Table]:
    if not theirs:
        return ["TorchLens was not measured: Graphviz is missing, or this was the quick bench."]
    rows = [(one.model, f"{one.seconds:.2f}", theirs[one.model]) for one in drawn if one.model in theirs]
    return [PEER_TEXT, Table(columns=("seconds", "torcheer", f"TorchLens {peer.version()}"), rows=rows)]


def _peer_seconds(name: str) -> str:
    print(f"  {name}, TorchLens …", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        command: list[Any] = [sys.executable, "-c", PEER_PROGRAM, name, folder]
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PEER_SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"> {PEER_SECONDS}"
        found = [line for line in done.stdout.splitlines() if line.startswith("seconds ")]
        is_drawn = any(Path(folder).glob("picture*"))
        return f"{float(found[-1].split()[1]):.2f}" if found and is_drawn else "failed"


def _limit(at_most: float | None) -> str:
    return "" if at_most is None else f"{at_most:g}"
