"""Whatever a forward does to what its modules hold, a look at the model undoes it."""

from __future__ import annotations

import itertools
import random
import warnings
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.many import some
from tests.portrait import differences, portrait


def _forbidden(*_args: Any, **_options: Any) -> Any:
    raise TypeError("this may not be changed")


class GuardedDict(OrderedDict[str, Any]):
    """As the configuration of diffusers' models: it can be read, and that is all."""

    update = pop = popitem = clear = setdefault = move_to_end = _forbidden  # type: ignore[assignment]
    is_frozen = False

    def __init__(self, *args: Any, **items: Any) -> None:
        super().__init__(*args, **items)
        self.is_frozen = True

    def __setitem__(self, key: str, value: Any) -> None:
        if self.is_frozen:
            _forbidden()
        super().__setitem__(key, value)

    __delitem__ = __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _forbidden  # type: ignore[assignment]


class GuardedList(list[Any]):
    append = extend = clear = pop = insert = remove = __setitem__ = __delitem__ = _forbidden  # type: ignore[assignment]


class GuardedSet(set[Any]):
    add = update = clear = discard = remove = difference_update = _forbidden  # type: ignore[assignment]


class GuardedDeque(deque[Any]):
    append = extend = clear = popleft = pop = _forbidden  # type: ignore[assignment]


class CountedDict(dict[str, Any]):
    """Counts how often it was written to by its own methods."""

    num_writes = 0

    def __setitem__(self, key: str, value: Any) -> None:
        type(self).num_writes += 1
        super().__setitem__(key, value)


class Slotted:
    __slots__ = ("cache", "count", "late")

    def __init__(self) -> None:
        self.count, self.cache = 0, [1]


@dataclass(frozen=True, slots=True)
class Frozen:
    count: int = 0
    names: list[str] = field(default_factory=lambda: ["a"])


class Plain:
    def __init__(self) -> None:
        self.count, self.inner = 0, {"deep": [torch.zeros(2)]}


def _late(thing: Slotted) -> None:
    thing.count, thing.late = 5, 1
    thing.cache.append(2)
    del thing.count


def _change_frozen(thing: Frozen) -> None:
    object.__setattr__(thing, "count", 7)
    thing.names.append("b")


def _change_plain(thing: Plain) -> None:
    thing.count += 1
    thing.inner["deep"][0].add_(1)
    thing.inner["other"] = []
    thing.more = 3  # type: ignore[attr-defined]


def _reorder(thing: Any) -> None:
    first = next(iter(dict.keys(thing)))
    value = dict.pop(thing, first)
    dict.__setitem__(thing, first, value)
    dict.__setitem__(thing, "new", 1)


def _reorder_guarded(thing: GuardedDict) -> None:
    OrderedDict.move_to_end(thing, "a")
    OrderedDict.__setitem__(thing, "b", 5)
    OrderedDict.__delitem__(thing, "c")
    thing.is_frozen = False


# What a module holds, and what its forward does to it.
HOLDINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "dict": (lambda: {"a": 1, "b": [1]}, _reorder),
    "dict of lists": (lambda: {"a": [1, {2}]}, lambda t: (t["a"].append(3), t["a"][1].add(4))),
    "ordered dict": (lambda: OrderedDict(a=1, b=2, c=3), lambda t: (t.move_to_end("a"), t.pop("b"))),
    "guarded dict": (lambda: GuardedDict(a=1, b=2, c=3), _reorder_guarded),
    "guarded dict, untouched": (lambda: GuardedDict(a=1, b={"c": [1]}), lambda t: t["b"]["c"].append(2)),
    "default dict": (lambda: defaultdict(list, a=[1]), lambda t: (t["new"].append(1), t["a"].append(2))),
    "default dict's factory": (
        lambda: defaultdict(list),
        lambda t: setattr(t, "default_factory", int),
    ),
    "counter": (lambda: Counter("aab"), lambda t: t.update("abc")),
    "user dict": (lambda: UserDict(a=1), lambda t: (t.update(b=2), t.pop("a"))),
    "user list": (lambda: UserList([1]), lambda t: t.append(2)),
    "list": (lambda: [1, 2, [3]], lambda t: (t.pop(0), t.append(9), t[1].clear())),
    "guarded list": (lambda: GuardedList([1, 2]), lambda t: list.append(t, 3)),
    "set": (lambda: {1, 2}, lambda t: (t.add(3), t.discard(1))),
    "guarded set": (lambda: GuardedSet({1, 2}), lambda t: set.clear(t)),
    "deque": (lambda: deque([1, 2, 3], maxlen=3), lambda t: (t.append(4), t.append(5))),
    "guarded deque": (lambda: GuardedDeque([1, 2]), lambda t: deque.appendleft(t, 0)),
    "tuple of lists": (lambda: ([1], {"a": 1}), lambda t: (t[0].append(2), t[1].clear())),
    "slots": (Slotted, _late),
    "frozen data class with slots": (Frozen, _change_frozen),
    "object": (Plain, _change_plain),
    "tensor": (lambda: torch.zeros(3), lambda t: t.add_(1)),
    "tensor with NaN": (lambda: torch.tensor([0.0, torch.nan]), lambda t: t.add_(1)),
    "tensor with another shape": (lambda: torch.zeros(3), lambda t: t.resize_(2, 4).fill_(1)),
    "tensor with other memory": (lambda: torch.zeros(3), lambda t: setattr(t, "data", torch.ones(2))),
    "tensor without memory": (lambda: torch.ones(3), lambda t: t.untyped_storage().resize_(0)),
    "expanded tensor": (lambda: torch.zeros(3, 1).expand(3, 4), lambda t: t[:, 0].add_(1)),
    "array": (lambda: np.zeros(3), lambda t: t.fill(2)),
    "bytes": (lambda: bytearray(b"abc"), lambda t: t.extend(b"d")),
    "generator": (lambda: torch.Generator().manual_seed(1), lambda t: torch.rand(1, generator=t)),
    "Python's generator": (lambda: random.Random(1), lambda t: t.random()),
    "NumPy's generator": (lambda: np.random.default_rng(1), lambda t: t.random()),
    "NumPy's old generator": (lambda: np.random.RandomState(1), lambda t: t.rand()),
    "module in a list": (lambda: [nn.BatchNorm1d(4)], lambda t: t[0](torch.randn(3, 4))),
}


class Holding(nn.Module):
    """Holds something, changes it, and may raise then."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        make, self._change = HOLDINGS[kind]
        self.linear, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.first, self.held, self.last = [1], make(), {"a": 1}
        self.raises = False
        self.num_calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.num_calls += 1
        self.first.append(2)
        with torch.no_grad():
            self._change(self.held)
            self.linear.weight.mul_(0.5)
            self.linear.bias.data.add_(1)
        self.last["b"] = 2
        self.train(not self.training)
        out = self.norm(self.linear(x)).relu()
        if self.raises:
            raise RuntimeError("midway")
        return out


def _edit(model: nn.Module, x: Tensor) -> None:
    """The pass that only looks labels up must leave no trace; the other one is put back by hand."""
    with pytest.raises(tl.LayerNotFoundError):
        tl.log_forward_pass(model, x, edit={"sigmoid_1": torch.neg})


LOOKS: dict[str, Callable[[nn.Module, Tensor], Any]] = {
    "summary": tl.summary,
    "show_model_graph": lambda model, x: tl.show_model_graph(
        model, x, vis_outpath="graph", vis_save_only=True
    ),
    "validate_saved_activations": tl.validate_saved_activations,
    "NetView": lambda model, x: tl.NetView(model, x).close(),
    "NetView with gradients": lambda model, x: tl.NetView(model, x, loss=lambda out: out.sum()).close(),
    "edit": _edit,
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing says that it could not be put back
        warnings.filterwarnings("ignore", message="The picture|.*was edited|.*training", category=UserWarning)
        yield


@pytest.mark.parametrize(("kind", "look"), some(itertools.product(HOLDINGS, LOOKS), one_in=3))
def test_a_look_undoes_what_a_forward_did(kind: str, look: str) -> None:
    torch.manual_seed(0)
    model, x = Holding(kind), torch.randn(3, 4)
    before = portrait(model)

    LOOKS[look](model, x)

    assert differences(before, portrait(model)) == []


@pytest.mark.parametrize(
    ("kind", "look"), some(itertools.product(HOLDINGS, ("summary", "NetView", "edit")), one_in=3)
)
def test_also_when_the_forward_raises(kind: str, look: str) -> None:
    torch.manual_seed(0)
    model, x = Holding(kind), torch.randn(3, 4)
    model.raises = True
    before = portrait(model)

    with pytest.raises(RuntimeError, match="midway"):
        LOOKS[look](model, x)

    assert differences(before, portrait(model)) == []


# Memory that a pass has let go cannot be looked at.
@pytest.mark.parametrize("kind", sorted(HOLDINGS.keys() - {"tensor without memory"}))
def test_a_pass_is_validated_from_what_modules_held_before_it(kind: str) -> None:
    torch.manual_seed(0)
    model, x = Holding(kind), torch.randn(3, 4)
    history = tl.log_forward_pass(model, x)
    before = portrait(model)

    report = history.validate()

    assert report, str(report)
    assert report.forward_checked
    assert differences(before, portrait(model)) == []


def test_what_did_not_change_is_not_written() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept = CountedDict(a=1, b=2)
            self.register_buffer("mean", torch.tensor([torch.nan, 1.0, -torch.inf]))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.mean

    model = Model()
    tl.summary(model, torch.ones(3))

    assert CountedDict.num_writes == 0
    assert model.mean._version == 0


def test_what_forward_writes_into_its_arguments_stays_written() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[int] = []

        def forward(self, batch: dict[str, Any]) -> Tensor:
            batch["count"] += 1
            self.seen.append(batch["count"])
            return batch["x"].relu_() * 2  # type: ignore[no-any-return]

    model, batch = Model(), {"x": torch.tensor([-1.0, 1.0]), "count": 0}
    tl.summary(model, [batch])

    assert model.seen == []
    assert (batch["count"], batch["x"].tolist()) == (1, [0.0, 1.0])  # type: ignore[attr-defined]


def test_what_cannot_be_put_back_is_told_and_keeps_nothing_else_from_it() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.locked, self.last = [1], np.zeros(3), deque([1])
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x: Tensor) -> Tensor:
            self.first.append(2)
            self.locked += 1
            self.locked.flags.writeable = False
            self.last.append(2)
            return self.norm(x)

    model, x = Model(), torch.randn(4, 3)
    with pytest.warns(UserWarning, match=r"not put back in Model: a ndarray"):
        tl.summary(model, x)

    assert (model.first, list(model.last)) == ([1], [1])
    assert torch.equal(model.norm.running_mean, torch.zeros(3))
    assert int(model.norm.num_batches_tracked) == 0


def test_hooks_that_a_forward_adds_and_takes_away_are_as_before() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.handle = self.linear.register_forward_hook(lambda *_: None)

        def forward(self, x: Tensor) -> Tensor:
            self.handle.remove()
            self.linear.register_forward_pre_hook(lambda *_: None)
            self.linear.weight.requires_grad_(False)
            return self.linear(x)

    model = Model()
    before = list(model.linear._forward_hooks)
    tl.summary(model, torch.randn(2, 3))

    assert list(model.linear._forward_hooks) == before
    assert not model.linear._forward_pre_hooks
    assert model.linear.weight.requires_grad


def test_a_lazy_model_can_be_looked_at() -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = tl.summary(model, torch.randn(4, 5))

    assert table.rows[0].num_params == 5 * 3 + 3 + 6
    assert model(torch.randn(4, 5)).shape == (4, 3)  # it is what a forward makes of it, and whole
