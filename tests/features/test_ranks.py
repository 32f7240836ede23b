"""Several processes, started again and in other numbers, come to what one undisturbed process comes to."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import numpy
import pytest
import torch
from torch import Tensor, nn

import torcheer.features.extraction
from tests.copying import torchrun
from tests.features.torture_rounds import ROOT, changes, environment, state_of
from tests.features.torture_target import DIES_AT, FEW_SAMPLES, few
from tests.many import IS_ALL
from torcheer.features.extraction import extract
from torcheer.features.saved_features import Features, open_features

_DIED = 77  # the exit status of a process that was let die


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        return self.words(input_ids)


class Batches:
    """A stream of three, of different sizes."""

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for size in (2, 3, 1):
            yield torch.arange(size * 3.0).reshape(size, 3), torch.arange(size) + 10 * size


class Named(torch.utils.data.Dataset[Any]):
    files = ("one.png", "two.png", "three.png", "four.png", "five.png")

    def __len__(self) -> int:
        return 5

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        return torch.arange(3.0) * number, number % 2


def _rows(to: Path) -> Features:
    return extract(_linear(), Named(), layers=["0"], to=to, batch_size=2, progress=False)


def _ragged(to: Path) -> Features:
    torch.manual_seed(0)
    mask = torch.tensor([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0]])
    data = {"input_ids": torch.arange(15).reshape(5, 3) % 9, "attention_mask": mask}
    model = Tokens()
    return extract(model, data, layers=["words"], to=to, shapes="ragged", batch_size=2, progress=False)


def _stream(to: Path) -> Features:
    return extract(_linear(), Batches(), layers=["0"], to=to, progress=False)


def _fitted(to: Path) -> Features:
    return extract(_linear(), Named(), layers=["0"], transform="pca:2", to=to, batch_size=2, progress=False)


def _linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU())


KINDS = pytest.mark.parametrize("work", [_rows, _ragged, _stream, _fitted])


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As torchrun has it; and a copy of a process that has computed with several may wait for ever."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def as_rank(monkeypatch: pytest.MonkeyPatch, number: int, num_ranks: int) -> None:
    monkeypatch.setenv("RANK", str(number))
    monkeypatch.setenv("WORLD_SIZE", str(num_ranks))


def content_of(features: Features) -> list[bytes]:
    """All that is done, sample by sample, and what the samples are called."""
    numbers = numpy.flatnonzero(features.done)
    found = [one.tobytes() for name in features.layers for one in features[name][numbers]]
    columns = (features.labels, features.ids)
    return [*found, *(column[numbers].tobytes() for column in columns if column is not None)]


# --- shares ------------------------------------------------------------------------------------------------


def test_three_ranks_finish_what_one_of_two_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = _linear(), torch.randn(17, 3)
    whole = extract(model, x, layers=["0"], to=tmp_path / "whole", batch_size=2, progress=False)

    def work() -> Features:
        return extract(model, x, layers=["0"], to=tmp_path / "shared", batch_size=2, progress=False)

    as_rank(monkeypatch, 0, 2)
    begun = work()
    assert begun.done.tolist() == [number // 2 % 2 == 0 for number in range(17)]
    for rank in (2, 0, 1):
        as_rank(monkeypatch, rank, 3)
        finished = work()

    assert finished.is_complete
    assert (tmp_path / "shared/0.npy").read_bytes() == (tmp_path / "whole/0.npy").read_bytes()
    assert content_of(finished) == content_of(whole)


@KINDS
def test_ranks_that_have_no_batch_do_no_harm(
    work: Callable[[Path], Features], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = work(tmp_path / "whole")

    for rank in (6, 1, 0, 2, 5):
        as_rank(monkeypatch, rank, 7)
        features = work(tmp_path / "shared")

    assert features.is_complete
    assert content_of(features) == content_of(whole)


@KINDS
def test_finished_it_is_not_touched_again(
    work: Callable[[Path], Features], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(tmp_path / "features")
    before = state_of(tmp_path)

    for rank in range(2):
        as_rank(monkeypatch, rank, 2)
        work(tmp_path / "features")

    assert changes(before, state_of(tmp_path)) == []


def test_of_a_stream_whose_end_is_known_the_rows_that_are_there_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _stream(tmp_path / "whole")["0"][:]
    as_rank(monkeypatch, 1, 2)

    features = _stream(tmp_path / "begun")

    assert features.done.tolist() == [False, False, True, True, True, False]
    assert features["0"][2:5].tobytes() == whole[2:5].tobytes()


# --- death -------------------------------------------------------------------------------------------------


class Reaper:
    """Lets the process die in the n-th call that changes anything on disk; a write is then half done."""

    def __init__(self, number: int) -> None:
        self._number = number

    def armed(self) -> ExitStack:
        stack = ExitStack()
        for name in ("open", "pwrite", "write", "ftruncate", "link", "replace", "unlink"):
            stack.enter_context(mock.patch.object(os, name, self._wrapped(name, getattr(os, name))))
        return stack

    def _wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if name != "open" or args[1] & os.O_CREAT:
                self._number -= 1
            if self._number == 0:
                if name in ("pwrite", "write"):
                    half = memoryview(args[1])[: len(args[1]) // 2]
                    function(args[0], half, *args[2:])
                os._exit(_DIED)
            return function(*args, **kwargs)

        return wrapped


def dies(number: int, work: Callable[[Path], Features], to: Path) -> bool:
    """In a copy of this process. Whether it did so before it was done."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            commits_at_once = mock.patch.object(torcheer.features.extraction, "_COMMIT_SECONDS", 0.0)
            with commits_at_once, Reaper(number).armed():
                work(to)
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, _DIED)
    return status == _DIED


@KINDS
def test_wherever_it_dies_the_next_one_finishes_it(work: Callable[[Path], Features], tmp_path: Path) -> None:
    whole = work(tmp_path / "whole")
    content = content_of(whole)

    number = 1 + KINDS.args[1].index(work)  # the kinds do much the same: each call is the last of one of them
    while dies(number, work, to := tmp_path / str(number)):
        if (to / "manifest.json").exists():
            left = open_features(to)
            for sample in numpy.flatnonzero(left.done):
                assert left[left.layers[0]][int(sample)].tobytes() == content[sample]
        assert content_of(work(to)) == content
        number += 1 if IS_ALL else len(KINDS.args[1])

    assert number > 15
    assert content_of(open_features(to)) == content


def test_a_full_disk_is_told_and_what_is_there_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torcheer.features.extraction, "_COMMIT_SECONDS", 0.0)
    num_writes = 0

    def full_soon(descriptor: int, content: Any, place: int, write: Any = os.pwrite) -> int:
        nonlocal num_writes
        num_writes += 1
        if num_writes > 5:  # two heads, two files of the first batch, one of the second
            raise OSError(errno.ENOSPC, "no space left")
        return int(write(descriptor, content, place))

    with mock.patch.object(os, "pwrite", full_soon), pytest.raises(OSError, match="no space left"):
        _rows(tmp_path / "features")

    left = open_features(tmp_path / "features")
    assert left.done.tolist() == [True, True, False, False, False]
    assert content_of(_rows(tmp_path / "features")) == content_of(_rows(tmp_path / "whole"))


@KINDS
def test_a_journal_says_nothing_that_is_not_synced(
    work: Callable[[Path], Features], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torcheer.features.extraction, "_COMMIT_SECONDS", 0.0)
    unsynced: set[int] = set()
    lines: list[bytes] = []

    def noting(name: str, note: Callable[[int], Any]) -> Any:
        function = getattr(os, name)

        def wrapped(descriptor: int, *args: Any) -> Any:
            note(descriptor)
            return function(descriptor, *args)

        return mock.patch.object(os, name, wrapped)

    def wrote_line(descriptor: int, content: bytes, write: Any = os.write) -> int:
        if bytes(content).startswith(b'{"batch'):
            lines.append(bytes(content))
            assert not unsynced
        return int(write(descriptor, content))

    with ExitStack() as stack:
        for name in ("pwrite", "ftruncate"):
            stack.enter_context(noting(name, unsynced.add))
        for name in ("fsync", "fdatasync"):
            stack.enter_context(noting(name, unsynced.discard))
        stack.enter_context(mock.patch.object(os, "write", wrote_line))
        work(tmp_path / "features")

    assert len(lines) >= 3


# --- torchrun ----------------------------------------------------------------------------------------------


def test_under_torchrun_a_group_outlives_a_kill_and_every_rank_finds_all_of_it(tmp_path: Path) -> None:
    model, data = few()
    whole = extract(model, data, layers=["inner.0", "inner.5"], to=tmp_path / "whole", progress=False)
    run = ["--nproc-per-node", "2", "--max-restarts", "1"]
    script = ["-m", "tests.features.torture_gloo", str(tmp_path)]

    # Else a group of gloo finds the addresses of the ranks that died, and no restart succeeds.
    own_store = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    done = torchrun(*run, *script, env=environment(**own_store, **{DIES_AT: "0:3"}), cwd=ROOT)

    assert done.returncode == 0, done.stderr
    for rank in range(2):
        said = json.loads((tmp_path / f"rank-{rank}.json").read_text())
        assert said == {"complete": True, "ids": whole.ids.tolist(), "ranks": 2, "life": 1}
    assert len(whole.ids) == FEW_SAMPLES
    assert content_of(open_features(tmp_path / "features")) == content_of(whole)
