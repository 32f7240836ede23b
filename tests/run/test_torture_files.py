"""A few hundred of the inputs of `make torture`, and what its measure finds in a file that is too large."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.many import examples
from tests.run import handmade_events as made
from tests.run import torture_files
from tests.run.amplification import can_measure, disk_bytes, measured
from tests.run.torture_files import KINDS, Found, is_fine, read_input, write_templates

pytestmark = pytest.mark.skipif(not can_measure(), reason="the peak of memory cannot be measured here")
NUM_OF_KIND = {
    "events": 100,
    "embeddings": 40,
    "part": 20,
    "npy": 40,
    "zarr": 25,
    "pass": 25,
    "checkpoint": 20,
}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("templates")
    write_templates(place)
    return place


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_take_no_more_than_their_bytes_allow(
    templates: Path, tmp_path: Path, kind: str
) -> None:
    for seed in range(7000, 7000 + examples(NUM_OF_KIND[kind])):
        found = read_input(seed, tmp_path, templates, kind)
        assert not found.fault, f"{kind} {seed}: {found.fault}"
        # Not its time: how long something takes is measured by `make torture`.
        assert found.memory_share <= 1, f"{kind} {seed}: {found.memory_bytes:,} bytes of memory"


def test_what_takes_too_much_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(folder: Path) -> None:
        bytearray(b"x") * (200 << 20)
        raise KeyError("not ours")

    monkeypatch.setitem(KINDS, "events", (1, (greedy,)))
    found = read_input(1, tmp_path, tmp_path, "events")
    assert "KeyError" in found.fault
    assert not is_fine(found)
    with measured(tmp_path) as taken:
        data = b"x" * (200 << 20)
    assert len(data) == 200 << 20
    assert taken.memory_share > 1


def test_holes_do_not_count_as_bytes_on_disk(tmp_path: Path) -> None:
    path = made.write_events(tmp_path, made.event(made.scalar("loss", 1.0)))
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.truncate(1 << 30)
    assert size <= disk_bytes(tmp_path) < 1 << 20


def test_the_same_seed_makes_the_same_input(templates: Path, tmp_path: Path) -> None:
    for kind in ("events", "embeddings", "npy", "pass"):
        folders = [tmp_path / f"{kind}-{number}" for number in range(2)]
        for folder in folders:
            folder.mkdir()
            torture_files.make_input(kind, folder, random.Random(5), templates)
        first, second = (
            {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
            for folder in folders
        )
        assert first == second


def test_a_process_that_dies_is_a_fault_of_its_input(
    templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torture_files.sys, "executable", "/bin/false")
    (found,) = torture_files.children(1, 5, tmp_path, templates)
    assert isinstance(found, Found)
    assert "ended with" in found.fault
