"""What every store must do, whichever it is."""

from __future__ import annotations

import pickle
from pathlib import Path

import msgspec
import numpy
import pytest

from tests.features.stores.store_kinds import (
    CONV,
    HEAD,
    IDS,
    KINDS,
    LABELS,
    WORDS,
    Open,
    opener,
    sentences,
    values_of,
)
from torcheer.errors import FileFormatError
from torcheer.features.journal import Done, Ended, read_journals
from torcheer.features.stores import Array, Store

ROWS, BATCH = 10, 4  # the last batch has two rows


@pytest.fixture(params=KINDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    return opener(request.param, tmp_path)


def done(number: int, first: int, rows: int, **others: object) -> Done:
    return Done(batch=number, first=first, rows=rows, **others)  # type: ignore[arg-type]


def filled(store: Store, batches: range = range(3), size: int | None = BATCH) -> tuple[Array, Array]:
    """Some batches of two arrays, of ten rows."""
    conv, head = values_of(CONV, ROWS), values_of(HEAD, ROWS, 1)
    store.make_room([CONV, HEAD], ROWS, size)
    writer = store.writer("one")
    for number in batches:
        part = slice(number * BATCH, (number + 1) * BATCH)
        writer.put_rows(CONV, number * BATCH, conv[part])
        writer.put_rows(HEAD, number * BATCH, head[part])
        writer.commit([done(number, number * BATCH, len(conv[part]))])
    writer.close()
    return conv, head


@pytest.mark.parametrize("size", [BATCH, None])
def test_what_was_put_is_read_back(open_store: Open, size: int | None) -> None:
    conv, head = filled(open_store(), size=size)

    rows = open_store().rows(CONV, ROWS)

    assert (rows.shape, rows.dtype, len(rows)) == (conv.shape, conv.dtype, ROWS)
    numpy.testing.assert_array_equal(rows[:], conv)
    numpy.testing.assert_array_equal(open_store().rows(HEAD, ROWS)[:], head)


KEYS = {
    "one": 7,
    "numpy's one": numpy.int64(3),
    "from the end": -1,
    "a slice": slice(3, 9),
    "backwards": slice(None, None, -3),
    "beyond the end": slice(8, 100),
    "none": slice(5, 5),
    "a list": [9, 0, 4, 4],
    "an empty list": [],
    "a range": range(7, 2, -2),
    "a tuple of its own": ((6, 1),),
    "an array of two dimensions": numpy.array([[1, 2], [-1, 5]]),
    "a mask": numpy.arange(ROWS) % 3 == 0,
    "a row and a part of it": (2, slice(1, 3), 0),
    "rows and columns in pairs": ([1, 8, 9], [0, 2, 1]),
    "rows by list and by slice": ([1, 8], slice(None), 1),
    "everything": ...,
    "everything, one pixel": (..., 0, 1),
    "nothing but brackets": (),
    "a new axis": (None, slice(0, 2)),
    "a mask of values": numpy.random.default_rng(3).random((ROWS, 3, 2, 2)) > 0.5,
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_rows_are_indexed_as_numpy_does_it(open_store: Open, key: object) -> None:
    conv, _ = filled(open_store())

    found = open_store().rows(CONV, ROWS)[key]

    numpy.testing.assert_array_equal(found, conv[key])  # type: ignore[index]


@pytest.mark.parametrize("key", [numpy.array([1, 2], numpy.uint8), numpy.array([1, -2], numpy.int8)])
def test_row_numbers_may_be_of_a_type_that_is_too_small_for_the_last(open_store: Open, key: Array) -> None:
    head = values_of(HEAD, 300)
    store = open_store()
    store.make_room([HEAD], 300, 300)
    writer = store.writer("one")
    writer.put_rows(HEAD, 0, head)
    writer.commit([done(0, 0, 300)])
    writer.close()

    numpy.testing.assert_array_equal(open_store().rows(HEAD, 300)[key], head[key])


@pytest.mark.parametrize("number", [10, -11])
def test_a_row_that_there_cannot_be_is_an_index_error(open_store: Open, number: int) -> None:
    filled(open_store())
    with pytest.raises(IndexError):
        open_store().rows(CONV, ROWS)[number]


def test_several_writers_share_the_batches(open_store: Open) -> None:
    conv = values_of(CONV, ROWS)
    writers = [open_store() for _ in range(3)]
    for store in writers:
        store.make_room([CONV], ROWS, BATCH)
    for number, store in enumerate(reversed(writers)):
        writer = store.writer(f"rank-{number}")
        part = slice(number * BATCH, (number + 1) * BATCH)
        writer.put_rows(CONV, number * BATCH, conv[part])
        writer.commit([done(number, number * BATCH, len(conv[part]))])
        writer.close()

    progress = read_journals(open_store().journals())

    assert (sorted(progress.done), progress.num_rows) == ([0, 1, 2], ROWS)
    numpy.testing.assert_array_equal(open_store().rows(CONV, ROWS)[:], conv)


@pytest.mark.parametrize("size", [BATCH, None])
def test_rows_that_are_not_finished_do_not_disturb_the_others(open_store: Open, size: int | None) -> None:
    conv, _ = filled(open_store(), range(1, 2), size)

    rows = open_store().rows(CONV, ROWS)

    assert read_journals(open_store().journals()).rows_done(ROWS).nonzero()[0].tolist() == [4, 5, 6, 7]
    numpy.testing.assert_array_equal(rows[4:8], conv[4:8])
    assert rows[:].shape == conv.shape


def test_making_room_again_loses_nothing(open_store: Open) -> None:
    conv, head = filled(open_store())

    open_store().make_room([CONV, HEAD], ROWS, BATCH)

    numpy.testing.assert_array_equal(open_store().rows(CONV, ROWS)[:], conv)
    numpy.testing.assert_array_equal(open_store().rows(HEAD, ROWS)[:], head)


def test_a_batch_can_be_written_again(open_store: Open) -> None:
    conv, _ = filled(open_store())
    writer = open_store().writer("again")
    writer.put_rows(CONV, 4, conv[4:8])
    writer.commit([done(1, 4, 4)])
    writer.close()

    numpy.testing.assert_array_equal(open_store().rows(CONV, ROWS)[:], conv)


def test_values_may_be_overwritten_once_they_are_put(open_store: Open) -> None:
    store = open_store()
    store.make_room([CONV], 8, 4)
    conv = values_of(CONV, 8)
    writer, shared = store.writer("one"), numpy.empty((4, *CONV.shape), "<f4")
    for number in range(2):
        shared[:] = conv[number * 4 : number * 4 + 4]
        writer.put_rows(CONV, number * 4, shared)
    shared[:] = 0
    writer.commit([done(0, 0, 4), done(1, 4, 4)])
    writer.close()

    numpy.testing.assert_array_equal(open_store().rows(CONV, 8)[:], conv)


def test_values_in_another_order_and_of_another_type_are_stored_as_promised(open_store: Open) -> None:
    store = open_store()
    store.make_room([CONV, LABELS], 4, 4)
    turned = numpy.arange(4 * 12, dtype=">f8").reshape(2, 2, 3, 4).T
    writer = store.writer("one")
    writer.put_rows(CONV, 0, turned)
    writer.put_rows(LABELS, 0, numpy.array([3, 1, 2, 0], "int32"))
    writer.commit([done(0, 0, 4)])
    writer.close()

    found = open_store().rows(CONV, 4)[:]

    assert found.dtype == numpy.dtype("<f4")
    numpy.testing.assert_array_equal(found, turned)
    assert open_store().rows(LABELS, 4)[:].tolist() == [3, 1, 2, 0]


def test_a_stream_is_read_as_far_as_it_came(open_store: Open) -> None:
    conv, store = values_of(CONV, 9), open_store()
    store.make_room([CONV], None, None)
    writer = store.writer("one")
    for number, (first, end) in enumerate([(0, 4), (4, 5), (5, 9)]):  # a short one in the midst
        writer.put_rows(CONV, first, conv[first:end])
        writer.commit([done(number, first, end - first)])
        numpy.testing.assert_array_equal(open_store().rows(CONV, end)[:], conv[:end])
    writer.commit([Ended(batches=3, total_rows=9)])
    writer.close()
    store.end_at([CONV], 9)

    assert read_journals(open_store().journals()).ended == Ended(batches=3, total_rows=9)
    numpy.testing.assert_array_equal(open_store().rows(CONV, 9)[[8, 4, 0]], conv[[8, 4, 0]])


def test_ragged_batches_are_read_back(open_store: Open) -> None:
    store = open_store()
    store.make_room([WORDS], 7, 4)
    writer, batches = store.writer("one"), [sentences(4), sentences(2, 1), [], [numpy.empty((0, 4), "<f4")]]
    for number, batch in enumerate(batches):
        place = writer.put_ragged(WORDS, batch)
        writer.commit([done(number, number * 4, len(batch), places={"words": place})])
    writer.close()

    progress = read_journals(open_store().journals())

    for number, batch in enumerate(batches):
        found = open_store().ragged(WORDS, progress.done[number].places["words"])
        assert len(found) == len(batch)
        for one, other in zip(found, batch, strict=True):
            numpy.testing.assert_array_equal(one, other)
            assert one.shape == other.shape


def test_a_journal_cannot_ask_for_more_memory_than_its_part_has(open_store: Open) -> None:
    store = open_store()
    store.make_room([WORDS], 1, 1)
    writer = store.writer("one")
    place = writer.put_ragged(WORDS, [numpy.ones((3, 4), "<f4")])
    writer.commit([done(0, 0, 1, places={"words": place})])
    writer.close()

    with pytest.raises(FileFormatError, match="ends before value"):
        open_store().ragged(WORDS, msgspec.structs.replace(place, shapes=((2**40, 4),)))


def test_texts_are_read_back(open_store: Open) -> None:
    assert open_store().texts(IDS) is None
    named = numpy.array(["cat.png", "", "größe/犬 \n.png", 'with "quotes"'])

    open_store().write_texts(IDS, named)

    found = open_store().texts(IDS)
    assert found is not None
    assert found.tolist() == named.tolist()


def test_small_files_are_read_back_and_replaced(open_store: Open) -> None:
    assert open_store().read("manifest.json") is None

    open_store().write("manifest.json", b"one")
    open_store().write("manifest.json", b"another")

    assert open_store().read("manifest.json") == b"another"


def test_who_comes_first_writes_a_new_file_and_all_others_get_it(open_store: Open) -> None:
    assert open_store().write_new("manifest.json", b"first") == b"first"
    assert open_store().write_new("manifest.json", b"second") == b"first"
    assert open_store().read("manifest.json") == b"first"


def test_there_are_no_journals_before_the_first_commit(open_store: Open) -> None:
    store = open_store()
    assert store.journals() == []
    store.make_room([CONV], ROWS, BATCH)
    writer = store.writer("one")
    writer.put_rows(CONV, 0, values_of(CONV, 4))
    assert open_store().journals() == []
    writer.commit([])
    writer.close()
    assert open_store().journals() == []


def test_rows_of_nothing_can_be_stored(open_store: Open) -> None:
    store = open_store()
    empty = type(CONV)(name="empty", file="empty", dtype="<f4", shape=(0, 3))
    store.make_room([empty, CONV], 4, 4)
    writer = store.writer("one")
    writer.put_rows(empty, 0, numpy.empty((4, 0, 3), "<f4"))
    writer.commit([done(0, 0, 4)])
    writer.close()

    assert open_store().rows(empty, 4)[:].shape == (4, 0, 3)
    assert open_store().rows(CONV, 0)[:].shape == (0, 3, 2, 2)


def test_an_array_that_was_never_made_is_told(open_store: Open) -> None:
    with pytest.raises(FileFormatError, match=r"[Ee]xtract the features again"):
        open_store().rows(CONV, ROWS)


def test_what_is_taken_grows_with_what_is_written(open_store: Open) -> None:
    store = open_store()
    assert store.used_bytes() == 0
    filled(store)
    assert store.used_bytes() >= ROWS * (CONV.row_bytes + HEAD.row_bytes)


@pytest.mark.parametrize("kind", ["folder", "zarr", "zarr-file", "zarr-memory"])
def test_a_store_goes_to_another_process(kind: str, tmp_path: Path) -> None:
    store = opener(kind, tmp_path)()
    conv, _ = filled(store)

    copy = pickle.loads(pickle.dumps(store))

    numpy.testing.assert_array_equal(copy.rows(CONV, ROWS)[:], conv)
