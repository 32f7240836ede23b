"""Test a model item by item during its training, and leave everything as it was.

Which items are wrong:

    classes           the highest score is not that of the target, at any place of the item
    bits, 0 or 1      any unit is on the wrong side of 0.5, or of 0 where the loss takes logits
    bits, -1 or 1     any unit has the wrong sign
    other targets     nothing is right or wrong: there are no errors

What it is, the first batch of a run decides. A function of yours in the setup decides otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler

from torcheer.capture import ModelHistory, same_model_after
from torcheer.errors import InputError
from torcheer.models import Batch, detached, split, unwrapped_model
from torcheer.netview import Flow, NetPlan, check_name, looked_at, plan_of, signature_of
from torcheer.run import reason_of
from torcheer.training.evaluation.predictions import IGNORED, class_dim_of, scores_in
from torcheer.training.loop.setup import AUTOMATIC, ErrorFunction, Setup, Statistic
from torcheer.training.random_state import keeping_random_state
from torcheer.training.trainer.fit_arguments import LossFunction, is_sum, kind_of, loss_in
from torcheer.training.trainer.stepper import Stepper
from torcheer.training.training_warning import warn

Form = Literal["classes", "bits", "signs", "values"]


class Judged(NamedTuple):
    """What is to be said of each item of a batch. None: nothing can be said."""

    wrong: Tensor | None  # bool
    targets: Tensor | None  # the numbers of classes
    answers: Tensor | None


_NOTHING: Final = Judged(None, None, None)


class Judge:
    """Decides over the batches of one run. `errors`: `"auto"`, a function of outputs and targets, or None."""

    def __init__(self, errors: str | ErrorFunction | None, loss: LossFunction | None) -> None:
        self._function = errors if callable(errors) else None
        self._kind = kind_of(loss)
        self._has_loss = loss is not None
        self._form: Form | None = None if errors == AUTOMATIC else "values"

    @property
    def may_judge(self) -> bool:
        """False where it is clear that nothing is right or wrong."""
        return self._function is not None or self._form != "values"

    def judged(self, outputs: Any, targets: Any, num_items: int) -> Judged:
        """Raises InputError where a function of the user's gives something else than truths."""
        scores = scores_in(outputs)
        if self._function is not None:
            wrong = torch.as_tensor(self._function(outputs, targets))
            if wrong.shape != (num_items,):
                what = f"`errors` of the setup gives shape {tuple(wrong.shape)} for {num_items} items"
                raise InputError(f"{what}: return, for each item, whether it is wrong.")
            form = self._form_of(scores, targets, num_items)
            by_class = self._by_class(scores, targets) if form == "classes" else _NOTHING
            return by_class._replace(wrong=wrong.detach().bool())
        if self._form is None:
            self._form = self._form_of(scores, targets, num_items)
        # A later batch may have something else in it: then nothing is said of it.
        if self._form == "values" or not isinstance(scores, Tensor) or not isinstance(targets, Tensor):
            return _NOTHING
        if self._form == "classes":
            return self._by_class(scores, targets)
        if scores.numel() != targets.numel():
            return _NOTHING
        middle = 0.5 if self._form == "bits" else 0.0
        said = scores > (0.0 if self._kind == "logits" else middle)
        wrong = (said.reshape(targets.shape) != (targets > middle)) | scores.isnan().reshape(targets.shape)
        return Judged(wrong.reshape(num_items, -1).any(1), None, None)

    def _form_of(self, scores: Any, targets: Any, num_items: int) -> Form:
        if not isinstance(scores, Tensor) or not isinstance(targets, Tensor) or not targets.numel():
            return "values"
        if not scores.ndim or len(scores) != num_items or not targets.ndim or len(targets) != num_items:
            return "values"
        if not self._has_loss and scores.ndim > 2:
            return "values"  # a model of language shifts its targets by one place
        if class_dim_of(scores, targets, self._kind) is not None:
            return "classes"
        if scores.numel() != targets.numel() or scores.is_complex() or targets.is_complex():
            return "values"
        if bool(((targets == 0) | (targets == 1)).all()):
            return "bits"
        return "signs" if bool((targets.abs() == 1).all()) else "values"

    def _by_class(self, scores: Tensor, targets: Tensor) -> Judged:
        dim = class_dim_of(scores, targets, self._kind)
        if dim is None:
            return _NOTHING
        wanted = targets.argmax(dim) if targets.is_floating_point() else targets
        said = scores.argmax(dim).reshape(wanted.shape)
        # NaN says nothing, though argmax takes it for the highest.
        wrong = ((said != wanted) | scores.isnan().any(dim).reshape(wanted.shape)) & (wanted != IGNORED)
        if wanted.ndim == 1:
            return Judged(wrong, wanted, said)
        wrong = wrong.reshape(len(wrong), -1)
        # (items, 1) is one class for each item, too.
        if wrong.shape[1] == 1:
            return Judged(wrong[:, 0], wanted.reshape(-1), said.reshape(-1))
        return Judged(wrong.any(1), None, None)


def seen(
    setup: Setup, judge: Judge, outputs: Any, targets: Any, loss: Tensor, num_items: int
) -> tuple[dict[str, float], Judged]:
    """Of one batch: the loss as its function has it, errors, accuracy, means of the statistics."""
    figures = {"loss": loss.item()}
    with torch.no_grad():
        statistics = {
            name: torch.as_tensor(function(outputs, targets)) for name, function in setup.statistics.items()
        }
        judged = judge.judged(outputs, targets, num_items)
    if judged.wrong is not None and num_items:
        figures["errors"] = int(judged.wrong.sum())
        figures["accuracy"] = (num_items - figures["errors"]) / num_items
    for name, found in statistics.items():
        if found.is_complex() or found.ndim > 1:
            what = f"the statistic {name!r} gives shape {tuple(found.shape)}"
            raise InputError(f"{what}: return one number for each item, or their mean.")
        figures[name] = float(found.detach().double().mean())
    return figures, judged


def item_of(value: Any, number: int, num_items: int) -> Any:
    """One item of something that a batch holds, or a model gave for it, as if it were alone."""
    if isinstance(value, Tensor):
        return value[number : number + 1] if value.ndim and len(value) == num_items else value
    if isinstance(value, Mapping):
        return {key: item_of(part, number, num_items) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(item_of(part, number, num_items) for part in value))
    if isinstance(value, tuple) or (
        isinstance(value, list) and any(isinstance(one, Tensor) for one in value)
    ):
        return type(value)(item_of(part, number, num_items) for part in value)
    if isinstance(value, list) and len(value) == num_items:
        return value[number : number + 1]
    return value


class Tally:
    """The sums of an epoch, or of a test, as it goes."""

    def __init__(self, setup: Setup) -> None:
        self.num_items = self.num_batches = 0
        self._sums: dict[str, float] = {}
        # These are sums over the items of a batch, and no means.
        self._summed = {"errors", *(["loss"] if is_sum(setup.loss) else [])}

    def add(self, figures: Mapping[str, float], num_items: int) -> None:
        """Those of a batch."""
        found = {name: value * (1 if name in self._summed else num_items) for name, value in figures.items()}
        # What one batch has not, all of them have not.
        known = self._sums if self.num_batches else dict.fromkeys(found, 0)
        self._sums = {name: known[name] + value for name, value in found.items() if name in known}
        self.num_items += num_items
        self.num_batches += 1

    def figures(self) -> dict[str, float]:
        """Loss, errors, accuracy and the statistics: those that there are."""
        if not self.num_items:
            return {}
        found = {
            name: total if name == "errors" else total / self.num_items for name, total in self._sums.items()
        }
        if "errors" in found:
            found["accuracy"] = (self.num_items - found["errors"]) / self.num_items
        return found


@contextmanager
def as_it_was_after(setup: Setup) -> Iterator[None]:
    """Random numbers, also those of the loaders; mode, buffers and gradients of the model: all put back."""
    with keeping_random_state(setup.train, setup.test), same_model_after(unwrapped_model(setup.model)):
        yield


# A loader that shuffles is taken in the order of its data set instead.

_KEPT: Final = (  # of a loader whose order is another
    "num_workers",
    "collate_fn",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "prefetch_factor",
    "persistent_workers",
)

_FEW: Final = 4  # items, where a loader does not say how many make a batch


class TestItems:
    """Batches of a test set, and single items of it."""

    def __init__(self, loader: Any, *, is_whole: bool) -> None:
        """`is_whole`: the model computes its loss, and is given the targets, too."""
        self._is_whole = is_whole
        self._loader = loader
        self._indices: list[Any] | None = None  # of the data set, by item, where it can be asked for each
        self.num_items: int | None = None  # None: not known before all were seen
        if _is_map_style(loader):
            self._fix_order(loader)
        elif isinstance(loader, list | tuple):
            self.num_items = sum(self.num_in(batch) for batch in loader)

    def _fix_order(self, loader: DataLoader[Any]) -> None:
        batches = [list(batch) for batch in loader.batch_sampler or ()]
        if isinstance(loader.sampler, RandomSampler) and not loader.sampler.replacement:
            warn("the test loader shuffles: so that each item keeps its number, they are taken in order.")
            order = iter(sorted(index for batch in batches for index in batch))
            batches = [[next(order) for _ in batch] for batch in batches]
        self._indices = [index for batch in batches for index in batch]
        self.num_items = len(self._indices)
        if not isinstance(loader.sampler, SequentialSampler):
            kept = {name: getattr(loader, name) for name in _KEPT}
            self._loader = DataLoader(loader.dataset, batch_sampler=batches, **kept)

    def batches(self) -> Iterator[Any]:
        """All of them. Whoever goes through them to the end knows how many items there are."""
        num_items = 0
        for batch in self._loader:
            num_items += self.num_in(batch)
            yield batch
        self.num_items = num_items

    def item(self, number: Any) -> Any:
        """A batch of that item alone."""
        is_number = isinstance(number, int) and not isinstance(number, bool) and number >= 0
        if is_number and self._indices is not None and number < len(self._indices):
            loader = self._loader
            return loader.collate_fn([loader.dataset[self._indices[number]]])
        first = 0
        for batch in self._loader if is_number and self._indices is None else ():
            num_items = self.num_in(batch)
            if number < first + num_items:
                return item_of(batch, number - first, num_items)
            first += num_items
        known = "" if self.num_items is None else f" of {self.num_items}"
        raise InputError(f"there is no item {number!r}{known}: items of the test set are numbered from 0.")

    def num_in(self, batch: Any) -> int:
        return split(batch, whole=self._is_whole).num_items


def first_batch(loader: Any) -> Any | None:
    """A batch to look at before the training, without going through the loader; None where that needs it."""
    if isinstance(loader, list | tuple):
        return loader[0] if loader else None
    if not _is_map_style(loader):
        return None
    try:
        num_items = min(loader.batch_size or _FEW, len(loader.dataset))
        return loader.collate_fn([loader.dataset[index] for index in range(num_items)])
    except Exception:  # the sampler may know other indices than 0, 1, 2
        return None


def _is_map_style(loader: Any) -> bool:
    """A loader of torch's over a data set that can be asked for any item, and that makes batches of them."""
    if type(loader) is not DataLoader or loader.batch_sampler is None:
        return False
    return not isinstance(loader.dataset, IterableDataset) and hasattr(loader.dataset, "__getitem__")


MOST_UNITS: Final = 512  # of a layer that is kept unless it is asked for by name
_MOST_PASS_BYTES: Final = 512 << 20  # a captured pass holds every value of every layer


class LayerValues:
    """Runs the model on test batches, and keeps what the layers gave. Where it cannot, it says so once."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._plans: dict[tuple[object, ...], NetPlan] = {}
        self._bytes_per_item: int | None = None
        self.is_on = setup.layers is None or len(setup.layers) > 0

    def run(self, batch: Batch) -> tuple[Any, dict[str, Tensor]]:
        """The outputs, and the values of layers, a row for each item. Raises what the model raises."""
        if not self.is_on or not self._fits(batch):
            return batch.given_to(self._setup.model), {}
        try:
            history = looked_at(self._setup.model, arguments_of(batch), None).history
        except Exception as error:
            outputs = batch.given_to(self._setup.model)  # raises by itself where the model does
            self._give_up(
                f"the layers of {type(self._setup.model).__name__} cannot be seen ({reason_of(error)})"
            )
            return outputs, {}
        return history.output, self._values(history, batch)

    def _fits(self, batch: Batch) -> bool:
        if self._bytes_per_item is None:
            one = batch._replace(inputs=item_of(batch.inputs, 0, batch.num_items))
            try:
                look = looked_at(self._setup.model, arguments_of(one), None)
                self._bytes_per_item = look.history.tensor_fsize_total
            except Exception:
                # It may need more than one item; or it cannot be seen, which is told with the whole batch.
                self._bytes_per_item = 0
        if self._bytes_per_item * batch.num_items <= _MOST_PASS_BYTES:
            return True
        self._give_up(
            f"the layers of a test batch of {batch.num_items} items take more than "
            f"{_MOST_PASS_BYTES >> 20} MB together: a smaller batch_size of the test loader shows them"
        )
        return False

    def _values(self, history: ModelHistory, batch: Batch) -> dict[str, Tensor]:
        flow = Flow(history)
        signature = signature_of(flow)
        if signature not in self._plans:
            self._plans[signature] = plan_of(history, self._setup.model)
        plan, wanted = self._plans[signature], self._setup.layers
        names = [layer.name for layer in plan.layers]
        for name in wanted or ():
            check_name(name, names)
        found: dict[str, Tensor] = {}
        for layer in plan.layers:
            is_wanted = prod(layer.item_shape) <= MOST_UNITS if wanted is None else layer.name in wanted
            if not is_wanted or "Act" not in layer.values:
                continue
            value = layer.values["Act"](flow, None)
            if value is not None and value.ndim and len(value) == batch.num_items:
                found[layer.name] = value.detach()
        return found

    def _give_up(self, reason: str) -> None:
        self.is_on = False
        warn(f"{reason}. The table of test trials goes on without them.")


def arguments_of(batch: Batch) -> Any:
    """What forward is given, as NetView and a captured pass take it."""
    return batch.given_to(lambda *args, **kwargs: kwargs or list(args))


OUTPUT: Final = "Output"
TARGET: Final = "Target"
_TAKEN: Final = frozenset((OUTPUT, TARGET, *"run epoch trial name target answer loss error".split()))
_MOST_UNITS: Final = 1 << 14  # of one cell: a picture of 128 × 128
_MOST_BYTES: Final = 16 << 20  # of the tensors of one test

Columns = dict[str, Any]  # each a list or a tensor, with an element for each item
Part = dict[str, Tensor]  # of one batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What came of a test: the items one by one, and what they come to."""

    columns: Columns
    figures: dict[str, float]
    num_items: int
    seconds: float
    is_whole: bool  # False where it was stopped before the end

    def rows(self) -> list[dict[str, Any]]:
        """A tensor of several numbers stays one."""
        columns = {
            name: column.tolist() if isinstance(column, Tensor) and column.ndim == 1 else column
            for name, column in self.columns.items()
        }
        return [{name: column[row] for name, column in columns.items()} for row in range(self.num_items)]


class Tester:
    """Tests one model, in the middle of its training, without a trace."""

    def __init__(self, setup: Setup, judge: Judge, stepper: Stepper) -> None:
        self._setup = setup
        self._judge = judge
        self._device = stepper.device
        self._autocast = stepper.autocast
        self._layers = LayerValues(setup)
        self._left_out: set[str] = set()  # columns that were told to have no room, or no one shape

    def test(
        self,
        batches: Iterable[Any],
        first_item: int,
        counters: Mapping[str, int],
        after_batch: Callable[[], bool],
        look: Callable[[Batch], None] | None = None,
    ) -> Tested:
        """`counters` are the same for each item. `after_batch` says whether to stop.

        `look` is shown the first batch, while the model is tested.
        """
        start = time.perf_counter()
        tally, parts = Tally(self._setup), list[Part]()
        first: Batch | None = None
        is_whole = True
        with as_it_was_after(self._setup), torch.no_grad():
            self._setup.model.eval()
            for given in batches:
                batch = split(given, whole=self._setup.loss is None).moved_to(self._device)
                first = first or batch
                with self._autocast:
                    parts.append(self._columns(batch, tally))
                if after_batch():
                    is_whole = False
                    break
            if look is not None and first is not None and is_whole:
                look(first)
        numbers = range(first_item, first_item + tally.num_items)
        names = self._setup.item_names
        columns: Columns = {name: [value] * tally.num_items for name, value in counters.items()}
        columns["trial"] = list(numbers)
        if names is not None:
            columns["name"] = [names[number] if number < len(names) else "" for number in numbers]
        return Tested(
            columns=columns | self._joined(parts),
            figures=tally.figures(),
            num_items=tally.num_items,
            seconds=time.perf_counter() - start,
            is_whole=is_whole,
        )

    def _columns(self, batch: Batch, tally: Tally) -> Part:
        setup, number = self._setup, batch.num_items
        outputs, layers = self._layers.run(batch)
        outputs = detached(outputs)
        loss = setup.loss(outputs, batch.targets) if setup.loss is not None else loss_in(outputs)
        figures, judged = seen(setup, self._judge, outputs, batch.targets, _one_number(loss), number)
        tally.add(figures, number)
        columns = _tensors(layers, scores_in(outputs), _shown_targets(judged, outputs, batch.targets), number)
        if judged.targets is not None and judged.answers is not None:
            columns |= {"target": judged.targets.cpu(), "answer": judged.answers.cpu()}
        if setup.loss is not None:
            columns |= _each({"loss": setup.loss}, outputs, batch)
        elif number == 1:
            columns["loss"] = torch.tensor([figures["loss"]], dtype=torch.float64)
        if judged.wrong is not None:
            columns["error"] = judged.wrong.long().cpu()
        return columns | _each(setup.statistics, outputs, batch)

    def _joined(self, parts: list[Part]) -> Part:
        """Columns over all batches: those that all of them have, in one shape, as far as there is room."""
        if not parts:
            return {}
        joined: Part = {}
        room = _MOST_BYTES
        for name in _by_need(parts[0]):
            tensors = [part[name] for part in parts if name in part]
            if len(tensors) < len(parts) or len({one.shape[1:] for one in tensors}) > 1:
                self._leave_out(name, "is not of one shape over all batches")
                continue
            num_bytes = sum(one.numel() * one.element_size() for one in tensors)
            if tensors[0].ndim > 1 and num_bytes > room:
                self._leave_out(name, f"takes more than the {_MOST_BYTES >> 20} MB that a test may keep")
                continue
            room -= num_bytes if tensors[0].ndim > 1 else 0
            joined[name] = torch.cat(tensors)
        return {name: joined[name] for name in parts[0] if name in joined}

    def _leave_out(self, name: str, reason: str) -> None:
        if name not in self._left_out:
            self._left_out.add(name)
            warn(f"the column {name!r} of the test trials is left out: it {reason}.")


def _each(functions: Mapping[str, Statistic], outputs: Any, batch: Batch) -> Part:
    """What functions of outputs and targets give for each item; one that gives means is called for each."""
    found, targets, number = Part(), batch.targets, batch.num_items
    for name, function in functions.items():
        values = torch.as_tensor(function(outputs, targets)).detach().double().cpu()
        if values.shape != (number,) and number > 1:
            try:
                each = [
                    float(function(item_of(outputs, place, number), item_of(targets, place, number)))
                    for place in range(number)
                ]
            except Exception:  # it wants more than one item, or something that cannot be taken apart
                continue
            values = torch.tensor(each, dtype=torch.float64)
        found[name] = values.reshape(-1)[:number]
    return found


def _one_number(loss: Any) -> Tensor:
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        what = f"shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else f"a {type(loss).__name__}"
        raise InputError(f"the loss of a test batch is {what}, and one number is wanted: take its mean.")
    return loss.detach().reshape(())


def _shown_targets(judged: Judged, outputs: Any, targets: Any) -> Any:
    """Of classes, as the outputs should have been: one at the class, zeros else."""
    scores = scores_in(outputs)
    if judged.targets is None or not isinstance(scores, Tensor) or scores.ndim != 2:
        return targets
    num_classes = scores.shape[1]
    if not num_classes or bool(((judged.targets < 0) | (judged.targets >= num_classes)).any()):
        return targets
    return one_hot(judged.targets.long(), num_classes).to(torch.uint8)


def _by_need(columns: Part) -> list[str]:
    """Numbers, then what the model gave and should have given, then layers, the smaller ones first."""

    def need(name: str) -> tuple[bool, bool, int]:
        column = columns[name]
        return column.ndim > 1, name not in (OUTPUT, TARGET), prod(column.shape[1:])

    return sorted(columns, key=need)


def _tensors(layers: dict[str, Tensor], outputs: Any, targets: Any, num_items: int) -> Part:
    """Cells with more than one number. A layer that is the output, bit by bit, is there once."""
    columns: Columns = {
        f"{name} (layer)" if name in _TAKEN else name: value
        for name, value in layers.items()
        if not _is_same(value, outputs)
    }
    columns |= {OUTPUT: outputs, TARGET: targets}
    return {
        name: value.detach().cpu()
        for name, value in columns.items()
        if isinstance(value, Tensor)
        and value.ndim > 1
        and len(value) == num_items
        and 0 < prod(value.shape[1:]) <= _MOST_UNITS
    }


def _is_same(value: Tensor, outputs: Any) -> bool:
    if not isinstance(outputs, Tensor) or value.shape != outputs.shape or value.dtype != outputs.dtype:
        return False
    return torch.equal(value.nan_to_num(), outputs.nan_to_num())
