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

_UNIT_MODULES = (nn.ReLU, nn.ReLU6)  # whose units can be 0 for good; their values are never negative
_UNIT_BYTES = 16_384
_MOST_SLOTS, _FEWEST_SLOTS = 16, 2
_EXCERPT_SHARE = 0.8  # of a slot, that excerpts may take of it


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
    builder = _Builder(roles, room, known_bytes)
    for name in share.names():
        builder.add_layer(name, share.layers[name])
    for name, tensor in share.tensors.items():
        builder.add_tensor(name, tensor)
    parameters = list(parameters_of(share))
    for role in OBSERVABLE[2:5]:
        if role in roles:
            for layer, local, parameter in parameters:
                # A row for the gradient of a weight says that one is awaited.
                if role == "weight" or parameter.requires_grad:
                    builder.add_parameter(layer, local, parameter, role)
    if "state" in roles:
        for layer, local, parameter in parameters:
            for key in states.get(id(parameter), ()):
                builder.add_state(layer, local, parameter, key)
    return builder.planned([parameter for _, _, parameter in parameters])


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


class _Builder:
    """Collects rows: activations first, then their gradients, then what belongs to parameters."""

    def __init__(self, roles: Collection[Role], room: Room, known_bytes: Mapping[str, int]) -> None:
        self._roles, self._room, self._known_bytes = roles, room, known_bytes
        self._activations: list[Row] = []
        self._gradients: list[Row] = []
        self._others: list[tuple[Row, Tensor | None, str]] = []

    def add_layer(self, name: str, module: nn.Module) -> None:
        of_layer = {"layer": name, "module": type(module).__name__}
        if "activation" in self._roles:
            units = _UNIT_BYTES if isinstance(module, _UNIT_MODULES) else 0
            act = named(name, "Act")
            self._activations.append(self._row(act, "Act", "activation", of_layer, unit_bytes=units))
        if "gradient" in self._roles:
            self._gradients.append(self._row(named(name, "Grad"), "Grad", "gradient", of_layer))

    def add_tensor(self, name: str, tensor: Tensor) -> None:
        row = self._row(name, "", "tensor", {"layer": name, "module": ""}, tensor)
        self._others.append((row, None, "tensor"))
        if tensor.requires_grad:
            self._gradients.append(
                self._row(f"{name}.Grad", "Grad", "gradient", {"layer": name, "module": ""}, tensor)
            )

    def add_parameter(self, layer: str, local: str, parameter: Tensor, role: Role) -> None:
        ending = {"weight": "", "weight_gradient": ".Grad", "update": ".Delta"}[role]
        variable = f"{local}{ending}"
        row = self._row(named(layer, variable), variable, role, {"layer": layer, "module": ""}, parameter)
        self._others.append((row, parameter, role))

    def add_state(self, layer: str, local: str, parameter: Tensor, key: str) -> None:
        variable = f"{local}.{key}"
        row = self._row(named(layer, variable), variable, "state", {"layer": layer, "module": ""}, parameter)
        self._others.append((row, parameter, f"state {key}"))

    def planned(self, parameters: list[Tensor]) -> Planned:
        rows = [*self._activations, *self._gradients, *(row for row, _, _ in self._others)]
        places = {row.name: place for place, row in enumerate(rows)}
        of: dict[int, dict[str, int]] = {}
        for row, parameter, what in self._others:
            if parameter is not None:
                of.setdefault(id(parameter), {})[what] = places[row.name]
        plan = _fitted(rows, self._room)
        return Planned(
            plan=plan,
            unlimited=frozenset(
                place for place, row in enumerate(rows) if plan.rows[place].excerpt_bytes == row.excerpt_bytes
            ),
            activations={row.layer: places[row.name] for row in self._activations},
            gradients={row.layer: places[row.name] for row in self._gradients},
            parameters=[_rows_of(parameter, of.get(id(parameter), {})) for parameter in parameters],
            tensors={row.name: places[row.name] for row, _, what in self._others if what == "tensor"},
            trained=tuple(parameter.requires_grad for parameter in parameters),
        )

    def _row(
        self,
        name: str,
        variable: str,
        role: Role,
        of_layer: dict[str, str],
        tensor: Tensor | None = None,
        unit_bytes: int = 0,
    ) -> Row:
        room, num_bytes = self._room, 0
        if room.tensors is not None:
            num_bytes = 4 * room.excerpt_elements
        if room.tensors == "whole":
            of_tensor = 0 if tensor is None else tensor.numel() * tensor.element_size()
            num_bytes = max(num_bytes, of_tensor, self._known_bytes.get(name, 0))
        return Row(
            name=name,
            variable=variable,
            role=role,
            excerpt_bytes=num_bytes,
            unit_bytes=unit_bytes,
            shape=tuple(tensor.shape) if role == "weight" and tensor is not None else None,
            **of_layer,
        )


def _rows_of(parameter: Tensor, rows: dict[str, int]) -> ParameterRows:
    return ParameterRows(
        parameter=parameter,
        weight=rows.get("weight"),
        gradient=rows.get("weight_gradient"),
        update=rows.get("update"),
        states={what.removeprefix("state "): row for what, row in rows.items() if what.startswith("state ")},
    )


def _fitted(rows: list[Row], room: Room) -> Plan:
    """As many slots as there is memory for; where that would be less than two, the largest rows are cut."""

    def plan(rows: list[Row], num_slots: int) -> Plan:
        return Plan(number=0, rows=tuple(rows), sample_elements=room.sample_elements, num_slots=num_slots)

    most_bytes = max(room.ring_bytes, room.most_bytes) // _FEWEST_SLOTS
    slot_bytes = Layout(plan(rows, 0)).num_bytes
    while slot_bytes > most_bytes and any(row.excerpt_bytes > 64 for row in rows):
        over = slot_bytes - int(_EXCERPT_SHARE * most_bytes)
        limit = _limit([row.excerpt_bytes for row in rows], over)
        rows = [_replaced(row, limit) for row in rows]
        slot_bytes = Layout(plan(rows, 0)).num_bytes
    num_slots = max(_FEWEST_SLOTS, min(_MOST_SLOTS, room.ring_bytes // max(1, slot_bytes)))
    return plan(rows, num_slots)


def _limit(sizes: list[int], over: int) -> int:
    """The size above which all must be cut to save so many bytes."""
    sizes = sorted(sizes, reverse=True)
    cut = 0
    for index, size in enumerate(sizes):
        below = sizes[index + 1] if index + 1 < len(sizes) else 0
        if cut + (index + 1) * (size - below) >= over:
            return max(64, size - (over - cut) // (index + 1))
        cut += (index + 1) * (size - below)
    return 64


def _replaced(row: Row, limit: int) -> Row:
    if row.excerpt_bytes <= limit:
        return row
    return msgspec.structs.replace(row, excerpt_bytes=limit)
