"""Files of checkpoints, whole or refused, and folders of them."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from torcheer.errors import FileFormatError, InputError
from torcheer.tensorfile import files as wholefile
from torcheer.training import (
    Callback,
    Checkpoints,
    History,
    Training,
    TrainingWarning,
    fit,
    load_checkpoint,
    save_checkpoint,
)
from torcheer.training.checkpoint.save_load import DOCUMENT, VERSION

# --- one file -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "c.safetensors"
    model = nn.Linear(3, 2)
    save_checkpoint(
        path,
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), 0.1),
        extra=["text", 1, torch.tensor(2)],
    )
    return path.read_bytes()


def header_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def with_header(header: str | bytes, rest: bytes) -> bytes:
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header)) + header + rest


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(FileFormatError) as caught:
        load_checkpoint(path)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def test_any_flipped_bit_is_found(good: bytes, tmp_path: Path) -> None:
    """In the header one by one, for there it is digits and names; in the tensors here and there."""
    header_end = len(good) - len(header_of(good)[1])
    for at in (*range(0, header_end, 29), *range(header_end, len(good), 499), len(good) - 1, len(good) - 9):
        damaged = bytearray(good)
        damaged[at] ^= 1 << at % 8
        assert refused(tmp_path / "c", bytes(damaged))


def test_a_file_that_was_cut_short_or_grew_is_refused(good: bytes, tmp_path: Path) -> None:
    for length in (0, 7, 8, 100, len(good) // 2, len(good) - 1):
        assert refused(tmp_path / "c", good[:length])
    assert "bytes and should have" in refused(tmp_path / "c", good + b"\0")


def test_files_of_others_are_told_apart(tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(2)}, tmp_path / "pickled")
    save_file({"weight": torch.ones(2)}, tmp_path / "plain")

    assert "files of torch.save are opened by torch.load" in refused(
        tmp_path / "pickled", (tmp_path / "pickled").read_bytes()
    )
    assert "none that save_checkpoint wrote" in refused(tmp_path / "plain", (tmp_path / "plain").read_bytes())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="no ordinary file"):
        load_checkpoint(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "nothing")


def test_a_newer_format_is_refused_with_what_to_do(good: bytes, tmp_path: Path) -> None:
    header, rest = header_of(good)
    document = json.loads(header["__metadata__"][DOCUMENT])
    header["__metadata__"][DOCUMENT] = json.dumps({**document, "version": VERSION + 1})

    assert "newer than 1, the newest known here. Update torcheer" in refused(
        tmp_path / "c", with_header(json.dumps(header), rest)
    )


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], str]:
    def edit(header: dict[str, Any]) -> str:
        change(header)
        return json.dumps(header)

    return edit


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (edited(lambda h: h["model.weight"].update(shape=[2**40, 2**20])), "what cannot be"),
        (edited(lambda h: h["model.weight"].update(data_offsets=[0, 2**60])), "what cannot be"),
        (edited(lambda h: h["model.weight"].update(dtype="X")), "what cannot be"),
        (edited(lambda h: h["model.weight"].update(shape=[1] * 100)), "what cannot be"),
        (edited(lambda h: h.update(more={"dtype": "U8", "shape": [2**62, 0], "data_offsets": [0, 0]})), ""),
        (edited(lambda h: h.pop("torcheer.checksums")), "should have"),
        (edited(lambda h: h["__metadata__"].update({DOCUMENT: "{"})), "no JSON of a checkpoint"),
        (edited(lambda h: h["__metadata__"].update({DOCUMENT: '{"version": "1"}'})), "no JSON of a check"),
        (edited(lambda h: h["__metadata__"].update({DOCUMENT: "[" * 10**5})), "no JSON of a checkpoint"),
        (lambda h: json.dumps(h)[:-1] + ', "model.bias": {}}', "names 'model.bias' twice"),
        (lambda h: "[" * 10**5, "no safetensors file"),
        (lambda h: '{"__metadata__": 3}', "no safetensors file"),
        (lambda h: "[]", "no safetensors file"),
    ],
)
def test_a_header_that_claims_what_cannot_be_is_refused(
    edit: Callable[[dict[str, Any]], str], words: str, good: bytes, tmp_path: Path
) -> None:
    header, rest = header_of(good)

    assert words in refused(tmp_path / "c", with_header(edit(header), rest))


def test_other_libraries_find_the_text_and_the_weights(good: bytes, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(good)

    with safe_open(tmp_path / "c", "pt") as file:
        metadata = file.metadata()
        assert metadata["format"] == "pt"  # transformers and others ask for it
        assert json.loads(metadata[DOCUMENT])["state"]["extra"] == ["text", 1, {"$tensor": "extra.2"}]
        assert file.get_tensor("model.weight").shape == (2, 3)


@pytest.mark.parametrize("stage", ["write", "fsync", "replace"])
def test_what_was_there_stays_when_writing_fails(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, model=nn.Linear(3, 2), position=1)
    before = path.read_bytes()
    model = nn.Linear(3, 2)

    def fail(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    if stage == "write":
        monkeypatch.setattr("torcheer.training.checkpoint.save_load.file_tensor", fail)
    else:
        monkeypatch.setattr(wholefile.os, stage, fail)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, model=model, position=2)

    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_the_file_and_its_folder_are_on_the_disk_when_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), sync(fd)))

    save_checkpoint(tmp_path / "c", model=nn.Linear(3, 2))

    assert synced[0].endswith(".partial")
    assert synced[1:] == [str(tmp_path)]


# --- a folder -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def names_in(folder: Path) -> list[str]:
    return sorted(
        path.name.removeprefix("step-000000").removesuffix(".safetensors") for path in folder.iterdir()
    )


def fit_with(
    checkpoints: Checkpoints | Path | None, epochs: int = 6, losses: Any = None, **options: Any
) -> History:
    """A training whose test loss is as it is told."""
    torch.manual_seed(1)
    model = nn.Linear(3, 2)
    told = iter(losses or [])
    return fit(
        model,
        [(torch.ones(2, 3), torch.tensor([0, 1]))] * 2,
        loss=F.cross_entropy,
        optimizer=torch.optim.SGD(model.parameters(), 0.1),
        epochs=epochs,
        test_loader=[(torch.ones(2, 3), torch.tensor([0, 1]))],
        metrics={"told": lambda outputs, targets: next(told) if not model.training else 0.0}
        if losses
        else None,
        checkpoints=checkpoints,
        progress=False,
        **options,
    )


def test_the_last_and_the_best_are_kept(tmp_path: Path) -> None:
    losses = [0.5, 0.2, 0.7, float("nan"), 0.4, 0.2]

    fit_with(Checkpoints(tmp_path, keep_last=2, best="test/told", mode="min"), losses=losses)

    assert names_in(tmp_path) == ["04", "10", "12", "checkpoints.json"]
    found = load_checkpoint(tmp_path, which="best")
    assert (found.step, found.epoch, found.metrics["test/told"]) == (4, 2, 0.2)
    assert load_checkpoint(tmp_path).step == 12
    index = json.loads((tmp_path / "checkpoints.json").read_text())
    assert index["best"] == "step-00000004.safetensors"
    assert [(row["step"], row["epoch"], row["is_best"]) for row in index["checkpoints"]] == [
        (12, 6, False),
        (10, 5, False),
        (4, 2, True),
    ]


def test_the_best_is_known_after_a_resume_and_without_the_index(tmp_path: Path) -> None:
    def checkpoints() -> Checkpoints:
        return Checkpoints(tmp_path, every=100, keep_last=1, best="test/told", mode="max")

    fit_with(checkpoints(), epochs=2, losses=[0.9, 0.1])
    (tmp_path / "checkpoints.json").write_text("stale")

    fit_with(checkpoints(), epochs=4, losses=[0.3, 0.5])

    assert names_in(tmp_path) == ["02", "08", "checkpoints.json"]
    assert load_checkpoint(tmp_path, which="best").metrics["test/told"] == 0.9


def test_an_epoch_that_is_not_over_is_not_the_best(tmp_path: Path) -> None:
    """The loss of its first step is higher than the mean of any epoch, but it is of one batch only."""
    fit_with(Checkpoints(tmp_path, every=1, keep_last=None, best="train/loss", mode="max"), epochs=2)

    assert load_checkpoint(tmp_path, which="best").step == 2


def test_a_damaged_checkpoint_is_passed_over_and_set_aside(tmp_path: Path) -> None:
    expected = fit_with(Checkpoints(tmp_path, every=1, keep_last=None), epochs=3)
    for step in (5, 6):
        path = tmp_path / f"step-0000000{step}.safetensors"
        path.write_bytes(path.read_bytes()[: -100 if step == 6 else None])
    path = tmp_path / "step-00000005.safetensors"
    path.write_bytes(path.read_bytes()[:-100] + bytes(100))

    with pytest.warns(TrainingWarning, match=r"step-0000000[56].safetensors cannot be opened.*passed over"):
        found = fit_with(Checkpoints(tmp_path, every=1, keep_last=None), epochs=3)

    assert found.steps["train/loss"].tolist() == expected.steps["train/loss"].tolist()
    assert names_in(tmp_path / "damaged-1") == ["05", "06"]
    assert load_checkpoint(tmp_path).step == 6


def test_a_checkpoint_of_a_newer_torcheer_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr("torcheer.training.checkpoint.save_load.VERSION", 2)
        fit_with(tmp_path, epochs=1)

    with pytest.raises(FileFormatError, match="Update torcheer"):
        fit_with(tmp_path, epochs=2)
    assert names_in(tmp_path) == ["02", "checkpoints.json"]


def test_to_begin_anew_sets_aside_what_was_there(tmp_path: Path) -> None:
    fit_with(Checkpoints(tmp_path), epochs=2)

    history = fit_with(Checkpoints(tmp_path, resume=False), epochs=1)

    assert history.num_steps == 2
    assert names_in(tmp_path) == ["02", "checkpoints.json", "earlier-1"]
    assert names_in(tmp_path / "earlier-1") == ["02", "04"]


def test_a_folder_by_its_name_is_enough(tmp_path: Path) -> None:
    fit_with(tmp_path / "new" / "folder", epochs=2)

    assert names_in(tmp_path / "new" / "folder") == ["02", "04", "checkpoints.json"]


def test_checkpoints_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("torcheer.training.checkpoint.periodic.time.monotonic", lambda: now[0])

    class Ticking(Callback):
        def on_step(self, training: Training) -> None:
            now[0] += 25.0

    fit_with(Checkpoints(tmp_path, every="1min", keep_last=None), callbacks=[Ticking()])

    assert names_in(tmp_path) == ["03", "06", "09", "12", "checkpoints.json"]


def test_a_full_disk_is_told_and_does_not_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("torcheer.training.checkpoint.save_load.file_tensor", fail)

    with pytest.warns(TrainingWarning, match=r"checkpoint of step 2 was not written .*No space left"):
        assert fit_with(tmp_path, epochs=1).num_steps == 2


class Remembering(Callback):
    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def state_dict(self) -> dict[str, Any]:
        return {"memory": self.memory}


def test_what_cannot_be_kept_is_refused_before_the_first_step(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot keep 'callbacks.0.0.1.memory': it is a function"):
        fit_with(tmp_path, callbacks=[Remembering(lambda: 1)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda path: fit_with(Checkpoints(path, best="test/accuracy")),
            "keeps the best 'test/accuracy', and an",
        ),
        (lambda path: fit_with(None, callbacks=[Checkpoints(path)]), "give them to fit as checkpoints="),
        (lambda path: Checkpoints(3), "3 is no folder"),
        (lambda path: Checkpoints(__file__), "is no folder: name one"),
        (lambda path: Checkpoints(path, every="often"), "give 'epoch', a number of steps, or a time"),
        (lambda path: Checkpoints(path, every=0), "every=0: give 'epoch'"),
        (lambda path: Checkpoints(path, keep_last=0), "keep_last=0: give how many"),
        (lambda path: Checkpoints(path, best="test/told"), "mode='min' for lower"),
        (lambda path: load_checkpoint(path), "no checkpoint in the folder .* is whole"),
        (lambda path: load_checkpoint(path, which="best"), "was kept as the best"),
        (lambda path: load_checkpoint(path, which="worst"), "which='worst': give 'newest' or 'best'"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(change: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        change(tmp_path)
