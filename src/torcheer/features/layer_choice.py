"""Which layers of a pass are meant by a key, where they are in another pass, and their values for a batch."""

from __future__ import annotations

import fnmatch
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from torcheer.capture import (
    ModelHistory,
    ModelWalk,
    Order,
    PassRecord,
    Scope,
    Selection,
    ValueTreatment,
    capture,
    is_call,
    seed_everything,
)
from torcheer.errors import CaptureError, InputError, LayerNotFoundError
from torcheer.features.samples import Samples, running, whole
from torcheer.models import chosen_layers, unwrapped_model

_MOST_NAMED = 16


class Place(NamedTuple):
    """Where an op is: in which call of a module, and a checksum of all that ran there up to it.

    It does not change when the model takes another way elsewhere: the same place is the same op.
    """

    scope: str  # features.0:1
    way: int


class Spot(NamedTuple):
    """Where an op stands in the source: in which call of a module, and at which instruction.

    It does not change when the model takes another way before it in the same call.
    """

    scope: str
    layer_type: str
    position: int  # which output of the call
    site: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One layer, under the name by which it was asked for: what a call of a module gives, or an op."""

    name: str
    index: int  # of the op in the pass on which it was chosen
    label: str
    layer_type: str
    scope: str  # the module pass in which it ran
    modules: tuple[str, ...]  # whose output it is
    call: str = ""  # of a module, such as rnn:2, whose first tensor it is; "": the op itself is meant
    place: Place | None = None  # of an op that is meant itself
    spot: Spot | None = None  # of the same, where no other op of that pass stands there, as in a loop
    ran: frozenset[str] = frozenset()  # the modules that gave a tensor in that pass
    key: Any = None  # of those that were asked for
    is_explicit: bool = True  # asked for by itself, and not as one of all

    @property
    def address(self) -> str:
        """The innermost module whose output it is."""
        return self.modules[0] if self.modules else ""


def choose(keys: Iterable[Any], model: nn.Module, history: ModelHistory) -> list[Choice]:
    """What is meant; of what is not there, what there is."""
    try:
        return _chosen(keys, model, history)
    except LayerNotFoundError as error:
        modules = [name for name in history.module_tree.addresses if name]
        ops = [PassRecord(history).op(index).layer_label for index in _computed(history)]
        there = [
            f"its {what} are {some_names(names)}"
            for what, names in (("modules", modules), ("ops", ops))
            if names
        ]
        said = str(error).replace("history.layer_labels and history.module_addresses list them all.", "")
        raise LayerNotFoundError(f"{said.strip()} Of this model {'; '.join(there)}.") from error


def some_names(names: list[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMED - 1])}, …, {names[-1]}"


def _chosen(keys: Iterable[Any], model: nn.Module, history: ModelHistory) -> list[Choice]:
    """In the order of the pass. What was asked for by itself counts before what a pattern brings along."""
    found: dict[str, Choice] = {}
    places: list[Place] = []
    spots: list[Spot | None] = []
    ran = frozenset(modules_that_ran(history))
    for key in keys:
        for one in _meant_by(key, model, history):
            if one.name in found and found[one.name].index != one.index:
                raise InputError(f"{one.name!r} was asked for twice, and means two layers.")
            if one.is_explicit or one.name not in found or not found[one.name].is_explicit:
                if not one.call and not places:
                    places, spots = places_of_ops(history), _spots(history)
                    counts = Counter(spots)  # where several ops stand at one, it tells none of them
                    spots = [spot if counts[spot] == 1 else None for spot in spots]
                place, spot = (None, None) if one.call else (places[one.index], spots[one.index])
                found[one.name] = replace(one, place=place, spot=spot, ran=ran, key=key)
    if not found:
        raise InputError(
            "no layers: of what was asked for nothing ran. 'all' takes every op; the modules of a scripted "
            "model cannot be told apart."
        )
    return sorted(found.values(), key=lambda one: one.index)


def keys_of(layers: Any) -> list[Any]:
    """`layers`: `"all"`, `"modules"`, a key of any kind, several, or `{key: transforms}`."""
    if isinstance(layers, str | type | int):
        layers = [layers]
    keys = list(layers) if isinstance(layers, Iterable) and not isinstance(layers, bytes) else []
    for key in keys or [None]:
        if isinstance(key, bool) or not isinstance(key, str | type | int) or key == "":
            raise InputError(
                f"layers={layers!r} has no layers, or {key!r} names none: give labels, module addresses, "
                "patterns, types or numbers, 'modules', or 'all'."
            )
    return list(dict.fromkeys(keys))


def _choice(history: ModelHistory, index: int, *, name: str = "", explicit: bool, call: str = "") -> Choice:
    op = PassRecord(history).op(index)
    return Choice(
        name=name or op.layer_label,
        index=op.index,
        label=op.layer_label,
        layer_type=op.layer_type,
        scope=f"{op.containing_module_origin}:{op.containing_module_pass}",
        modules=tuple(one.removesuffix(":1") for one in op.modules_exited if one),
        call=call,
        is_explicit=explicit,
    )


def indices_in(history: ModelHistory, choices: Sequence[Choice]) -> list[int | None]:
    """The ops of a pass that are meant, also where it took another way; None for those that are not there."""
    by_place: dict[Place, int] = {}
    by_spot: dict[Spot, list[int]] = {}
    if any(choice.place is not None for choice in choices):
        by_place = {place: index for index, place in reversed(list(enumerate(places_of_ops(history))))}
        for index, spot in enumerate(_spots(history)):
            if spot is not None:
                by_spot.setdefault(spot, []).append(index)
    found: list[int | None] = []
    for choice in choices:
        if choice.place is None:  # what made the first tensor that a call of a module gave
            address, _, number = choice.call.rpartition(":")
            passes = history.module_tree.passes_of(address) or ()
            outputs = passes[int(number) - 1].output_ops if int(number) <= len(passes) else ()
            found.append(outputs[0] if outputs else None)
            continue
        # Where there are ops at the same instruction, it is one of them, or none.
        on_spot = by_spot.get(choice.spot, []) if choice.spot else []
        op = on_spot[0] if len(on_spot) == 1 else by_place.get(choice.place)
        found.append(op if not on_spot or op in on_spot else None)
    return found


def modules_that_ran(history: ModelHistory) -> list[str]:
    """Those that gave a tensor in a pass."""
    tree = history.module_tree
    return [name for name in tree.addresses if any(one.output_ops for one in tree.passes_of(name) or ())]


def _spots(history: ModelHistory) -> list[Spot | None]:
    """Of every op of a pass; None for what no line of the source calls."""
    return [
        Spot(
            _label_of(record.scope.module()),
            record.trait.type,
            record.position,
            # Of a function its identity: to compare what it does would take long, and it stays the same.
            tuple([part if type(part) is int else id(part) for part in record.site]),
        )
        if record.site and is_call(record)
        else None
        for record in PassRecord(history).tape.records
    ]


def places_of_ops(history: ModelHistory) -> list[Place]:
    """Of every op of a pass. Inputs and outputs are counted, whatever ran; buffers where they are met."""
    found = []
    ways: dict[Scope, int] = {}  # of each module call: a checksum of its own ops, and of the calls in it
    met: Counter[Place] = Counter()  # of what is no call
    for record in PassRecord(history).tape.records:
        scope, kind = record.scope.module(), record.trait.type
        _enter(scope, ways)
        if is_call(record):
            ways[scope] = zlib.crc32(kind.encode(), ways[scope])
            found.append(Place(_label_of(scope), ways[scope]))
        else:
            there = Place(f"{kind} in {_label_of(scope)}", 0 if kind in ("input", "output") else ways[scope])
            found.append(there._replace(way=zlib.crc32(str(met[there]).encode(), there.way)))
            met[there] += 1
    return found


def _enter(scope: Scope, ways: dict[Scope, int]) -> None:
    """Note a call in the one that it is a part of, when it has its first op."""
    while scope not in ways:
        ways[scope] = 0
        if scope.parent is None:
            return
        inner, scope = scope, scope.parent.module()
        _enter(scope, ways)
        ways[scope] = zlib.crc32(_label_of(inner).encode(), ways[scope])


def _label_of(scope: Scope) -> str:
    return f"{scope.address or ''}:{scope.pass_num}"


def _meant_by(key: Any, model: nn.Module, history: ModelHistory) -> list[Choice]:
    """A layer that ran more than once gives one for each time: `rnn:1`, `rnn:2`."""
    if key == "all":
        return [_choice(history, index, explicit=False) for index in _computed(history)]
    if key == "modules" or isinstance(key, type):
        # "modules": those with weights of their own, or without modules of their own, as far as they ran.
        names = [*chosen_layers(model, "all" if key == "modules" else key)]
        names = [name for name in names if key != "modules" or name in history.module_tree.addresses]
        return [one for name in names for one in _of_module(name, history, explicit=False)]
    if isinstance(key, int):
        return [_choice(history, history[key].index, explicit=True)]
    passes, number = history.module_tree.passes_named(key)
    if 0 < number <= len(passes) and passes[number - 1].output_ops:
        chosen = passes[number - 1]
        return [_choice(history, chosen.output_ops[0], name=key, explicit=True, call=chosen.label)]
    if (passes and not number) or key in history.module_tree.addresses:
        return _of_module(key, history, explicit=True)
    if PassRecord(history).lookup.find_exactly(key) is not None:
        ops = PassRecord(history).lookup.find_all(key)
        names = (
            [key] if len(ops) == 1 else [f"{key}:{PassRecord(history).op(index).pass_num}" for index in ops]
        )
        return [
            _choice(history, index, name=name, explicit=True) for index, name in zip(ops, names, strict=True)
        ]
    return _by_pattern(key, history)


def _by_pattern(key: str, history: ModelHistory) -> list[Choice]:
    if not any(letter in key for letter in "*?["):
        return [_choice(history, index, explicit=False) for index in PassRecord(history).lookup.find_all(key)]
    modules = [name for name in history.module_tree.addresses if name and fnmatch.fnmatchcase(name, key)]
    found = [one for name in modules for one in _of_module(name, history, explicit=False)]
    if not modules:
        every = [_choice(history, index, explicit=False) for index in _computed(history)]
        found = [one for one in every if fnmatch.fnmatchcase(one.label, key)]
    if not found:
        raise LayerNotFoundError(f"no layer answers to {key!r}.")
    return found


def _of_module(address: str, history: ModelHistory, *, explicit: bool) -> list[Choice]:
    passes = [one for one in history.module_tree.passes_of(address) or () if one.output_ops]
    if not passes and explicit:
        PassRecord(history).lookup.find(address)  # says why
        raise LayerNotFoundError(f"module {address!r} gave no tensor that could be kept.")
    return [
        _choice(
            history,
            one.output_ops[0],
            name=address if len(passes) == 1 else f"{address}:{one.pass_num}",
            explicit=explicit,
            call=one.label,
        )
        for one in passes
    ]


def _computed(history: ModelHistory) -> list[int]:
    """All that the model computes: not what it is given, nor buffers; what it returns is there already."""
    ops = map(PassRecord(history).op, range(history.num_tensors_total))
    return [
        op.index
        for op in ops
        if op.has_input_ancestor and not (op.is_input_layer or op.is_buffer_layer or op.is_output_layer)
    ]


class WantedLayers:
    """The layers that are wanted of a model, batch by batch.

    What a module gives is taken at its call, wherever that is among the ops. An op that was asked for itself
    is taken by its number. Where a model takes another way, other ops have these numbers: then the pass is
    gone through once to find it, by the line of the source at which it stands.
    """

    def __init__(self, model: nn.Module, choices: Sequence[Choice]) -> None:
        self._model = model
        self._choices = choices
        self._ops = [choice for choice in choices if choice.place is not None]
        self._now = list(self._ops)  # with the numbers that they had in the last batch
        # In all passes that went to their end. Where one stops early, nobody knows what would have run.
        self._ran = choices[0].ran if choices else frozenset()
        # The interpreter of a script makes an error of its own of what leaves it.
        self._may_stop = not any(isinstance(module, torch.jit.ScriptModule) for module in model.modules())

    def values(self, samples: Samples, seed: int, batch: int) -> list[Tensor]:
        """One tensor for each choice. The pass ends when the last of them is there."""
        again = samples.copied()  # a model may write into what it is given
        try:
            return self.values_and_pass(samples, seed)[0]
        except LayerNotFoundError:
            history = captured(self._model, again.copied(), seed)
        self._ran &= frozenset(modules_that_ran(history))
        now = {}
        for choice, index in zip(self._choices, indices_in(history, self._choices), strict=True):
            if index is None:
                raise _not_there(choice, history, batch, self._ran)
            now[choice.name] = index
        self._now = [replace(choice, index=now[choice.name]) for choice in self._ops]
        del history
        try:
            return self.values_and_pass(again, seed)[0]
        except LayerNotFoundError:
            raise CaptureError(
                f"the model took another way each time that it was given batch {batch}: what it does must "
                "depend on its inputs and its random numbers alone."
            ) from None

    def values_and_pass(self, samples: Samples, seed: int) -> tuple[list[Tensor], ModelHistory]:
        """Raises LayerNotFoundError where one of them is elsewhere, or not there at all."""
        selected = Selection(
            indices={choice.index for choice in self._now},
            addresses={choice.call for choice in self._choices if choice.call},
        )
        stop = Selection(awaited={*selected.indices, *selected.addresses}) if self._may_stop else Selection()
        history = captured(self._model, samples, seed, selected, stop)
        now = {choice.name: choice.index for choice in self._now}
        found = []
        for choice, index in zip(self._choices, indices_in(history, self._choices), strict=True):
            if index is None or now.get(choice.name, index) != index:
                raise LayerNotFoundError(f"{choice.name} is elsewhere.")
            found.append(whole(PassRecord(history).op(index).tensor_contents))
        return found, history


def _not_there(choice: Choice, history: ModelHistory, batch: int, ran: Collection[str]) -> CaptureError:
    """`ran`: the modules that all data went through so far, which alone can be named instead."""
    modules = some_names([name for name in history.module_tree.addresses if name in ran and name])
    address, _, number = (choice.call or choice.scope).rpartition(":")
    inside = address or "the model itself"
    if choice.call:
        passes = history.module_tree.passes_of(address) or ()
        times = f"was called {len(passes)} times" if passes else "was not called"
        what = f"the module {inside} {'gave no tensor' if int(number) <= len(passes) else times} there"
    else:
        what = f"the {choice.layer_type} in {inside} that has this label in the first batch is not there"
    instead = next((name for name in (*choice.modules, address) if name and name in ran), "")
    if instead and not choice.call:
        do = f"Name the module {instead!r} instead: modules are found by their calls"
    elif modules:
        do = f"Name a module instead that runs for all data: all data so far went through {modules}"
    else:
        do = "Make a module of the step, such as nn.ReLU(), and name that: modules are found by their calls"
    return CaptureError(
        f"{choice.name} is missing in batch {batch}: the model takes other ways for other data, and {what}. "
        f"{do}."
    )


def captured(
    model: nn.Module,
    samples: Samples,
    seed: int,
    save: Selection | None = None,
    stop: Selection | None = None,
) -> ModelHistory:
    """A pass with every op, and the values of those to `save`. It ends where `stop` says, if at all."""
    order = Order(
        save=save or Selection(),
        stop=stop or Selection(),
        treatment=ValueTreatment(),
        keep_arguments=False,
        keep_unsaved=True,
    )
    # A batch draws the same random numbers whoever works on it, and whenever.
    seed_everything(seed)
    with torch.no_grad(), running(model):
        return capture(model, ModelWalk(unwrapped_model(model)), order, samples.call)


def batch_seed(seed: int, number: int) -> int:
    """Of one batch: the same whoever works on it, and another for each."""
    return (seed * 1_000_003 + number * 7_919 + 1) % 2**31
