"""Features as Zarr: what other libraries read there, what damage and missing packages look like."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import fsspec
import numpy
import pytest
from zarr.storage import MemoryStore, ObjectStore

from tests.features.stores.store_kinds import (
    CONV,
    HEAD,
    IDS,
    LABELS,
    WORDS,
    Folders,
    opener,
    sentences,
    values_of,
)
from torcheer.errors import FileFormatError, InputError
from torcheer.features.journal import Done, RaggedPlace, line_of, read_journals
from torcheer.features.manifest import ArraySpec
from torcheer.features.stores import Array, store_at, zarr_store
from torcheer.features.stores.zarr_store import LocalObjects, RemoteObjects, ZarrStore

ROWS, BATCH = 10, 4


def filled(store: ZarrStore, *arrays: ArraySpec) -> dict[str, Array]:
    store.make_room(arrays, ROWS, BATCH)
    values = {array.file: values_of(array, ROWS, seed) for seed, array in enumerate(arrays)}
    writer = store.writer("one")
    for number, first in enumerate(range(0, ROWS, BATCH)):
        for array in arrays:
            writer.put_rows(array, first, values[array.file][first : first + BATCH])
        writer.commit([Done(batch=number, first=first, rows=min(BATCH, ROWS - first))])
    writer.close()
    return values


# --- what others read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["?", "<i1", "<i4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"])
def test_zarr_reads_what_was_written(tmp_path: Path, dtype: str) -> None:
    zarr = pytest.importorskip("zarr")
    array = ArraySpec(name="a", file="a", dtype=dtype, shape=(3, 2))
    values = filled(ZarrStore(tmp_path / "f.zarr"), array)["a"]

    found = zarr.open_group(tmp_path / "f.zarr", mode="r")["a"]

    assert (found.chunks, found.dtype) == ((BATCH, 3, 2), numpy.dtype(dtype))
    numpy.testing.assert_array_equal(found[:], values)


@pytest.mark.parametrize("consolidated", [False, True, None])
@pytest.mark.parametrize("kind", ["zarr", "zarr-memory"])
def test_xarray_opens_it_without_us(tmp_path: Path, kind: str, consolidated: bool | None) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    store = opener(kind, tmp_path)()
    assert isinstance(store, ZarrStore)
    values = filled(store, CONV, HEAD, LABELS)
    store.write("manifest.json", b"{}")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if consolidated is False:  # zarr then looks at all that is there, and our manifest is no array
            warnings.filterwarnings("ignore", "Object at manifest.json is not recognized")
        dataset = xarray.open_zarr(store.where, consolidated=consolidated)

    assert dataset["conv"].dims == ("sample", "conv.channel", "conv.y", "conv.x")
    assert dataset["head"].dims == ("sample", "head.unit")
    assert list(dataset.coords) == ["labels"]
    for name, expected in values.items():
        numpy.testing.assert_array_equal(dataset[name].values, expected)


def test_zarr_reads_each_batch_of_a_stream(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    store, conv = ZarrStore(tmp_path / "f.zarr"), values_of(CONV, 7)
    store.make_room([CONV], None, None)
    writer = store.writer("one")
    writer.put_rows(CONV, 0, conv[:3])
    writer.put_rows(CONV, 3, conv[3:])
    writer.commit([Done(batch=0, first=0, rows=3), Done(batch=1, first=3, rows=4)])
    writer.close()

    parts = zarr.open_group(tmp_path / "f.zarr", mode="r")["conv"]

    numpy.testing.assert_array_equal(numpy.concatenate([parts[name][:] for name in sorted(parts)]), conv)


def test_zarr_reads_the_values_of_ragged_batches(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    store, batch = ZarrStore(tmp_path / "f.zarr"), sentences(5)
    store.make_room([WORDS], 5, 5)
    writer = store.writer("one")
    place = writer.put_ragged(WORDS, batch)
    writer.commit([Done(batch=0, first=0, rows=5, places={"words": place})])
    writer.close()

    found = zarr.open_group(tmp_path / "f.zarr", mode="r")["words"][place.part]

    numpy.testing.assert_array_equal(found[:], numpy.concatenate([one.reshape(-1) for one in batch]))


def test_a_layer_may_be_called_as_our_own_files_are(tmp_path: Path) -> None:
    arrays = [
        ArraySpec(name=name, file=name, dtype="<f4", shape=(2,))
        for name in ("torcheer", "Torcheer2", "Done", "manifest.json", "zarr.json", "texts", "c", "zarr")
    ]
    store = ZarrStore(tmp_path / "f.zarr")
    store.write("manifest.json", b"{}")
    store.write_texts(IDS, numpy.array(["a"]))
    values = filled(store, *arrays)

    for array in arrays:
        numpy.testing.assert_array_equal(store.rows(array, ROWS)[:], values[array.file])
    assert store.read("manifest.json") == b"{}"
    assert read_journals(store.journals()).num_rows == ROWS


# --- damage ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [slice(4, 8), 5, [7]])
def test_a_chunk_that_is_gone_is_told_where_its_rows_are_read(tmp_path: Path, rows: object) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    values = filled(store, CONV)["conv"]
    (tmp_path / "f.zarr/conv/c.1.0.0.0").unlink()

    numpy.testing.assert_array_equal(store.rows(CONV, ROWS)[:4], values[:4])
    with pytest.raises(FileFormatError, match=r"conv/c\.1\.0\.0\.0 is gone"):
        store.rows(CONV, ROWS)[rows]


def test_a_chunk_that_was_cut_off_is_told(tmp_path: Path) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    values = filled(store, CONV)["conv"]
    chunk = tmp_path / "f.zarr/conv/c.1.0.0.0"
    chunk.write_bytes(chunk.read_bytes()[: 2 * CONV.row_bytes + 5])

    numpy.testing.assert_array_equal(store.rows(CONV, ROWS)[4:6], values[4:6])
    with pytest.raises(FileFormatError, match="ends before its row 3"):
        store.rows(CONV, ROWS)[6]


def test_part_of_a_chunk_that_no_journal_names_is_no_damage(tmp_path: Path) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    store.make_room([CONV], ROWS, BATCH)
    (tmp_path / "f.zarr/conv/c.0.0.0.0").write_bytes(b"killed in the mid")

    assert store.rows(CONV, ROWS)[:].shape == (ROWS, 3, 2, 2)

    conv = filled(store, CONV)["conv"]
    numpy.testing.assert_array_equal(store.rows(CONV, ROWS)[:], conv)


@pytest.mark.parametrize(
    ("about", "value"),
    [
        ("shape", [10, 7]),
        ("data_type", "float64"),
        ("codecs", [{"name": "zstd"}]),
        ("chunk_grid", {}),
        ("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [0, 3, 2, 2]}}),
        ("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": ["4", 3, 2, 2]}}),
        ("node_type", None),
    ],
)
def test_metadata_that_does_not_fit_the_manifest_is_told(tmp_path: Path, about: str, value: object) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    filled(store, CONV)
    path = tmp_path / "f.zarr/conv/zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), about: value}))

    with pytest.raises(FileFormatError, match=r"conv/zarr\.json is damaged"):
        store.rows(CONV, ROWS)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"node_type": "array"}'])
def test_damaged_metadata_is_told(tmp_path: Path, content: bytes) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    filled(store, CONV)
    (tmp_path / "f.zarr/conv/zarr.json").write_bytes(content)

    with pytest.raises(FileFormatError, match=r"conv/zarr\.json is damaged"):
        store.rows(CONV, ROWS)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_damaged_texts_are_told(tmp_path: Path, content: bytes) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    store.write_texts(IDS, numpy.array(["a"]))
    (tmp_path / "f.zarr/torcheer/texts/ids.json").write_bytes(content)

    with pytest.raises(FileFormatError, match=r"texts/ids\.json is damaged"):
        store.texts(IDS)


def test_a_journal_line_that_was_cut_off_is_no_line(tmp_path: Path) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    filled(store, CONV)
    journals = sorted((tmp_path / "f.zarr/done").glob("*.jsonl"))
    journals[-1].write_bytes(journals[-1].read_bytes()[:-5])

    assert sorted(read_journals(store.journals()).done) == [0, 1]


@pytest.mark.parametrize("part", ["../conv", "/etc/passwd", "..", "", "a/b"])
def test_a_journal_cannot_name_a_file_elsewhere(tmp_path: Path, part: str) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    with pytest.raises(FileFormatError, match="no part of words"):
        store.ragged(WORDS, RaggedPlace(part=part, start=0, shapes=((1, 4),)))


@pytest.mark.parametrize(("start", "shapes"), [(0, ((-1, 4),)), (-3, ((1, 4),))])
def test_a_journal_cannot_name_values_that_there_cannot_be(
    tmp_path: Path, start: int, shapes: tuple[tuple[int, ...], ...]
) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    with pytest.raises(FileFormatError, match="no part of words"):
        store.ragged(WORDS, RaggedPlace(part="one-000000", start=start, shapes=shapes))


def test_a_ragged_part_that_is_gone_or_too_short_is_told(tmp_path: Path) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    store.make_room([WORDS], 2, 2)
    place = store.writer("rechner-größe").put_ragged(WORDS, [numpy.ones((3, 4), "<f4")])
    chunk = tmp_path / f"f.zarr/words/{place.part}/c.0"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with pytest.raises(FileFormatError, match="ends before value 12"):
        store.ragged(WORDS, place)
    chunk.unlink()
    with pytest.raises(FileFormatError, match="is gone"):
        store.ragged(WORDS, place)


def test_batches_of_a_stream_that_there_cannot_be_are_left_out(tmp_path: Path) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    store.make_room([CONV], None, None)
    writer = store.writer("one")
    writer.commit(
        [Done(batch=0, first=-4, rows=4), Done(batch=1, first=90, rows=4), Done(batch=2, first=0, rows=-1)]
    )

    assert not store.rows(CONV, 4)[:].any()


# --- writing ---------------------------------------------------------------------------------------------


def test_many_journals_are_read_from_few_objects(tmp_path: Path) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    writer, other = store.writer("rank-0-000007"), store.writer("rank-1")
    for number in range(205):
        writer.commit([Done(batch=number, first=number, rows=1)])
    other.commit([Done(batch=205, first=205, rows=1)])

    assert len(store.journals()) == 3 + 1
    assert sorted(read_journals(store.journals()).done) == list(range(206))


class FullStore(MemoryStore):
    """A distant place that takes no chunks."""

    async def set(self, key: str, value: Any, byte_range: Any = None) -> None:
        if key.rpartition("/")[2].startswith("c."):
            raise OSError(f"no more room for {key}")
        await super().set(key, value, byte_range)


def test_nothing_is_called_finished_once_a_chunk_did_not_arrive() -> None:
    store = ZarrStore("s3://full", RemoteObjects(FullStore()))
    store.make_room([CONV], ROWS, BATCH)
    writer = store.writer("one")
    writer.put_rows(CONV, 0, values_of(CONV, 4))
    for _ in range(2):
        with pytest.raises(OSError, match="no more room for conv/c"):
            writer.commit([Done(batch=0, first=0, rows=4)])
    writer.close()

    assert store.journals() == []


class SlowStore(MemoryStore):
    """Counts the chunks on their way, and lets them arrive only when it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.may_arrive = threading.Event()
        self.now = self.most = 0
        self.begun = threading.Semaphore(0)

    async def set(self, key: str, value: Any, byte_range: Any = None) -> None:
        if key.rpartition("/")[2].startswith("c."):
            self.now += 1
            self.most = max(self.most, self.now)
            self.begun.release()
            while not self.may_arrive.is_set():
                await asyncio.sleep(0.001)
            self.now -= 1
        await super().set(key, value, byte_range)


@pytest.mark.parametrize(("most_bytes", "number"), [(1 << 30, 8), (3 * BATCH * CONV.row_bytes, 3)])
def test_only_so_many_chunks_and_bytes_are_on_their_way(
    monkeypatch: pytest.MonkeyPatch, most_bytes: int, number: int
) -> None:
    monkeypatch.setattr(zarr_store, "_MOST_UPLOAD_BYTES", most_bytes)
    slow = SlowStore()
    store = ZarrStore("s3://slow", RemoteObjects(slow))
    store.make_room([CONV], 80, BATCH)
    writer = store.writer("one")

    def put_all() -> None:
        for first in range(0, 80, BATCH):
            writer.put_rows(CONV, first, values_of(CONV, BATCH))
        writer.commit([])

    thread = threading.Thread(target=put_all)
    thread.start()
    for _ in range(number):
        slow.begun.acquire()
    assert slow.now == number  # at once, and the others wait
    slow.may_arrive.set()
    thread.join()
    writer.close()

    assert (slow.now, slow.most) == (0, number)


def _write_manifest(url: str, content: bytes, barrier: object, found: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    fsspec.register_implementation("torcheerfolders", Folders, clobber=True)
    found.put(ZarrStore(url).write_new("manifest.json", content))  # type: ignore[attr-defined]


def test_a_new_file_at_a_place_with_folders_is_never_seen_in_part(tmp_path: Path) -> None:
    content = b"{" + b" " * 1_000_000 + b"}"
    context = multiprocessing.get_context("spawn")
    barrier, found = context.Barrier(3), context.Queue()
    url = f"torcheerfolders://{tmp_path}/deep/down"
    processes = [
        context.Process(target=_write_manifest, args=(url, content, barrier, found)) for _ in range(3)
    ]
    for process in processes:
        process.start()
    assert [found.get() for _ in processes] == [content] * 3
    for process in processes:
        process.join()
    assert [path.name for path in (tmp_path / "deep/down").iterdir()] == ["manifest.json"]


def test_a_number_of_samples_that_there_cannot_be_is_no_reason_to_make_room_for_them(tmp_path: Path) -> None:
    store = ZarrStore(tmp_path / "f.zarr")
    values = filled(store, CONV)["conv"]

    rows = store.rows(CONV, 1 << 48)

    numpy.testing.assert_array_equal(rows[[9, 0, 4]], values[[9, 0, 4]])
    numpy.testing.assert_array_equal(rows[3], values[3])
    assert not rows[-1].any()
    with pytest.raises(IndexError):
        rows[1 << 48]


def test_journals_that_version_0_1_packed_are_read(tmp_path: Path) -> None:
    """It wrote one object a commit, and after a hundred of them all of them once more in one."""
    store = ZarrStore(tmp_path / "f.zarr")
    lines = [line_of(Done(batch=number, first=number, rows=1)) for number in range(103)]
    for number, line in enumerate(lines):
        if number != 7:  # may be gone once the pack is there
            store.objects.write(f"done/rank-0-{number:06d}.jsonl", line)
    store.objects.write("done/rank-0-000099.packed.jsonl", b"".join(lines[:100]))

    progress = read_journals(store.journals())

    assert (sorted(progress.done), progress.num_rows) == (list(range(103)), 103)


def _make_room_and_write(url: str, number: int, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    store = ZarrStore(url)
    store.make_room([CONV, HEAD, LABELS], ROWS, BATCH)
    writer = store.writer(f"rank-{number}")
    conv = values_of(CONV, ROWS)
    first = number * BATCH
    writer.put_rows(CONV, first, conv[first : first + BATCH])
    writer.commit([Done(batch=number, first=first, rows=len(conv[first : first + BATCH]))])
    writer.close()


def test_processes_need_not_know_of_each_other(tmp_path: Path) -> None:
    url = str(tmp_path / "f.zarr")
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    processes = [context.Process(target=_make_room_and_write, args=(url, n, barrier)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert read_journals(ZarrStore(url).journals()).num_rows == ROWS
    numpy.testing.assert_array_equal(ZarrStore(url).rows(CONV, ROWS)[:], values_of(CONV, ROWS))


def test_only_the_rows_that_are_asked_for_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, asked = ZarrStore(tmp_path / "f.zarr"), []
    filled(store, CONV)
    rows = store.rows(CONV, ROWS)
    original = LocalObjects.read

    def spying(self: LocalObjects, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        asked.append((key, start, end))
        return original(self, key, start, end)

    monkeypatch.setattr(LocalObjects, "read", spying)
    rows[[5, 9, 6]]

    size = CONV.row_bytes
    assert asked == [("conv/c.1.0.0.0", size, 3 * size), ("conv/c.2.0.0.0", size, 2 * size)]


# --- places ----------------------------------------------------------------------------------------------


def test_a_path_and_its_url_are_the_same_place(tmp_path: Path) -> None:
    store_at(tmp_path / "a b.zarr").write("note", b"here")
    assert store_at(f"file://{tmp_path}/a b.zarr/").read("note") == b"here"
    assert fsspec.open(f"file://{tmp_path}/a b.zarr/torcheer/note").open().read() == b"here"


def test_a_place_without_packages_is_told_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fsspec", "fsspec.core", "obstore", "obstore.exceptions", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"pip install 'torcheer\[zarr\]'"):
        store_at("s3://bucket/vgg")


def test_a_place_that_nobody_knows_is_told_in_one_line() -> None:
    with pytest.raises(
        InputError, match=r"nothing here can reach nowhere://x/y \(fsspec says: .*obstore"
    ) as error:
        store_at("nowhere://x/y")
    assert "\n" not in str(error.value)


def test_a_url_without_a_place_is_refused() -> None:
    with pytest.raises(InputError, match="names no place"):
        store_at("memory://")


def test_a_file_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "f.zarr").write_text("")
    with pytest.raises(InputError, match="is a file"):
        store_at(tmp_path / "f.zarr")


def test_obstore_steps_in_where_the_package_of_fsspec_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert isinstance(ZarrStore("s3://bucket/vgg").objects.store, ObjectStore)


def test_obstore_is_refused_after_a_fork_where_it_would_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    store = ZarrStore("s3://bucket/vgg")
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)

    with pytest.raises(InputError, match="after a fork it does not work; start the process with 'spawn'"):
        store.read("manifest.json")


def test_room_is_known_only_where_there_is_a_disk(tmp_path: Path) -> None:
    assert (ZarrStore(tmp_path / "f.zarr").free_bytes() or 0) > 0
    assert ZarrStore("memory://torcheer-tests/room").free_bytes() is None


def test_without_zarr_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(ZarrStore(tmp_path / "f.zarr"), CONV)
    monkeypatch.setitem(sys.modules, "zarr", None)

    with pytest.raises(InputError, match=r"pip install 'torcheer\[zarr\]'"):
        ZarrStore(tmp_path / "g.zarr").make_room([CONV], ROWS, BATCH)
    assert ZarrStore(tmp_path / "f.zarr").rows(CONV, ROWS)[:].shape == (ROWS, 3, 2, 2)
