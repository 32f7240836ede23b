"""Which tensors share memory: copy what was kept before it is written over.

Values are kept by reference. Before an op writes into a tensor, every kept value on the same memory is
replaced by a copy of its own, and every other live tensor on it is marked stale, so that its next use shows
what was written. Nothing is looked up until the first write of a pass.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

if TYPE_CHECKING:
    from torcheer.capture.tape import Tape


_functorch = torch._C._functorch
_storage_address: Callable[[Tensor], int] = torch._C._storage_address  # type: ignore[attr-defined]

BatchDims = tuple[tuple[int, int], ...]


def storage_key(tensor: Tensor) -> int | None:
    """Equal for tensors on the same memory; None where a tensor has no single storage (sparse…)."""
    real = unwrapped(tensor)
    if not is_strided(real):
        return None
    try:
        return _storage_address(real)
    except (RuntimeError, NotImplementedError):
        return None


def unwrapped(tensor: Tensor) -> Tensor:
    """The real tensor under vmap's and grad's wrappers."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


def grad_fn_of(tensor: Tensor) -> Any:
    """The node of autograd that made a tensor. None where torch refuses to say it.

    It does for one of several views (`chunk`, `unbind`) whose base was written past autograd.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def batch_dims(tensor: Tensor) -> BatchDims:
    """Over which dimensions vmap has batched a tensor: (level, dimension), outermost vmap first."""
    dims: list[tuple[int, int]] = []
    while _functorch.is_functorch_wrapped_tensor(tensor):
        if _functorch.is_batchedtensor(tensor):
            dims.append((_functorch.maybe_get_level(tensor), _functorch.maybe_get_bdim(tensor)))
        tensor = _functorch.get_unwrapped(tensor)
    return tuple(reversed(dims))


class Geometry(NamedTuple):
    """Where on its storage a tensor's elements lie."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


def geometry_of(tensor: Tensor) -> Geometry:
    real = unwrapped(tensor)
    if not is_strided(real):
        return Geometry((), (), 0)
    return Geometry(tuple(real.shape), tuple(real.stride()), int(real.storage_offset()))


def is_twin(a: Tensor, b: Tensor) -> bool:
    """Whether two tensor objects show the same numbers of one storage in the same shape."""
    key = storage_key(a)
    return (
        key is not None and key == storage_key(b) and a.dtype == b.dtype and geometry_of(a) == geometry_of(b)
    )


def overlap(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors on one storage have a byte in common; also True where that is too hard to say."""
    a, b = unwrapped(a), unwrapped(b)
    if a.numel() == 0 or b.numel() == 0:
        return False
    try:
        # NumPy looks at the geometry alone: neither these addresses nor the tensors are read.
        outlines = numpy.asarray(_Outline(a)), numpy.asarray(_Outline(b))
        return numpy.shares_memory(*outlines, max_work=10**6)  # type: ignore[arg-type]
    except (numpy.exceptions.TooHardError, ValueError):  # ValueError: an outline larger than NumPy counts
        return True


class _Outline:
    """A tensor as NumPy sees an array: where its elements lie, counted from the start of its storage."""

    def __init__(self, tensor: Tensor) -> None:
        size = tensor.element_size()
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{size}",
            "shape": tuple(tensor.shape),
            "strides": tuple(step * size for step in tensor.stride()),
            "data": (_SOMEWHERE + tensor.storage_offset() * size, True),
        }


_SOMEWHERE = 4096  # an address that is not null


def element_range(tensor: Tensor) -> tuple[int, int]:
    """The first and the last element of its storage that a tensor reaches."""
    shape, stride, offset = geometry_of(tensor)
    return offset, offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def byte_range(tensor: Tensor) -> tuple[int, int]:
    """The same in bytes, for tensors of any type."""
    real = unwrapped(tensor)
    first, last = element_range(real)
    size = real.element_size()
    return first * size, last * size + size - 1


def private_copy(tensor: Tensor) -> Tensor:
    """The same numbers in memory of their own; gradients still flow where they did."""
    real = unwrapped(tensor)
    if is_freed(real):
        return torch.zeros(real.shape, dtype=real.dtype, device=real.device)
    try:
        return real.clone()
    except RuntimeError:
        # A view whose base was written over has no place in the autograd graph any more.
        return real.detach().clone()


def has_data(tensor: Tensor) -> bool:
    """Whether there are numbers behind a tensor: not so on the meta device, or under FakeTensorMode."""
    return not tensor.is_meta and type(tensor).__name__ != "FakeTensor"


def is_strided(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested


def is_freed(tensor: Tensor) -> bool:
    """Whether somebody has let its memory go, as FSDP does: it cannot be read."""
    if not is_strided(tensor) or not has_data(tensor) or not tensor.numel():
        return False
    try:
        return tensor.untyped_storage().nbytes() == 0
    except (RuntimeError, NotImplementedError):  # a wrapper has none of its own
        return False


def shape_of(tensor: Tensor) -> torch.Size:
    """Its shape; of a nested tensor without one shape, how many parts it has."""
    if tensor.is_nested:
        return torch.Size((tensor.size(0),))
    return tensor.shape


def plain_size(size: Any) -> int:
    """A size as a number; -1 where it differs from part to part, as in a nested tensor."""
    try:
        return int(size)
    except Exception:
        return -1


def version_of(tensor: Tensor) -> int:
    """How often its memory was written in place, as torch counts; 0 where torch does not."""
    try:
        return tensor._version
    except RuntimeError:  # made in inference mode
        return 0


def num_bytes(tensor: Tensor) -> int:
    try:
        parts = [tensor] if is_strided(tensor) else _parts(tensor)
        return sum(part.numel() * part.element_size() for part in parts)
    except (RuntimeError, NotImplementedError):
        return 0


def _parts(tensor: Any) -> list[Tensor]:
    """The tensors that a sparse or nested one is made of."""
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return list(tensor.unbind())


class Write(NamedTuple):
    """An op that wrote, and where."""

    op: int
    geometry: Geometry


class Lying(NamedTuple):
    """An op whose tensor lies on a storage."""

    op: int
    # Of a tensor that nobody keeps alive: what tells its storage from another one at the same address, and
    # where on it the tensor lies.
    storage: StorageWeakRef | None = None
    place: tuple[Geometry, torch.dtype] | None = None

    def still_there(self) -> bool:
        return self.storage is not None and not self.storage.expired()  # type: ignore[no-untyped-call]


class Alias(NamedTuple):
    """A known op on whose memory an unknown tensor lies."""

    op: int
    geometry: Geometry
    is_twin: bool  # both show the same numbers in the same shape


class SharedMemory:
    """Who lies on which storage, and which of them was written through another."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._by_storage: dict[int, list[Lying]] = {}
        self._num_ops_seen = 0
        self._num_params_seen = 0
        self._laid: set[int] = set()
        self._exposed: set[int] = set()
        self._shadows: dict[int, Tensor] = {}  # what tensors on exposed memory last held
        self._by_grad_fn: dict[object, int] = {}
        self._num_graph_seen = 0
        self._versions: dict[int | None, set[int]] = {}
        self.stale: dict[int, list[Write]] = {}

    def live(self, index: int) -> Tensor | None:
        """The tensor that an op made, if the model still has it."""
        tape = self._tape
        if index < 0:
            return tape.params[-index - 1][1]
        ref = tape.refs.get(index)
        tensor = None if ref is None else ref()
        if tensor is None and index not in tape.private:
            tensor = tape.values[index]
        return tensor

    def before_write(self, target: Tensor, *, may_grow: bool = False) -> list[int]:
        """Copy what is kept on the target's memory; returns the other ops whose tensors change with it."""
        key = storage_key(target)
        if key is None or (not may_grow and _num_owners(key) == 1 and key not in self._by_storage):
            self._protect_itself(target)
            return []
        copies: dict[int, Tensor] = {}
        stay: list[Lying] = []
        changed: list[int] = []
        for lying in self._on_storage(key):
            tensor = self.live(lying.op)
            if tensor is target or tensor is None:
                self._protect(lying.op, copies)
                continue
            stay.append(lying)
            if may_grow:
                self._protect(lying.op, copies)  # `out=` may make its target larger, over its neighbours
            if overlap(tensor, target):
                changed.append(lying.op)
                self._protect(lying.op, copies)
        self._by_storage[key] = stay
        return changed

    def lying_under(self, target: Tensor, but: int) -> list[int]:
        """Ops whose tensors a target lies on that has just grown."""
        key = storage_key(target)
        found = [] if key is None else [lying.op for lying in self._on_storage(key) if lying.op != but]
        live = [(op, self.live(op)) for op in found]
        return [
            op
            for op, tensor in live
            if tensor is not None and tensor is not target and overlap(tensor, target)
        ]

    def before_side_write(self, target: Tensor, op: int) -> list[int]:
        """The same for a write that makes no node of its own: the target's next use shows it."""
        changed = [*self.before_write(target), op]
        key = storage_key(target)
        if key is not None:
            self._by_storage.setdefault(key, []).append(Lying(op))
        return changed

    def note_version(self, tensor: Tensor, ahead: int = 0) -> None:
        """This state of a tensor's memory is one that we know of; `ahead`: torch is yet to count it."""
        version = version_of(unwrapped(tensor))
        if version or ahead:
            self._versions.setdefault(storage_key(tensor), set()).update((version, version + ahead))

    def surprises(self) -> list[int]:
        """Ops whose kept value was written since by something that nobody saw."""
        found: list[int] = []
        for index, value in enumerate(self._tape.values):
            if value is not None and index not in self._tape.private:
                version = version_of(value)
                if version and version not in self._versions.get(storage_key(value), ()):
                    found.append(index)
        return found

    def after_write(self, changed: list[int], write: int, target: Tensor, ahead: int = 0) -> None:
        self.note_version(target, ahead)
        for index in changed:
            self.stale.setdefault(index, []).append(Write(write, geometry_of(target)))

    def expose(self, tensor: Tensor) -> None:
        """Somebody outside torch may write into this memory from now on."""
        key = storage_key(tensor)
        if key is None:
            return
        copies: dict[int, Tensor] = {}
        for lying in self._on_storage(key):
            self._protect(lying.op, copies)
            known = self.live(lying.op)
            if known is not None and lying.op >= 0:
                self._shadows[lying.op] = private_copy(known)
        self._exposed.add(key)

    def is_exposed(self, tensor: Tensor) -> bool:
        if self._tape.copy_all:
            return True
        return bool(self._exposed) and storage_key(tensor) in self._exposed

    def was_changed_outside(self, index: int, tensor: Tensor) -> bool:
        if index < 0 or not self.is_exposed(tensor) or is_freed(unwrapped(tensor)):
            return False
        shadow = self._shadows.get(index, self._tape.values[index])
        return shadow is not None and not shadow.equal(unwrapped(tensor))

    def find_alias(self, tensor: Tensor) -> Alias | None:
        """The newest op, or a parameter, whose tensor lies, or lay, on the same memory."""
        key = storage_key(tensor)
        if key is None or not tensor.numel():
            return None
        place, bits = _place_of(tensor), (tensor.is_conj(), tensor.is_neg())
        newest: Alias | None = None
        for lying in reversed(self._on_storage(key)):
            known = self.live(lying.op)
            if known is None:
                # The tensor object is gone, its memory is not: a new object on it was made out of sight.
                if lying.place == place and lying.still_there():
                    return Alias(lying.op, place[0], is_twin=True)
            elif known is tensor or (_place_of(known) == place and bits == (known.is_conj(), known.is_neg())):
                return Alias(lying.op, place[0], is_twin=True)
            elif newest is None and overlap(known, tensor):
                newest = Alias(lying.op, geometry_of(known), is_twin=False)
        return newest

    def add_twin(self, index: int, tensor: Tensor) -> None:
        """Another tensor object that shows just what this op made: from now on it stands for it."""
        if self._tape.values[index] is not tensor or index in self._tape.refs:
            self._tape.refs[index] = weakref.ref(tensor)

    def parents_by_graph(self, tensor: Tensor) -> tuple[int, ...]:
        """The recorded ops from which autograd's own graph reaches a tensor that nobody saw being made."""
        self._read_graph()
        found: list[int] = []
        queue = [grad_fn_of(tensor)]
        seen: set[object] = set()
        while queue and len(seen) < 1000:
            node = queue.pop(0)
            if node is None or node in seen:
                continue
            seen.add(node)
            index = self._by_grad_fn.get(node)
            leaf = getattr(node, "variable", None)
            if index is None and leaf is not None:
                index = self._tape.owner.get(id(leaf))
            if index is not None:
                found.append(index)
            else:
                queue.extend(following for following, _ in node.next_functions)
        return tuple(dict.fromkeys(found))

    def _read_graph(self) -> None:
        for index in range(self._num_graph_seen, len(self._tape.records)):
            tensor = self.live(index)
            node = None if tensor is None else grad_fn_of(tensor)
            if node is not None:
                self._by_grad_fn[node] = index
        self._num_graph_seen = len(self._tape.records)

    def _protect_itself(self, target: Tensor) -> None:
        """No other tensor lies on this memory: only ops that gave this very object are to be protected."""
        copies: dict[int, Tensor] = {}
        index = self._tape.owner.get(id(target))
        if not self._tape.keep_all and (index is None or index >= 0):
            return  # what is kept of such a pass is a copy already
        # What came before a protected op on the same object was protected with it.
        while index is not None and index not in self._tape.private and self.live(index) is target:
            self._protect(index, copies)
            if index < 0:
                return
            parents = self._tape.records[index].parents
            index = next((p for p in parents if self.live(p) is target), None)

    def _on_storage(self, key: int) -> list[Lying]:
        self._catch_up()
        return self._by_storage.get(key, [])

    def _protect(self, index: int, copies: dict[int, Tensor]) -> None:
        tape = self._tape
        value = tape.params[-index - 1][1] if index < 0 else tape.values[index]
        if value is None or index in tape.private or index in tape.param_values:
            return
        copy = copies.get(id(value))
        if copy is None:
            copy = copies[id(value)] = private_copy(value)
        if index < 0:
            tape.param_values[index] = copy
        else:
            tape.privatise(index, copy)

    def _catch_up(self) -> None:
        for index in range(self._num_ops_seen, len(self._tape.values)):
            if index not in self._laid:
                self._lay(index, self.live(index))
        self._num_ops_seen = len(self._tape.values)
        for position in range(self._num_params_seen, len(self._tape.params)):
            self._lay(-position - 1, self._tape.params[position][1])
        self._num_params_seen = len(self._tape.params)

    def _lay(self, index: int, tensor: Tensor | None) -> None:
        key = None if tensor is None else storage_key(tensor)
        if key is not None and tensor is not None:
            self._by_storage.setdefault(key, []).append(Lying(index))

    def unlay(self, index: int, tensor: Tensor) -> None:
        """The op's tensor is another one from now on."""
        key = storage_key(tensor)
        if key is not None and key in self._by_storage:
            self._by_storage[key] = [lying for lying in self._by_storage[key] if lying.op != index]

    def lay_again(self, index: int, tensor: Tensor) -> None:
        """An op's tensor was replaced by another one, after it had been looked at."""
        if index < self._num_ops_seen and index not in self._laid:
            self._lay(index, tensor)

    def lay_now(self, index: int, tensor: Tensor) -> None:
        """Remember where a tensor lies that nobody keeps alive: later it may be too late to ask."""
        self._laid.add(index)
        key = storage_key(tensor)
        if key is None:
            return
        storage = StorageWeakRef(unwrapped(tensor).untyped_storage())  # type: ignore[no-untyped-call]
        others = self._by_storage.get(key, [])
        if others and others[-1].storage is not None and not others[-1].still_there():
            others = []  # another storage, at the address of one that is gone
        others.append(Lying(index, storage, _place_of(tensor)))
        self._by_storage[key] = others
        if self.is_exposed(tensor):
            self._shadows[index] = private_copy(tensor)


_num_owners = torch._C._storage_Use_Count


def _place_of(tensor: Tensor) -> tuple[Geometry, torch.dtype]:
    return geometry_of(tensor), unwrapped(tensor).dtype
