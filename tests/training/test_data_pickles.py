"""Pickles are read and never run: what data sets are made of comes through, everything else is named."""

import os
import pickle
import struct
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torcheer.errors import FileFormatError
from torcheer.training.data.restrictedpickle import read_plain_pickle

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


class Calls:
    """An exploit: whoever unpickles it calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self) -> None:
        """Only what can be called is pickled as something to call."""

    def __reduce__(self) -> Any:
        return self.function, self.arguments


@given(PLAIN, st.integers(0, 5))
def test_plain_data_come_back_as_pickle_itself_reads_them(value: Any, protocol: int) -> None:
    written = pickle.dumps(value, protocol)

    assert read_plain_pickle(written, "it") == pickle.loads(written)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("code", ["u1", "<i8", ">i4", "?", "<f2", ">f8"])
def test_arrays_come_back_in_every_protocol_order_and_layout(protocol: int, code: str) -> None:
    array = numpy.arange(24).reshape(2, 3, 4).astype(code)
    laid_out = [array, numpy.asfortranarray(array), array.transpose(2, 0, 1), array[:, ::2], array[:0]]
    written = pickle.dumps({"arrays": laid_out, "again": array, "one": array[1, 2, 3]}, protocol)

    read = read_plain_pickle(written, "it")

    for found, wanted in zip(read["arrays"], laid_out, strict=True):
        assert found.dtype == wanted.dtype
        assert numpy.array_equal(found, wanted)
    assert read["again"] is read["arrays"][0]
    assert read["one"] == array[1, 2, 3].item()


def test_a_file_of_python_2_and_an_old_numpy_is_read() -> None:
    """As the published batches begin: texts without encoding, and module names of numpy 1."""
    written = (
        b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x06K\x09eU\x04dataq\x04cnumpy.core.multiarray\n_reconstruct\n"
        b"q\x05cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87Rq\x07(K\x01K\x02K\x03\x86cnumpy\ndtype\nq\x08U\x02u1K\x00"
        b"K\x01\x87Rq\x09(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T\x06\x00\x00\x00;\x00\xff"
        b"\x80\n'tbu."
    )

    read = read_plain_pickle(written, "data_batch_1")

    assert read["labels"] == [6, 9]
    assert read["data"].tolist() == [[59, 0, 255], [128, 10, 39]]


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize(
    ("exploit", "named"),
    [
        (lambda path: Calls(os.system, f"touch {path}"), "system"),
        (lambda path: Calls(eval, f"open({str(path)!r}, 'w').close()"), "eval"),
        (lambda path: Calls(os.mkdir, str(path)), "mkdir"),
        (lambda path: [1, {"data": Calls(Path.touch, path)}], "(getattr|Path.touch)"),
        # A chain: what one call gives is called by the next.
        (lambda path: Calls(Calls(getattr, Calls(__import__, "os"), "mkdir"), str(path)), "getattr"),
        (lambda path: {"data": numpy.array([Calls(os.mkdir, str(path))], object)}, "(O8|mkdir)"),
    ],
)
def test_an_exploit_is_refused_by_name_and_nothing_of_it_runs(
    exploit: Any, named: str, protocol: int, tmp_path: Path
) -> None:
    mark = tmp_path / "was-here"
    written = pickle.dumps(exploit(mark), protocol)

    with pytest.raises(FileFormatError, match=f"^data_batch_1.*{named}"):
        read_plain_pickle(written, "data_batch_1")

    assert not mark.exists()
    pickle.loads(written)
    assert mark.exists()  # it was a real one


@pytest.mark.parametrize(
    "value",
    [partial(int, "7"), OrderedDict(a=1), {1, 2}, 0.5, 1j, print, numpy.random.RandomState(0), Path()],
)
def test_whatever_a_data_set_does_not_need_is_refused_harmless_or_not(value: Any) -> None:
    with pytest.raises(FileFormatError):
        read_plain_pickle(pickle.dumps({"data": value}), "it")


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (b"(S'id'\nios\nsystem\n.", "INST 'os system'"),
        (b"\x80\x02\x82\x01.", "EXT1"),
        (b"Pid\n.", "PERSID 'id'"),
        (b"\x80\x02cnumpy\nndarray\n)\x81.", "NEWOBJ"),
        (b"\x80\x02cnumpy\nload\n.", "numpy.load"),
        (b"\x80\x02cnumpy.core.multiarray\nfromfile\n.", "fromfile"),
        (b"cnumpy\nndarray\n(I9999999\ntR.", "as numpy never does"),
        (b"\x80\x02]q\x00}b.", "list is given a state"),
        (b"\x80\x02cnumpy\ndtype\n}b.", "is given a state"),
        (b"\x80\x04(\x8c\x01a\x8c\x01b\x93.", "'a.b'"),
        (b"\x80\x02cos\n\x1b[31msystem\n.", r"\\x1b"),
    ],
)
def test_handmade_instructions_are_refused(written: bytes, why: str) -> None:
    with pytest.raises(FileFormatError, match=why):
        read_plain_pickle(written, "it")


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\x80\x02",
        b"N",
        b"..",
        b"a.",
        b"0.",
        b"(.",
        b"h\x00.",
        b"]h\x07.",
        b"\x80\x02}]Ns.",  # a list as a key
        b"NNs.",
        b"\xff\xff\xff\xff",
        b"<html>Not Found</html>",
        bytes(1000),
    ],
)
def test_what_is_no_pickle_is_an_error_that_names_the_file(written: bytes) -> None:
    with pytest.raises(FileFormatError, match=r"^test_batch"):
        read_plain_pickle(written, "test_batch")


def test_a_pickle_that_is_cut_anywhere_is_an_error() -> None:
    written = pickle.dumps({"data": numpy.zeros((2, 3), "u1"), "labels": [1, 2]}, 4)

    for end in range(len(written)):
        with pytest.raises(FileFormatError):
            read_plain_pickle(written[:end], "it")


@pytest.mark.parametrize(
    "written",
    [
        b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x.",  # bytes
        b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"x.",  # text
        b"\x80\x05\x96" + struct.pack("<Q", 2**62) + b"x.",  # a bytearray
        b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b"x.",  # a number
        b"\x80\x02T" + struct.pack("<i", -1) + b"x.",
        b"L" + b"9" * 100_000 + b"L\n.",
    ],
)
def test_sizes_that_are_only_declared_allocate_nothing(written: bytes) -> None:
    with pytest.raises(FileFormatError):
        read_plain_pickle(written, "it")


def test_a_memo_of_two_billion_places_takes_one() -> None:
    assert read_plain_pickle(b"\x80\x02]r\xff\xff\xff\x7f0j\xff\xff\xff\x7f.", "it") == []


def test_an_array_has_as_many_bytes_as_its_shape_says() -> None:
    written = pickle.dumps(numpy.zeros((2, 3), "u1"), 2)

    for shape in (b"M\xff\xffM\xff\xff\x86", b"K\x01K\x03\x86", b"J\xff\xff\xff\xffJ\xfa\xff\xff\xff\x86"):
        with pytest.raises(FileFormatError, match=r"has 6 bytes|no shape"):
            read_plain_pickle(written.replace(b"K\x02K\x03\x86", shape), "it")


def test_nesting_without_end_takes_no_stack_and_no_time() -> None:
    deep = read_plain_pickle(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", "it")
    doubled = b")" + b"2\x86" * 200  # a tuple of two of a tuple of two of …: 2**200 in all

    assert len(deep) == 1
    assert len(read_plain_pickle(b"\x80\x02" + doubled + b".", "it")) == 2
    # As a key it would be hashed, all of it. (Fewer here: without the check this should fail, not hang.)
    with pytest.raises(FileFormatError, match="key is no text"):
        read_plain_pickle(b"\x80\x02}" + doubled[:41] + b"Ns.", "it")


def test_more_instructions_than_any_set_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torcheer.training.data.restrictedpickle._MAX_OPCODES", 1000)

    with pytest.raises(FileFormatError, match="1,000 instructions"):
        read_plain_pickle(b"\x80\x02" + b"]0" * 1000 + b"N.", "it")
