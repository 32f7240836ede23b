"""The tape of a pass that was loaded from a file: its values are read when they are asked for."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from torch import Tensor

from torcheer.capture.aten import AtenCall
from torcheer.capture.keeping.stored import StoredTensor
from torcheer.capture.keeping.storedbackward import LazyTensors
from torcheer.capture.keeping.storedvalues import make_value
from torcheer.capture.keeping.tensorfile import TensorFile
from torcheer.capture.layers import Numbering
from torcheer.capture.tape import Context, Meta, Read, Record, Tape
from torcheer.errors import InputError
from torcheer.graph import LabelBook, LayerBook


class Reader:
    """Makes values of a file, each once for as long as somebody holds it."""

    def __init__(self, file: TensorFile) -> None:
        self.file = file
        self._held: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()

    def value(self, stored: StoredTensor) -> Tensor:
        # The rows live as long as the pass, so an id is a row's own.
        value = self._held.get(id(stored))
        if value is None:
            value = self._held[id(stored)] = make_value(stored, self.file)
        return value


class StoredValues(Sequence[Tensor | None]):
    """The value of each op, read from the file when it is asked for."""

    def __init__(self, rows: list[StoredTensor | None], reader: Reader) -> None:
        self.rows = rows
        self._reader = reader

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Tensor | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tensor | None]: ...
    def __getitem__(self, index: int | slice) -> Tensor | list[Tensor | None] | None:
        if isinstance(index, slice):
            return [self._value(row) for row in self.rows[index]]
        return self._value(self.rows[index])

    def _value(self, row: StoredTensor | None) -> Tensor | None:
        return None if row is None else self._reader.value(row)


class StoredTreated(dict[int, Any]):
    """What a postfunc returned, by op: made when it is asked for."""

    def __init__(self, makers: dict[int, Callable[[], Any]]) -> None:
        super().__init__(makers)

    def __getitem__(self, op: int) -> Any:
        return super().__getitem__(op)()

    def get(self, op: int, default: Any = None) -> Any:
        return self[op] if op in self.keys() else default  # this is `get`

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        return (self[op] for op in self)

    def items(self) -> Iterator[tuple[int, Any]]:  # type: ignore[override]
        return ((op, self[op]) for op in self)


class StoredContext(Context):
    """What was special about a call; a random state is read when it is asked for."""

    __slots__ = ()

    @property
    def rng(self) -> tuple[str, Any] | None:
        kept: tuple[str, Callable[[], Tensor]] | None = tuple.__getitem__(self, 0)
        return None if kept is None else (kept[0], kept[1]())


class NoParamValues(dict[int, Tensor]):
    """The file has the outlines of parameters and not their values."""

    def get(self, index: int, default: Any = None) -> Any:
        return None


class StoredTape(Tape):
    """Has what a tape has after its pass; nothing can be recorded on it."""

    was_loaded = True

    def __init__(
        self,
        *,
        reader: Reader,
        records: list[Record],
        metas: dict[int, Meta],
        values: list[StoredTensor | None],
        reads: list[Read],
        addresses: dict[int, str],
        params: list[tuple[str, Tensor]],
        warnings: list[str],
        aten: dict[int, tuple[AtenCall, ...]] | None,
        unedited: dict[int, StoredTensor],
        edited_at: dict[int, int],
    ) -> None:
        # Not the tape's own: that one gets ready to record.
        self.file = reader.file
        self.records = records
        self.metas = metas
        self.values = StoredValues(values, reader)  # type: ignore[assignment]
        self.reads = reads
        self.addresses = addresses
        self.params = params
        self.param_values = NoParamValues()
        self.warnings = warnings
        self.input_tensors = {}
        self.private = set()
        self.edges = self.editor = None
        self.aten = aten
        self.unedited = LazyTensors(unedited, reader.value)
        self.edited_at = edited_at
        self.edges_before_writes = {}
        self.extras = []
        self.other_threads = None
        self.keep_all = self.copy_all = False
        self._rows = values

    @property
    def param_versions(self) -> list[int | None]:  # type: ignore[override]
        """Asked for by a validation, before it runs anything again."""
        raise InputError(
            f"this history was loaded from {self.file.path}, which has no functions and no parameters: "
            "its ops cannot be run again. Validate a history before it is saved."
        )

    def has_value(self, index: int) -> bool:
        row = self._rows[index]
        return row is not None and row.kind != "meta"

    def meta(self, index: int) -> Meta:
        return self.metas[index]


class StoredNumbering(Numbering):
    """The layers and labels as they were when the pass was saved."""

    def __init__(self, layers: Sequence[int], types: Sequence[str]) -> None:
        # Not the numbering's own: there is no code to number by.
        self.layers, self.labels = LayerBook(), LabelBook()
        self.is_certain = True
        for layer, layer_type in zip(layers, types, strict=True):
            if layer == len(self.layers.num_passes):
                self.layers.new_layer()
                self.labels.add(layer_type)
            self.layers.append(layer)

    def finish(self) -> None:
        """It is."""

    def follow(self) -> None:
        """Nothing runs any more."""

    def as_of_now(self) -> Numbering:
        return self
