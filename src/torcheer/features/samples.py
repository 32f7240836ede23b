"""A batch, taken apart: how the model is called, and what belongs to each sample: label, id, tokens."""

from __future__ import annotations

import inspect
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from torcheer.capture import Call, map_tensors, tensors_in
from torcheer.errors import InputError
from torcheer.features.stores import Array, raw_bytes
from torcheer.models import TARGET_NAMES, moved, num_items_of, unwrapped_model


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """Some samples, as they go into the model."""

    call: Call
    num_samples: int
    labels: Any = None
    ids: Any = None
    names: tuple[str, ...] = ()  # of what forward takes by place

    @property
    def checksum(self) -> str:
        """Of what goes into the model: other data give another one."""
        total = 0
        for _, tensor in tensors_in((self.call.args, self.call.kwargs)):
            total = checksum_of(tensor, total)
        return f"{total:08x}"

    @property
    def mask(self) -> Tensor | None:
        """Which tokens count: samples by tokens. None where the batch has no tokens."""
        return self.mask_in("")

    def mask_in(self, scope: str) -> Tensor | None:
        """The decoder of a model with two sequences has tokens of its own."""
        is_decoder = "decoder" in re.split(r"[.:]", scope) and self._given("decoder_input_ids") is not None
        prefix = "decoder_" if is_decoder else ""
        found = self._given(f"{prefix}attention_mask")
        if isinstance(found, Tensor) and found.ndim == 2 and found.shape[0] == self.num_samples:
            return found.detach().to(torch.bool).cpu()
        tokens = self._tokens(f"{prefix}input_ids", is_first=not prefix)
        return None if tokens is None else torch.ones(tokens.shape, dtype=torch.bool, device="cpu")

    def _given(self, name: str) -> Any:
        by_place = dict(zip(self.names, self.call.args, strict=False))
        return self.call.kwargs.get(name, by_place.get(name))

    def _tokens(self, name: str, *, is_first: bool) -> Tensor | None:
        """What looks like numbers of tokens: whole numbers, samples by places."""
        first = next((tensor for _, tensor in tensors_in((self.call.args, self.call.kwargs))), None)
        for tensor in (self._given(name), first if is_first else None):
            if isinstance(tensor, Tensor) and tensor.ndim == 2 and not tensor.is_floating_point():
                return tensor if tensor.shape[0] == self.num_samples and tensor.dtype != torch.bool else None
        return None

    def moved_to(self, device: torch.device) -> Samples:
        args, kwargs = moved((self.call.args, self.call.kwargs), device)
        return replace(self, call=Call(tuple(args), dict(kwargs)))

    def copied(self) -> Samples:
        """With tensors of their own."""
        return self._mapped(Tensor.clone)

    def _mapped(self, change: Callable[[Tensor], Tensor], **others: Any) -> Samples:
        args, kwargs = map_tensors((self.call.args, self.call.kwargs), change)
        return replace(self, call=Call(args, kwargs), **others)

    def shortened(self) -> Samples | None:
        """Without the last token, to see what varies with them; None where there are none, or only one."""
        mask = self.mask
        if mask is None or mask.shape[1] < 2:
            return None
        own, num_tokens = self.num_samples, mask.shape[1]

        def cut(tensor: Tensor) -> Tensor:
            # Numbers of tokens and masks, of a decoder, too, which may have others.
            is_list = tensor.ndim == 2 and not tensor.is_floating_point() and tensor.shape[1] > 1
            has_tokens = is_list or (tensor.ndim >= 2 and tensor.shape[1] == num_tokens)
            has_tokens = has_tokens and tensor.shape[0] == own
            return tensor[:, :-1].clone() if has_tokens else tensor

        return self._mapped(cut)

    def resized(self, num_samples: int) -> Samples:
        """The first of them; where there are fewer, some twice. To see what changes with their number."""
        own = self.num_samples

        def cut(tensor: Tensor) -> Tensor:
            if not tensor.ndim or tensor.shape[0] != own:
                return tensor
            return tensor[torch.arange(num_samples, device=tensor.device) % own]

        return self._mapped(cut, num_samples=num_samples)


class Caller:
    """Knows how batches fit the forward of one model."""

    def __init__(self, model: nn.Module, ids: str | None = None) -> None:
        self._ids = ids
        self._names: frozenset[str] | None = None  # that forward takes; None: any
        self._by_place: tuple[str, ...] = ()
        self._required: frozenset[str] = frozenset()  # of these
        try:
            parameters = inspect.signature(unwrapped_model(model).forward).parameters.values()
        except (TypeError, ValueError):
            return
        if all(one.kind is not one.VAR_KEYWORD for one in parameters):
            self._names = frozenset(one.name for one in parameters if one.kind is not one.VAR_POSITIONAL)
        placed = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        self._by_place = tuple(one.name for one in placed)
        self._required = frozenset(one.name for one in placed if one.default is one.empty)

    def samples_of(self, batch: Any) -> Samples:
        """`(x, labels)`, `(a, b, labels)`, `{"input_ids": …, "labels": …}`, or `x` alone."""
        if isinstance(batch, Mapping):
            return self._by_name(batch)
        if self._ids is not None:
            raise InputError(f"ids={self._ids!r} names an entry of a batch, and the batches have no names.")
        if isinstance(batch, tuple | list):
            if not batch:
                raise InputError(
                    "a batch is empty: let the loader give (inputs, labels), a dict, or a tensor."
                )
            args, labels = tuple(batch), None
            if len(args) > max(1, len(self._required)):
                args, labels = args[:-1], args[-1]
        elif isinstance(batch, Tensor) or callable(getattr(batch, "to", None)):
            args, labels = (batch,), None
        else:
            raise InputError(
                f"a batch is a {type(batch).__name__}, and that can mean anything: let the loader give "
                "(inputs, labels), a dict of inputs by name, or a tensor. DataLoader(..., collate_fn=...) "
                "makes them."
            )
        return self._made(args, {}, labels, None)

    def _by_name(self, batch: Mapping[Any, Any]) -> Samples:
        target = next((name for name in TARGET_NAMES if name in batch), None)
        if self._ids is not None and self._ids not in batch:
            raise InputError(
                f"ids={self._ids!r}: the batches have no such entry, but {', '.join(map(str, batch))}."
            )
        aside = {target, self._ids} - self._required
        kwargs = {
            str(name): value
            for name, value in batch.items()
            if name not in aside and (self._names is None or name in self._names) and _is_given(value)
        }
        if not kwargs:
            raise InputError(
                f"of what a batch has ({', '.join(map(str, batch))}) the model takes nothing: it takes "
                f"{', '.join(sorted(self._names or ()))}."
            )
        labels = None if target is None else batch[target]
        return self._made((), kwargs, labels, None if self._ids is None else batch[self._ids])

    def _made(self, args: tuple[Any, ...], kwargs: dict[str, Any], labels: Any, ids: Any) -> Samples:
        tensors = [tensor for _, tensor in tensors_in((args, kwargs)) if tensor.ndim]
        first = tensors[0] if tensors else next(iter((*args, *kwargs.values())))
        given: Any = args[0] if args else None
        is_row = isinstance(given, list) and isinstance(labels, list | tuple) and len(labels) == len(given)
        if is_row and len(given) != num_items_of(first):
            raise InputError(
                f"a batch has a list of {len(given)} tensors, one for each sample: let the loader stack them "
                "(DataLoader(..., collate_fn=...)), or give samples one by one, with a dimension for them."
            )
        return Samples(
            call=Call(args, kwargs),
            num_samples=num_items_of(first),
            labels=labels,
            ids=ids,
            names=self._by_place,
        )


def _is_given(value: Any) -> bool:
    """Texts of a batch are for people."""
    is_text = isinstance(value, str) or (
        isinstance(value, list | tuple) and value and isinstance(value[0], str)
    )
    return not is_text


def column_of(values: Any, num_samples: int) -> Array | tuple[str, ...] | None:
    """One thing a sample: numbers as an array, texts as they are; None where it is anything else."""
    if isinstance(values, list | tuple) and _are_columns(values, num_samples):
        values = numpy.stack([one.detach().cpu().numpy() for one in values], axis=1)
    if isinstance(values, Tensor):
        plain = values.detach().cpu().resolve_conj().resolve_neg()
        values = (plain.float() if plain.dtype is torch.bfloat16 else plain).numpy()
    if isinstance(values, list | tuple) and values and all(isinstance(one, str) for one in values):
        return tuple(values) if len(values) == num_samples else None
    try:
        found = numpy.asarray(values)
    except (TypeError, ValueError):
        return None
    if found.dtype.kind == "U":
        return tuple(map(str, found)) if found.shape == (num_samples,) else None
    is_column = found.dtype.kind in "fiubc" and found.ndim >= 1 and found.shape[0] == num_samples
    return found if is_column else None


def _are_columns(values: Any, num_samples: int) -> bool:
    """A label of several numbers comes as several tensors, each with one number a sample."""
    return bool(values) and all(
        isinstance(one, Tensor) and one.shape == (num_samples,) and one.dtype != torch.bfloat16
        for one in values
    )


def checksum_of(tensor: Tensor, start: int = 0) -> int:
    """Of its shape, dtype and bytes, whatever its type."""
    start = zlib.crc32(f"{tuple(tensor.shape)} {tensor.dtype}".encode(), start)
    tensor = whole(tensor)
    if tensor.layout is not torch.strided or tensor.is_quantized:
        tensor = tensor.dequantize() if tensor.is_quantized else tensor.to_dense()
    values = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return zlib.crc32(raw_bytes(values.view(torch.uint8).numpy()), start)


# As those of FSDP2 and of tensor parallel models are. Batches are dealt out to processes, so each process
# must be able to run the model by itself: that is so on a mesh of one process, and where the weights are
# replicated. A model that is spread over processes is refused; so is any that FSDP manages, on one process,
# too: it frees and allocates the memory of weights while it runs.
_WHAT_TO_DO = (
    "each process needs all of it. Gather the weights first (torch.distributed.checkpoint.state_dict."
    "get_model_state_dict with StateDictOptions(full_state_dict=True)), load them into a model that is not "
    "spread, and extract from that."
)


def whole(tensor: Tensor) -> Tensor:
    """An ordinary tensor with all values of a DTensor; any other as it is."""
    if not _is_dtensor(tensor):
        return tensor
    full: Tensor = tensor.full_tensor()  # type: ignore[attr-defined]
    return full


def check_whole(model: nn.Module) -> None:
    """Refuse a model of which this process has only a part."""
    for address, module in model.named_modules():
        if hasattr(module, "_get_fsdp_state") or type(module).__name__ == "FullyShardedDataParallel":
            what = f"module {address!r}" if address else "model"
            raise InputError(f"the {what} is managed by FSDP, which spreads its weights: {_WHAT_TO_DO}")
    named: tuple[tuple[str, Any], ...] = (*model.named_parameters(), *model.named_buffers())
    for name, tensor in named:
        if not _is_dtensor(tensor):
            continue
        mesh = tensor.device_mesh
        sizes = [mesh.size(dim) for dim in range(len(tensor.placements))]
        if any(
            size > 1 and not one.is_replicate() for size, one in zip(sizes, tensor.placements, strict=True)
        ):
            raise InputError(f"{name} is spread over the {mesh.size()} processes of {mesh}: {_WHAT_TO_DO}")


@contextmanager
def running(model: nn.Module) -> Iterator[None]:
    """Inside, a model whose weights are DTensors takes ordinary tensors."""
    tensors = (*model.parameters(), *model.buffers())
    if not any(map(_is_dtensor, tensors)):
        yield
        return
    from torch.distributed.tensor.experimental import implicit_replication

    with implicit_replication():
        yield


def _is_dtensor(tensor: Any) -> bool:
    return callable(getattr(tensor, "full_tensor", None)) and hasattr(tensor, "device_mesh")
