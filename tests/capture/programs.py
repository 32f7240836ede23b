"""Random straight-line programs over tensors that share memory, for hypothesis to draw and shrink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line, and the variables that hold what its last torch calls made, in the order of the calls."""

    line: str
    made: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    steps: tuple[Step, ...]
    returned: tuple[str, ...]
    requires_grad: bool
    seed: int

    @property
    def source(self) -> str:
        lines = [step.line for step in self.steps]
        return "\n    ".join(["def forward(self, x, y):", *lines, f"return {', '.join(self.returned)}"])

    def __repr__(self) -> str:
        return f"Program(seed={self.seed}, requires_grad={self.requires_grad}):\n{self.source}"

    def make_inputs(self) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(self.seed)
        return tuple(
            torch.randn(shape, generator=generator).requires_grad_(self.requires_grad) for shape in _SHAPES
        )

    def make_model(self) -> nn.Module:
        namespace: dict[str, Any] = {"torch": torch, "F": F}
        exec(compile(self.source, FILE, "exec"), namespace)
        return type("Drawn", (nn.Module,), {"forward": namespace["forward"]})()

    def run_with_clones(self) -> list[list[Tensor]]:
        """The oracle: the program without any capture, and a copy of what each line made, as it was then."""
        x, y = self.make_inputs()
        variables: dict[str, Any] = {"torch": torch, "F": F, "x": x, "y": y}
        made: list[list[Tensor]] = []
        for step in self.steps:
            exec(step.line, variables)
            made.append([variables[name].detach().clone() for name in step.made])
        return made


FILE = "<drawn>"
FIRST_LINE = 2  # of the steps, in the source
_SHAPES = ((2, 3), (3,))

# {a} and {b} are variables of the program.
_ONE_NEW = """
torch.sin({a}) | {a} * 2 | {a} + 1 | 1 - {a} | -{a} | torch.tanh({a}) | F.relu({a}) | {a}.abs() | {a}.clone()
{a} + {b} | {a} - {b} | {a} * {b} | torch.maximum({a}, {b}) | {a} @ {b} | torch.where({a} > 0, {b}, 0.5)
torch.cat([{a}, {b}]) | torch.stack([{a}, {b}]) | {a}.sum() | {a}.mean(0) | {a}.cumsum(0)
{a}.view(-1) | {a}.reshape(-1) | {a}.flatten() | {a}.t() | {a}.transpose(0, -1) | {a}.T | {a}.unsqueeze(0)
{a}.squeeze(0) | {a}.expand(2, *{a}.shape) | {a}.narrow(0, 0, 1) | {a}.diagonal() | {a}.movedim(0, -1)
{a}[0] | {a}[1:] | {a}[..., 1] | {a}[..., ::2] | {a}[:, :2] | {a}[None] | {a}[[0, 1]] | {a}[{a} > 0]
{a}.detach() | {a}.data | {a}.contiguous() | {a}.float() | {a}.double() | {a}.view(torch.int32)
{a}.as_strided((2,), (1,)) | {a}.view_as({a}) | {a}.unfold(0, 2, 1) | torch.zeros_like({a}) | torch.ones(3)
{a}.relu().mul_(2) | {a}.index_select(0, torch.tensor([0])) | {a}.select(0, 0) | {a}.flip(0)
"""
_SEVERAL_NEW = "{a}.chunk(2) | {a}.unbind() | {a}.split(1) | torch.unbind({a}, -1)"
_IN_PLACE = """
{a}.add_(1) | {a}.mul_(2) | {a}.neg_() | {a}.relu_() | {a}.sin_() | {a}.zero_() | {a}.fill_(0.5)
{a}.add_({b}) | {a}.sub_({b}) | {a}.mul_({b}) | {a}.copy_({b}) | {a}.lerp_({b}, 0.3) | {a}.cumsum_(0)
{a} += {b} | {a} *= 3 | {a} -= 1 | {a} /= 2 | torch.sin_({a}) | F.relu({a}, inplace=True) | {a}.clamp_(-1, 1)
{a}[0] = 1.5 | {a}[0] = {b} | {a}[1:] = {b} | {a}[..., 0] = 2 | {a}[...] = {b} | {a}[{a} > 0] = 0.25
{a}[[0]] = {b} | {a}.index_fill_(0, torch.tensor([0]), 3) | {a}.masked_fill_({a} > 0, 0.5)
{a}.t_() | {a}.unsqueeze_(0) | {a}.squeeze_() | {a}.transpose_(0, -1)
torch.add({a}, 1, out={a}) | torch.mul({b}, 2, out={a}) | torch.sin({b}, out={a})
{a}.data.add_(1) | {a}.detach().mul_(2) | {a}.view(-1)[1:].mul_(0.5)
"""


def _rows(text: str) -> list[str]:
    return [row.strip() for line in text.strip().splitlines() for row in line.split("|")]


_TEMPLATES = [
    *((row, "one") for row in _rows(_ONE_NEW)),
    *((row, "several") for row in _rows(_SEVERAL_NEW)),
    *((row, "in place") for row in _rows(_IN_PLACE)),
]
# These write through a temporary: what they made has no name.
_ANONYMOUS = (".data.add_", ".detach().mul_", ".view(-1)[1:].mul_")


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs that run: each line is tried as it is drawn, and one that torch refuses is left out."""
    seed = draw(st.integers(0, 9))
    requires_grad = draw(st.booleans())
    empty = Program(steps=(), returned=(), requires_grad=requires_grad, seed=seed)
    x, y = empty.make_inputs()
    variables: dict[str, Any] = {"torch": torch, "F": F, "x": x, "y": y}
    pool, steps = ["x", "y"], []
    for number in range(draw(st.integers(1, 15))):
        template, kind = draw(st.sampled_from(_TEMPLATES))
        a, b = (draw(st.sampled_from(pool[::-1])) for _ in range(2))
        if kind == "in place" and _is_left_open(template, variables[a], variables[b]):
            continue
        step = _try(template.format(a=a, b=b), kind, a, f"t{number}", variables)
        if step is not None:
            steps.append(step)
            pool += [name for name in step.made if name not in pool]
    return Program(steps=tuple(steps), returned=tuple(pool), requires_grad=requires_grad, seed=seed)


def _is_left_open(template: str, target: Tensor, other: Tensor) -> bool:
    """Whether a write touches one place twice, so that torch leaves open what comes of it, or none."""
    written = _places(target)
    writes_nothing = "[1:]" in template and target.shape[:1] <= (1,)
    if len(set(written)) < len(written) or writes_nothing:
        return True
    same_storage = target.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    if "{b}" not in template or target is other or not same_storage:
        return False
    return not set(written).isdisjoint(_places(other))


def _places(tensor: Tensor) -> list[int]:
    """Where each element begins in its storage, in bytes."""
    size = max(1, tensor.untyped_storage().nbytes() // tensor.element_size())
    places = torch.arange(size).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return [place * tensor.element_size() for place in places.flatten().tolist()]


def _try(code: str, kind: str, target: str, new: str, variables: dict[str, Any]) -> Step | None:
    line = code if kind == "in place" else f"{new} = {code}"
    try:
        exec(line, variables)
    except (RuntimeError, IndexError, TypeError, ValueError):
        return None
    if kind == "in place":
        return Step(line=line, made=() if any(part in code for part in _ANONYMOUS) else (target,))
    if kind == "one":
        return Step(line=line, made=(new,))
    names = tuple(f"{new}_{i}" for i in range(len(variables[new])))
    if not names:
        return None
    line = f"{', '.join(names)}, = {code}"
    exec(line, variables)
    return Step(line=line, made=names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop, perhaps with one inside, over lines that work on the variables a, b and c."""

    before: tuple[str, ...]
    inner: tuple[str, ...]
    after: tuple[str, ...]
    num_rounds: int
    num_inner_rounds: int

    @property
    def source(self) -> str:
        return "\n".join(
            [
                "def forward(self, x):",
                "    a, b, c = x, x, x",
                f"    for _ in range({self.num_rounds}):",
                *(f"        {line}" for line in self.before),
                f"        for _ in range({self.num_inner_rounds}):",
                *(f"            {line}" for line in self.inner),
                *(f"        {line}" for line in self.after),
                "    return a, b, c",
            ]
        )

    def __repr__(self) -> str:
        return self.source

    @property
    def runs_by_line(self) -> dict[int, int]:
        """How often each line makes an op, numbered as steps are."""
        inner = self.num_rounds * self.num_inner_rounds
        lines = [0, 0, *[self.num_rounds] * len(self.before), 0, *[inner] * len(self.inner)]
        lines += [self.num_rounds] * len(self.after)
        return {number: times for number, times in enumerate(lines) if times}

    def make_model(self) -> nn.Module:
        namespace: dict[str, Any] = {"torch": torch}
        exec(compile(self.source, FILE, "exec"), namespace)
        return type("Drawn", (nn.Module,), {"forward": namespace["forward"]})()


_LOOP_LINES = [
    f"{target} = {code.format(u=u, v=v)}"
    for target in "abc"
    for code in ("torch.sin({u})", "{u} + {v}", "{u} * {v}", "torch.maximum({u}, {v})")
    for u in "abcx"
    for v in "abcx"
]


@st.composite
def loops(draw: st.DrawFn) -> Loop:
    lines = st.lists(st.sampled_from(_LOOP_LINES), min_size=1, max_size=3).map(tuple)
    return Loop(
        before=draw(lines),
        inner=draw(lines),
        after=draw(lines),
        num_rounds=draw(st.integers(2, 3)),
        num_inner_rounds=draw(st.integers(1, 3)),
    )
