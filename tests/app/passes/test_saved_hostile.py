"""A saved pass that is damaged, cut short or made to harm: one sentence, no crash, hang or huge memory."""

import contextlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from safetensors.torch import save_file

import torcheer as tl
from tests.app.many_types import many_types
from tests.capture.forged_files import Forged
from tests.many import examples
from torcheer.app.passes.saved import open_pass_file
from torcheer.capture.savefile.pass_schema import DOCUMENT
from torcheer.errors import FileFormatError, InputError

KINDS = ("output", "grad", "param", "param_grad")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "pass.safetensors"
    many_types().save(path)
    return path


def use(path: Path) -> None:
    """Ask a file for everything that is in it."""
    source = open_pass_file(path)
    document = source.document()
    for kind in KINDS:
        for index in range(len(document.params if "param" in kind else document.ops)):
            source.tensor(kind, index, None)  # type: ignore[arg-type]
    source.figures("zeros")


def refused(path: Path) -> str:
    with pytest.raises(FileFormatError) as caught:
        use(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# --- files that are none ---------------------------------------------------------------------------------


def test_a_file_of_an_older_torcheer_names_what_to_do(good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    del forged.bodies[DOCUMENT]
    forged.write(tmp_path / "old")

    assert "tl.load_history(path).save(path)" in refused(tmp_path / "old")

    tl.load_history(tmp_path / "old").save(tmp_path / "new")
    assert len(open_pass_file(tmp_path / "new").document().ops) == len(open_pass_file(good).document().ops)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"hello, world\n" * 50,
        b"\xff" * 64,
        (2**63 - 1).to_bytes(8, "little") + b"{}",
        (99_999_999).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
        (200_000).to_bytes(8, "little") + b'{"a":' * 40_000,
    ],
    ids=lambda content: repr(content[:16]),
)
def test_another_file_is_no_pass(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)

    assert "history.save" in refused(tmp_path / "a")


def test_what_is_no_pass_at_all_says_so(tmp_path: Path) -> None:
    save_file({"weight": torch.ones(3)}, tmp_path / "weights")
    assert "without a pass" in refused(tmp_path / "weights")
    assert "no ordinary file" in refused(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_pass_file(tmp_path / "missing")
    with pytest.raises(InputError):
        open_pass_file(3)  # type: ignore[arg-type]
    os.mkfifo(tmp_path / "pipe")
    assert "no ordinary file" in refused(tmp_path / "pipe")  # and does not wait for somebody to write


@pytest.mark.parametrize("version", ["2", "0", "-1", "x", "1" * 5000])
def test_another_version_is_refused(version: str, good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    forged.metadata["torcheer.history"] = version
    forged.write(tmp_path / "a")

    assert "version" in refused(tmp_path / "a")


# --- damage ----------------------------------------------------------------------------------------------


def test_a_file_cut_short_anywhere_is_refused(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    base = 8 + int.from_bytes(content[:8], "little")
    sizes = {0, 1, 7, 8, 9, base - 1, base, base + 1, len(content) - 1}
    for size in sizes | set(random.Random(0).sample(range(len(content)), 60)):
        (tmp_path / "a").write_bytes(content[:size])
        refused(tmp_path / "a")


def test_any_bit_that_flips_is_found_when_it_is_read(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    base = 8 + int.from_bytes(content[:8], "little")
    forged = Forged.read(good)
    # Random states are not shown, so they are not read.
    unread = [
        (content.index(body), len(body)) for name, body in forged.bodies.items() if name.startswith("rng.")
    ]
    choose = random.Random(0)
    for place in [*choose.sample(range(8, base), 40), *choose.sample(range(base, len(content)), 80)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << choose.randrange(8)
        (tmp_path / "a").write_bytes(damaged)
        try:
            use(tmp_path / "a")
        except FileFormatError:
            continue
        # Of the header some letters say nothing: the types, which the structure has too.
        assert 8 <= place < base or any(start <= place < start + size for start, size in unread), place


def test_a_file_that_is_cut_while_it_is_open_is_no_crash(good: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(good.read_bytes())
    source = open_pass_file(tmp_path / "a")
    os.truncate(tmp_path / "a", 100)

    with pytest.raises(FileFormatError, match="ends too early"):
        source.tensor("output", 0, None)


# --- files made to harm ----------------------------------------------------------------------------------


def forged_document(good: Path, path: Path, change: Callable[[Any], Any]) -> None:
    forged = Forged.read(good)
    document = json.loads(forged.bodies[DOCUMENT])
    text = json.dumps(change(document) or document).encode()
    forged.bodies[DOCUMENT], forged.types[DOCUMENT] = text, ("U8", [len(text)])
    forged.write(path)


@pytest.mark.parametrize(
    "place",
    [
        ("ops", 5, "scope", 10**6),
        ("ops", 5, "scope", -1),
        ("ops", 5, "parents", [[5, "0"]]),
        ("ops", 5, "parents", [[-1, "0"]]),
        ("ops", 5, "params", [7]),
        ("ops", 5, "stack", [10**9]),
        ("ops", 5, "source", -2),
        ("ops", 5, "layer", 10**6),
        ("ops", 5, "pass_num", 0),
        ("ops", 5, "num_passes", 10**9),
        ("ops", 5, "shape", [1] * 65),
        ("ops", 5, "shape", [-7]),
        ("ops", 5, "num_bytes", -1),
        ("ops", 5, "kind", "bomb"),
        ("ops", 5, "shape", None),
        ("scopes", 0, "parent", 0),
        ("scopes", 0, "parent", -9),
        ("scopes", 0, "outputs", [10**6]),
        ("scopes", 0, "num_ops", 10**6),
        ("scopes", 0, "first_op", -1),
        ("scopes", 0, "source", 10**6),
        ("params", 0, "address", "another"),
        ("params", 0, "shape", [-2]),
        ("sources", 0, "line", -1),
    ],
    ids=lambda place: f"{place[0]}-{place[2]}-{place[3]}"[:40],
)
def test_a_document_that_points_outside_of_itself_is_refused(
    place: tuple[str, int, str, Any], good: Path, tmp_path: Path
) -> None:
    table, index, field, wrong = place

    def change(document: Any) -> None:
        document[table][index][field] = wrong

    forged_document(good, tmp_path / "a", change)

    refused(tmp_path / "a")


def test_a_document_of_another_pass_or_of_a_newer_torcheer_is_refused(good: Path, tmp_path: Path) -> None:
    forged_document(
        good, tmp_path / "shorter", lambda document: {**document, "ops": [], "scopes": [], "branches": []}
    )
    forged_document(good, tmp_path / "newer", lambda document: {**document, "version": 99})

    assert "another pass" in refused(tmp_path / "shorter")
    assert "pip install --upgrade" in refused(tmp_path / "newer")


def test_modules_that_run_inside_each_other_without_end_are_refused(good: Path, tmp_path: Path) -> None:
    def change(document: Any) -> None:
        first = document["scopes"][0]
        document["scopes"] += [{**first, "parent": i + len(document["scopes"]) - 1} for i in range(3000)]

    forged_document(good, tmp_path / "a", change)

    assert "without end" in refused(tmp_path / "a")


def value_row(forged: Forged) -> Any:
    """The row of an op's value that can be changed: kind, dtype, shape, tensor, stride, offset."""
    return next(
        row[11] for row in forged.rows("ops") if row[11] and row[11][0] == "dense" and len(row[11][2]) == 2
    )


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (0, "pickle"),
        (2, [-1]),
        (2, [2**62, 2**62]),
        (2, [10**9]),
        (2, [1] * 70),
        (3, "torcheer.nothing"),
        (4, [-1, 1]),
        (4, [2**61, 2**61]),
        (4, [1]),
        (5, 10**9),
        (5, -1),
    ],
)
def test_a_value_that_reaches_outside_of_its_bytes_is_refused(
    place: int, wrong: Any, good: Path, tmp_path: Path
) -> None:
    forged = Forged.read(good)
    row = value_row(forged)
    row += [None] * (4 - len(row)) + [None, 0][len(row) - 4 :] if len(row) < 6 else []
    row[4] = row[4] or [row[2][1], 1]
    row[place] = wrong
    forged.write(tmp_path / "a")

    refused(tmp_path / "a")


@pytest.mark.parametrize(
    ("shape", "stride"), [([2**40, 2], [0, 1]), ([2**31, 2**30], [0, 0]), ([1] * 60, [0] * 60)]
)
def test_a_value_that_shows_little_memory_very_often_takes_no_time(
    shape: list[int], stride: list[int], good: Path, tmp_path: Path
) -> None:
    forged = Forged.read(good)
    row = value_row(forged)
    row[1:] = ["bool", shape, row[3], stride, 0]
    forged.write(tmp_path / "a")
    source = open_pass_file(tmp_path / "a")
    index = next(i for i, op in enumerate(forged.rows("ops")) if op[11] is row)

    found = source.tensor("output", index, None)

    assert not isinstance(found, str)
    assert found[0].shape == shape


def test_windows_that_overlap_beyond_measure_are_not_gone_through(good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    forged.bodies["many"], forged.types["many"] = bytes(20_000), ("U8", [20_000])
    row = value_row(forged)
    row[1:] = ["uint8", [10_000, 10_000], "many", [1, 1], 0]
    forged.write(tmp_path / "a")
    index = next(i for i, op in enumerate(forged.rows("ops")) if op[11] is row)

    assert "overlap" in str(open_pass_file(tmp_path / "a").tensor("output", index, None))


def test_a_tensor_that_takes_no_place_on_the_disk_takes_none_in_memory(good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    forged.holes["hole"], forged.types["hole"] = 1 << 40, ("U8", [1 << 40])
    row = value_row(forged)
    row[1:] = ["uint8", [1 << 20, 1 << 20], "hole"]
    forged.write(tmp_path / "a")
    index = next(i for i, op in enumerate(forged.rows("ops")) if op[11] is row)

    assert "more than a page reads" in str(open_pass_file(tmp_path / "a").tensor("output", index, None))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner)
)


@settings(
    deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_whatever_stands_in_a_file_it_opens_or_is_refused(
    data: st.DataObject, good: Path, tmp_path: Path
) -> None:
    forged = Forged.read(good)
    document = json.loads(forged.bodies[DOCUMENT])
    for _ in range(data.draw(st.integers(1, 3))):
        tree = data.draw(st.sampled_from([forged.structure, document]))
        while True:
            keys = list(tree) if isinstance(tree, dict) else range(len(tree))
            key = data.draw(st.sampled_from(keys))
            if not isinstance(tree[key], list | dict) or not tree[key] or data.draw(st.integers(0, 3)) == 0:
                break
            tree = tree[key]
        tree[key] = data.draw(TREES)
    text = msgspec.json.encode(document)
    forged.bodies[DOCUMENT], forged.types[DOCUMENT] = text, ("U8", [len(text)])
    forged.write(tmp_path / "a")

    with contextlib.suppress(FileFormatError):
        use(tmp_path / "a")
