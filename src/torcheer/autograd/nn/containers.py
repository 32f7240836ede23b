"""Modules that hold others: in a row, in a list, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from torcheer.autograd.nn.module import Module
from torcheer.errors import InputError


class _Numbered(Module):
    """Modules as attributes "0", "1", …, so that they are named as in torch."""

    def _all(self) -> list[Module]:
        return [value for value in self.__dict__.values() if isinstance(value, Module)]

    def _renumber(self, modules: list[Module]) -> None:
        for name in [name for name, value in self.__dict__.items() if isinstance(value, Module)]:
            delattr(self, name)
        for place, module in enumerate(modules):
            self.add_module(str(place), module)

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._all())

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return type(self)._of(self._all()[place])
        return self._all()[place]

    def __setitem__(self, place: int, module: Module) -> None:
        names = [name for name, value in self.__dict__.items() if isinstance(value, Module)]
        setattr(self, names[place], module)

    def __delitem__(self, place: int | slice) -> None:
        modules = self._all()
        del modules[place]
        self._renumber(modules)

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        for module in modules:
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, modules: Iterable[Module]) -> Self:
        return type(self)._of([*self, *modules])

    def pop(self, place: int | slice = -1) -> Any:
        taken = self[place]
        del self[place]
        return taken

    def insert(self, place: int, module: Module) -> None:
        modules = self._all()
        modules.insert(place, module)
        self._renumber(modules)

    @classmethod
    def _of(cls, modules: list[Module]) -> Self:
        made = cls()
        made._renumber(modules)
        return made


class Sequential(_Numbered):
    """One after the other: each gets what the one before it gave."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], Mapping) else None
        for name, module in named or ((str(place), one) for place, one in enumerate(modules)):
            self.add_module(name, module)

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x

    def _title(self) -> str:
        return "Sequence"

    def _printed_children(self) -> list[tuple[str, Module]]:
        return [(str(place), module) for place, module in enumerate(self)]


class ModuleList(_Numbered):
    """A list whose modules are found. It computes nothing itself."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)


class ModuleDict(Module):
    """Modules by name. It computes nothing itself."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        super().__init__()
        self.update(modules)

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        for name, module in dict(modules).items():
            self[name] = module

    def __getitem__(self, name: str) -> Module:
        found = self.__dict__.get(name)
        if not isinstance(found, Module):
            raise InputError(f"there is no module {name!r} here, only {', '.join(self) or 'none at all'}.")
        return found

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self.__dict__[name]

    def pop(self, name: str) -> Module:
        taken = self[name]
        del self[name]
        return taken

    def __len__(self) -> int:
        return len(list(self.keys()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: str) -> bool:
        return isinstance(self.__dict__.get(name), Module)

    def keys(self) -> list[str]:
        return [name for name, value in self.__dict__.items() if isinstance(value, Module)]

    def values(self) -> list[Module]:
        return [self[name] for name in self.keys()]

    def items(self) -> list[tuple[str, Module]]:
        return [(name, self[name]) for name in self.keys()]
