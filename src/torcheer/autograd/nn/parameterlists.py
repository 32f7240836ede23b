"""Parameters that a module holds by number or by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from torch import Tensor

from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.parameter import Parameter
from torcheer.errors import InputError


def _parameter(value: Any) -> Parameter:
    """Other tensors become parameters, as torch has it."""
    if not isinstance(value, Tensor):
        raise InputError(f"parameters are tensors, not a {type(value).__name__}: nn.Parameter(torch.…).")
    return value if isinstance(value, Parameter) else Parameter(value)


class ParameterList(Module):
    """Parameters as attributes "0", "1", …, so that they are named as in torch."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def append(self, value: Any) -> Self:
        setattr(self, str(len(self)), _parameter(value))
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        for one in values:
            self.append(one)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __len__(self) -> int:
        return len(self._own_parameters())

    def __iter__(self) -> Iterator[Parameter]:
        return iter([value for _, value in self._own_parameters()])

    def __getitem__(self, place: int | slice) -> Any:
        found = list(self)[place]
        return ParameterList(found) if isinstance(place, slice) else found

    def __setitem__(self, place: int, value: Any) -> None:
        setattr(self, str(range(len(self))[place]), _parameter(value))


class ParameterDict(Module):
    """Parameters by name."""

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        for name, value in dict(parameters).items():
            self[name] = value

    def __getitem__(self, name: str) -> Parameter:
        found = self.__dict__.get(name)
        if not isinstance(found, Parameter):
            raise InputError(f"there is no parameter {name!r} here, only {', '.join(self) or 'none at all'}.")
        return found

    def __setitem__(self, name: str, value: Any) -> None:
        if not name or "." in name or (hasattr(self, name) and name not in self.__dict__):
            raise InputError(f"{name!r} cannot be the name of a parameter here: take another.")
        setattr(self, name, _parameter(value))

    def __delitem__(self, name: str) -> None:
        del self.__dict__[name]

    def __len__(self) -> int:
        return len(self._own_parameters())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: str) -> bool:
        return isinstance(self.__dict__.get(name), Parameter)

    def keys(self) -> list[str]:
        return [name for name, _ in self._own_parameters()]

    def values(self) -> list[Parameter]:
        return [value for _, value in self._own_parameters()]

    def items(self) -> list[tuple[str, Parameter]]:
        return self._own_parameters()
