"""An extraction from its beginning to its end: interrupted, going on, short of room, and without traces."""

from __future__ import annotations

import errno
import gc
import os
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from tests.features.hooking import NUM_PLANNED, StoppedError, batches_of, hooked, interrupted, stopping_at
from torcheer.errors import FileFormatError, InputError
from torcheer.features import extract, open_features
from torcheer.features import extraction_plan as plan
from torcheer.features.stores.folder import FolderStore

NUM = 20
X = torch.randn(NUM, 4, generator=torch.Generator().manual_seed(0))
Y = torch.arange(NUM)


def net() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(inplace=True), nn.Linear(6, 3))


def run(to: Path, model: nn.Module | None = None, **options: Any) -> Any:
    options = {"layers": "modules", "batch_size": 4, "progress": False, **options}
    return extract(model or net(), (X, Y), to=to, **options)


def test_values_labels_and_ids_are_there_and_the_file_is_read_by_numpy_alone(tmp_path: Path) -> None:
    features = run(tmp_path / "f")

    expected = hooked(net(), batches_of(X, 4), ["0", "1", "2", "3"])
    for name, values in expected.items():
        assert numpy.array_equal(features[name][:], values)
        assert numpy.array_equal(numpy.load(tmp_path / "f" / f"{name}.npy", mmap_mode="r"), values)
    assert numpy.array_equal(numpy.load(tmp_path / "f" / "labels.npy"), Y)
    assert features.ids.tolist() == list(range(NUM))


def test_what_is_complete_is_left_alone(tmp_path: Path) -> None:
    run(tmp_path / "f")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "f").rglob("*")}
    model = net()
    stopping_at(model, 1)  # it must not run

    features = run(tmp_path / "f", model)

    assert features.is_complete
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "f").rglob("*")} == before


# --- interrupted ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [2, 3, 5])
def test_a_model_that_raises_gives_its_own_error_and_nothing_is_lost(batch: int, tmp_path: Path) -> None:
    model, error = net(), StoppedError("a reason of its own")
    handle = stopping_at(model, NUM_PLANNED + batch, error)

    with pytest.raises(StoppedError) as raised:
        run(tmp_path / "f", model)

    assert raised.value is error
    assert open_features(tmp_path / "f").num_done == 4 * (batch - 1)
    handle.remove()
    ran: list[int] = []

    def count(_: nn.Module, inputs: tuple[Tensor]) -> None:
        ran.append(len(inputs[0]))

    model.register_forward_pre_hook(count)
    features = run(tmp_path / "f", model)
    assert len(ran) == NUM_PLANNED + 1 + 6 - batch  # the first batch is planned with, and there already
    for name, values in hooked(net(), batches_of(X, 4), features.layers).items():
        assert numpy.array_equal(features[name][:], values)


def test_an_error_in_the_first_pass_leaves_no_features(tmp_path: Path) -> None:
    class Broken(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise StoppedError("always")

    with pytest.raises(StoppedError):
        run(tmp_path / "f", Broken())

    assert not (tmp_path / "f").exists()


def test_somebody_who_presses_ctrl_c_is_told_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = net()
    handle = stopping_at(model, NUM_PLANNED + 3, KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "f", model, progress=True)

    assert "interrupted: 8 samples are in" in capsys.readouterr().err
    handle.remove()
    assert run(tmp_path / "f", model, progress=True).is_complete
    assert "going on: 4 layers of 20 samples" in capsys.readouterr().err


def test_rows_that_are_not_there_yet_are_refused(tmp_path: Path) -> None:
    features = interrupted(net(), (X, Y), tmp_path / "f", layers=["3"], batch_size=4)

    assert features.num_done == 8
    assert features.done.tolist() == [True] * 8 + [False] * 12
    assert numpy.array_equal(features["3"][:8], hooked(net(), batches_of(X, 4), ["3"])["3"][:8])
    for key in (8, slice(None), slice(6, 10), -1, [0, 9], [[0, 1], [2, 9]], ..., (..., 0), (9, 0), None, ()):
        with pytest.raises(InputError, match="is not extracted yet"):
            features["3"][key]
    with pytest.raises(InputError, match="sample 8 of '3' is not extracted yet"):
        numpy.asarray(features["3"])
    mask = numpy.zeros((NUM, 3), dtype=bool)
    mask[2, 1] = True
    assert features["3"][mask].shape == (1,)
    mask[9, 1] = True
    with pytest.raises(InputError, match="sample 9"):
        features["3"][mask]


def test_a_line_of_a_journal_that_was_cut_off_is_computed_again(tmp_path: Path) -> None:
    interrupted(net(), (X, Y), tmp_path / "f", layers=["3"], batch_size=4)
    (journal,) = (tmp_path / "f" / "done").glob("*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-3])

    assert open_features(tmp_path / "f").num_done == 4
    features = run(tmp_path / "f", layers=["3"])

    assert numpy.array_equal(features["3"][:], hooked(net(), batches_of(X, 4), ["3"])["3"])


def test_a_full_disk_is_told_before_the_first_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FolderStore, "free_bytes", lambda self: 500)

    with pytest.raises(InputError, match="has room for 500"):
        run(tmp_path / "f")

    assert not (tmp_path / "f").exists()


def test_what_is_there_already_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(net(), (X, Y), tmp_path / "f", layers=["3"], batch_size=4)
    monkeypatch.setattr(FolderStore, "used_bytes", lambda self: 500)
    monkeypatch.setattr(FolderStore, "free_bytes", lambda self: 200)

    assert run(tmp_path / "f", layers=["3"]).is_complete


def test_a_disk_that_fills_up_in_between_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, num_rows = os.pwrite, 0

    def full(descriptor: int, content: Any, place: int) -> int:
        nonlocal num_rows
        num_rows += place > 0  # after the header
        if num_rows > 7:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content, place)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        run(tmp_path / "f", layers=["3"])
    monkeypatch.undo()

    features = run(tmp_path / "f", layers=["3"])

    assert numpy.array_equal(features["3"][:], hooked(net(), batches_of(X, 4), ["3"])["3"])


def test_a_stream_goes_on_where_it_was(tmp_path: Path) -> None:
    batches = list(zip(X.split(4), Y.split(4), strict=True))
    interrupted(net(), batches, tmp_path / "f", layers=["3"])

    features = extract(net(), batches, layers=["3"], to=tmp_path / "f", progress=False)

    assert features.num_samples == NUM
    assert numpy.array_equal(features["3"][:], hooked(net(), batches_of(X, 4), ["3"])["3"])
    assert numpy.load(tmp_path / "f" / "3.npy").shape == (NUM, 3)


# --- without traces ---------------------------------------------------------------------------------------


def state_of(model: nn.Module) -> Any:
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_state_dict_hooks")
    return (
        [
            (name, module.training, [len(getattr(module, hook)) for hook in hooks])
            for name, module in model.named_modules()
        ],
        [(name, p.requires_grad, p.grad is None, p.clone().tolist()) for name, p in model.named_parameters()],
        [(name, b.clone().tolist()) for name, b in model.named_buffers()],
        sorted(vars(model)),
        torch.nn.modules.module._global_forward_hooks,
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        torch.get_rng_state().tolist(),
        numpy.random.get_state()[1].tolist(),  # type: ignore[index]
        random.getstate(),
    )


@pytest.mark.parametrize("is_raising", [False, True])
def test_model_and_generators_are_afterwards_as_they_were(is_raising: bool, tmp_path: Path) -> None:
    model = net().train()
    model[1].eval()
    model[0].weight.requires_grad_(False)
    data = DataLoader(TensorDataset(X, Y), 4, shuffle=True)
    handle = stopping_at(model, NUM_PLANNED + 2) if is_raising else None
    before = state_of(model)

    if is_raising:
        with pytest.raises(StoppedError):
            extract(model, data, layers="all", to=tmp_path / "f", progress=False)
    else:
        extract(model, data, layers="all", to=tmp_path / "f", progress=False)

    assert state_of(model) == before
    if handle is not None:
        handle.remove()


def test_no_more_than_two_batches_are_in_memory(tmp_path: Path) -> None:
    """Also where nobody collects: what a pass leaves behind holds on to no values in a circle."""
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    counts = []

    class Watched(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            counts.append(len(alive))
            result = x + 1
            alive.add(result)
            return result

    model = nn.Sequential(Watched(), nn.ReLU())
    gc.disable()
    try:
        extract(model, X, layers=["0", "1"], to=tmp_path / "f", batch_size=1, progress=False)
    finally:
        gc.enable()

    assert len(counts) == NUM_PLANNED + NUM
    assert max(counts) <= 2


def test_values_of_many_batches_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where they become arrays: at most one that is written, and one that waits."""

    alive: list[weakref.ref[Any]] = []
    most = 0
    made = plan._as_array

    def counted(values: Tensor) -> Any:
        nonlocal most
        result = made(values).copy()
        alive.append(weakref.ref(result))
        most = max(most, sum(one() is not None for one in alive))
        return result

    monkeypatch.setattr(plan, "_as_array", counted)
    run(tmp_path / "f", layers=["3"], batch_size=1)

    assert most <= 3
    assert len(alive) == NUM


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_another_default_dtype_changes_nothing(dtype: torch.dtype, tmp_path: Path) -> None:
    model = net()
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        features = run(tmp_path / "f", model)
    finally:
        torch.set_default_dtype(before)

    assert numpy.array_equal(features["3"][:], hooked(net(), batches_of(X, 4), ["3"])["3"])


def test_in_inference_mode(tmp_path: Path) -> None:
    with torch.inference_mode():
        features = run(tmp_path / "f")

    assert numpy.array_equal(features["3"][:], hooked(net(), batches_of(X, 4), ["3"])["3"])


def test_something_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        extract(lambda x: x, X, layers="all", to=tmp_path / "f")  # type: ignore[arg-type]


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")

    with pytest.raises(InputError, match="is a file"):
        run(tmp_path / "f")


def test_fitted_transforms_are_found_again(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", layers=["0"], transform="pca:2")["0"][:]
    interrupted(net(), (X, Y), tmp_path / "f", batch=8, layers=["0"], batch_size=4, transform="pca:2")

    assert numpy.array_equal(run(tmp_path / "f", layers=["0"], transform="pca:2")["0"][:], whole)


@pytest.mark.parametrize("change", [lambda content: b"", lambda content: content[:-40], lambda content: b"x"])
def test_damaged_fitted_transforms_are_refused(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    run(tmp_path / "f", layers=["0"], transform="pca:2")
    (state,) = (tmp_path / "f").glob("*.npz")
    state.write_bytes(change(state.read_bytes()))

    with pytest.raises(FileFormatError, match="what was fitted to 0 is damaged"):
        run(tmp_path / "f", layers=["0"], transform="pca:2")


@pytest.mark.parametrize("kind", ["folder", "set.zarr"])
def test_batches_of_zeros_are_kept(tmp_path: Path, kind: str) -> None:
    data = TensorDataset(-torch.ones(8, 3), torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]))
    features = extract(
        nn.Sequential(nn.ReLU()), data, layers=["relu_1"], to=tmp_path / kind, batch_size=4, progress=False
    )

    assert not numpy.asarray(features["relu_1"][:]).any()
    assert features.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
