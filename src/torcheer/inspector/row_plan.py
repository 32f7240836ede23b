"""From layers, parameters and tensors to rows: what is looked at in each step, and how much room it has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torcheer.errors import InputError
from torcheer.inspector.frame_format import Layout, Plan, Role, Row

OBSERVABLE: Final[tuple[Role, ...]] = (
    "activation",
    "gradient",
    "weight",
    "weight_gradient",
    "update",
    "state",
)
Tensors = Literal["sample", "whole"] | None

_ENDINGS: Final = {"weight": "", "weight_gradient": ".Grad", "update": ".Delta"}  # of their names
_UNIT_MODULES = (nn.ReLU, nn.ReLU6)  # whose units can be 0 for good; their values are never negative
_UNIT_BYTES = 16_384
_MOST_SLOTS, _FEWEST_SLOTS = 16, 2
_LEAST_EXCERPT_BYTES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much of what is seen goes to the child."""

    tensors: Tensors = "sample"
    sample_elements: int = 512
    excerpt_elements: int = 1000  # two such records fit into a page of the database
    ring_bytes: int = 64 << 20  # that are enough for what is usual
    most_bytes: int = 64 << 20  # that it takes where two frames would not fit into less
    copied_bytes: int = 1 << 30  # of weights as they were before an update, to tell what it changed
    exact: bool = False  # all figures are of whole tensors


@dataclass(slots=True, kw_only=True)
class Share:
    """What one child watches."""

    layers: dict[str, nn.Module] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)  # of the layers, as the model calls them, once it is known

    def names(self) -> list[str]:
        """The layers in the order in which they are called, as far as that is known."""
        places = {name: place for place, name in enumerate(self.order)}
        return sorted(self.layers, key=lambda name: places.get(name, len(places)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRows:
    """The rows of one parameter; None where one is not asked for."""

    parameter: Tensor
    weight: int | None
    gradient: int | None
    update: int | None
    states: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan, and which row is whose."""

    plan: Plan
    activations: dict[str, int]
    gradients: dict[str, int]
    parameters: list[ParameterRows]
    tensors: dict[str, int]
    trained: tuple[bool, ...]  # which of the parameters, when the plan was made
    unlimited: frozenset[int]  # rows that have all the room that they were known to need

    def is_outdated(self) -> bool:
        """Whether a parameter was frozen, or thawed."""
        return self.trained != tuple(rows.parameter.requires_grad for rows in self.parameters)


def observed(observe: Any) -> frozenset[Role]:
    """What was asked for, by the names of roles; `'all'` or None for everything."""
    if observe is None or (isinstance(observe, str) and observe == "all"):
        return frozenset(OBSERVABLE)
    names = [observe] if isinstance(observe, str) else list(observe)
    known: dict[str, Role] = {}
    for role in OBSERVABLE:
        known[role] = known[f"{role}s"] = role
    for name in names:
        if name not in known:
            raise InputError(f"observe names {name!r}: give some of {', '.join(OBSERVABLE)}, or 'all'.")
    if not names:
        raise InputError(f"observe is empty: give some of {', '.join(OBSERVABLE)}, or 'all'.")
    return frozenset(known[name] for name in names)


def planned(
    share: Share,
    roles: Collection[Role],
    states: Mapping[int, Collection[str]],
    room: Room,
    known_bytes: Mapping[str, int],
) -> Planned:
    """`states` are tensors of the optimizer by the id of a parameter; `known_bytes` what whole rows take."""
    rows: list[Row] = []

    def add(role: Role, layer: str, variable: str, tensor: Tensor | None = None, **more: Any) -> int:
        name = named(layer, variable) if variable else layer
        num_bytes = 0 if room.tensors is None else 4 * room.excerpt_elements
        if room.tensors == "whole":
            of_tensor = 0 if tensor is None else tensor.numel() * tensor.element_size()
            num_bytes = max(num_bytes, of_tensor, known_bytes.get(name, 0))
        shape = tuple(tensor.shape) if role == "weight" and tensor is not None else None
        row = Row(
            name=name, layer=layer, variable=variable, role=role, excerpt_bytes=num_bytes, shape=shape, **more
        )
        rows.append(row)
        return len(rows) - 1

    layers = [(name, share.layers[name]) for name in share.names()]
    activations, gradients = {}, {}
    for name, module in layers if "activation" in roles else ():
        units = _UNIT_BYTES if isinstance(module, _UNIT_MODULES) else 0
        kind = type(module).__name__
        activations[name] = add("activation", name, "Act", module=kind, unit_bytes=units)
    for name, module in layers if "gradient" in roles else ():
        gradients[name] = add("gradient", name, "Grad", module=type(module).__name__)
    for name, tensor in share.tensors.items():
        if tensor.requires_grad:
            gradients[name] = add("gradient", name, "Grad", tensor)
    tensors = {name: add("tensor", name, "", tensor) for name, tensor in share.tensors.items()}
    parameters = parameters_of(share)
    found: list[dict[Role, int]] = [{} for _ in parameters]
    for role in OBSERVABLE[2:5]:
        for (layer, local, parameter), of_parameter in zip(parameters, found, strict=True):
            # A row for the gradient of a weight says that one is awaited.
            if role in roles and (role == "weight" or parameter.requires_grad):
                of_parameter[role] = add(role, layer, local + _ENDINGS[role], parameter)
    kept = [
        {
            key: add("state", layer, f"{local}.{key}", parameter)
            for key in (states.get(id(parameter), ()) if "state" in roles else ())
        }
        for layer, local, parameter in parameters
    ]
    plan = _fitted(rows, room)
    return Planned(
        plan=plan,
        unlimited=frozenset(
            index for index, row in enumerate(rows) if plan.rows[index].excerpt_bytes == row.excerpt_bytes
        ),
        activations=activations,
        gradients=gradients,
        parameters=[
            ParameterRows(
                parameter=parameter,
                weight=of_parameter.get("weight"),
                gradient=of_parameter.get("weight_gradient"),
                update=of_parameter.get("update"),
                states=of_states,
            )
            for (_, _, parameter), of_parameter, of_states in zip(parameters, found, kept, strict=True)
        ],
        tensors=tensors,
        trained=tuple(parameter.requires_grad for _, _, parameter in parameters),
    )


def parameters_of(share: Share) -> list[tuple[str, str, Tensor]]:
    """Each parameter once, under the first of its names in the model, in the order of the layers."""
    seen: set[int] = set()
    found: list[tuple[str, str, Tensor]] = []
    for layer, module in share.layers.items():
        for local, parameter in module.named_parameters(recurse=False):
            if id(parameter) not in seen and not is_lazy(parameter):
                seen.add(id(parameter))
                found.append((layer, local, parameter))
    places = {name: place for place, name in enumerate(share.names())}
    return sorted(found, key=lambda known: places[known[0]])


def named(layer: str, variable: str) -> str:
    """The name of a row. What is the model's own stands by itself, as in its state_dict."""
    return f"{layer}.{variable}" if layer else variable


def _fitted(rows: list[Row], room: Room) -> Plan:
    """As many slots as there is memory for; where that would be less than two, the largest rows are cut."""

    def plan(num_slots: int, limit: int) -> Plan:
        cut = (
            msgspec.structs.replace(row, excerpt_bytes=limit) if row.excerpt_bytes > limit else row
            for row in rows
        )
        return Plan(number=0, rows=tuple(cut), sample_elements=room.sample_elements, num_slots=num_slots)

    most_bytes = max(room.ring_bytes, room.most_bytes) // _FEWEST_SLOTS
    limit = max((row.excerpt_bytes for row in rows), default=0)
    while (slot_bytes := Layout(plan(0, limit)).num_bytes) > most_bytes and limit > _LEAST_EXCERPT_BYTES:
        limit = limit * 3 // 4
    num_slots = max(_FEWEST_SLOTS, min(_MOST_SLOTS, room.ring_bytes // max(1, slot_bytes)))
    return plan(num_slots, limit)
