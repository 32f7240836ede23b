"""A file that is damaged, cut short or made to harm gives a clear error: no crash, hang or huge memory."""

import contextlib
import json
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from safetensors.torch import save_file
from torch import Tensor, nn

import torcheer as tl
from tests.capture.forged_files import FIELDS, Forged
from tests.many import examples
from torcheer.capture.savefile import pass_schema as schema
from torcheer.capture.savefile.pass_schema import DOCUMENT, STRUCTURE
from torcheer.capture.savefile.python_values import unpacked
from torcheer.capture.savefile.read_pass import load_history
from torcheer.capture.savefile.safetensors_file import TensorFile
from torcheer.capture.savefile.write_pass import save_history
from torcheer.errors import FileFormatError
from torcheer.tensorfile import CHECKSUMS

ROOT = Path(__file__).parents[2]


class Small(nn.Module):
    """A loop, a branch, a view, a buffer, a nested module, a random op and a sparse value."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(2):
            x = torch.tanh(x)
        x.to_sparse()
        if x.sum() < 9:
            x = self.inner(x) * self.scale
        return x.t()[1:]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("good") / "pass.safetensors"
    save_history(tl.log_forward_pass(Small(), torch.randn(2, 3), activation_postfunc=None), path)
    return path


def use(path: Path) -> None:
    """Ask a file for everything that is in it."""
    history = load_history(path)
    str(history), history.module_tree, history.conditional_branches, history.to_pandas()
    for op in history:
        str(op), op.tensor_contents, op.func_rng_state
    file: TensorFile = history._tape.file  # type: ignore[attr-defined]
    if DOCUMENT in file:
        file.read(DOCUMENT)


def refused(path: Path) -> str:
    with pytest.raises(FileFormatError) as caught:
        use(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_the_good_file_is_good(good: Path) -> None:
    use(good)


# --- other files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"hello, world\n" * 50,
        b"PK\x03\x04" + b"\0" * 100,
        b"\xff" * 64,
        (2**63).to_bytes(8, "little") + b"{}",
        (2**63 - 1).to_bytes(8, "little") + b"{}",
        (99_999_999).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (0).to_bytes(8, "little"),
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
        (200_000).to_bytes(8, "little") + b'{"a":' * 40_000,
        (12).to_bytes(8, "little") + b'{"a": "\xff\xfe"}',
    ],
    ids=lambda content: repr(content[:16]),
)
def test_another_file_is_no_history(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)

    assert "history" in refused(tmp_path / "a")


def test_somebody_elses_safetensors_file_is_told_apart(tmp_path: Path) -> None:
    save_file({"weight": torch.ones(3)}, tmp_path / "a")

    assert "without a history" in refused(tmp_path / "a")


def test_what_is_no_file_at_all_says_so_itself(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_history(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        load_history(tmp_path)
    with pytest.raises(tl.InputError):
        load_history(3)  # type: ignore[arg-type]
    os.mkfifo(tmp_path / "pipe")
    assert "no ordinary file" in refused(tmp_path / "pipe")  # and does not wait for somebody to write


def test_a_newer_version_asks_for_an_update(good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    forged.metadata["torcheer.history"] = "2"
    forged.write(tmp_path / "a")

    assert "pip install --upgrade torcheer" in refused(tmp_path / "a")


@pytest.mark.parametrize("version", ["", "0", "-1", "1.0", "９", "1" * 5000, "x"])
def test_a_version_that_is_none_is_refused(version: str, good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    forged.metadata["torcheer.history"] = version
    forged.write(tmp_path / "a")

    refused(tmp_path / "a")


# --- damage --------------------------------------------------------------------------------------------


def test_a_file_cut_short_anywhere_is_refused(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    base = 8 + int.from_bytes(content[:8], "little")
    ends = {entry["data_offsets"][1] for name, entry in json.loads(content[8:base]).items() if name[0] != "_"}
    sizes = {0, 1, 7, 8, 9, base - 1, base, base + 1, len(content) - 1}
    sizes |= {base + end + step for end in ends for step in (-1, 0, 1)} - {len(content), len(content) + 1}
    sizes |= set(random.Random(0).sample(range(len(content)), 60))

    for size in sizes:
        (tmp_path / "a").write_bytes(content[:size])
        refused(tmp_path / "a")


def test_a_longer_file_is_refused(good: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(good.read_bytes() + b"\0")

    assert "bytes and should have" in refused(tmp_path / "a")


def test_any_bit_that_flips_is_found_when_it_is_read(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    base = 8 + int.from_bytes(content[:8], "little")
    choose = random.Random(0)
    places = [*range(8), *choose.sample(range(8, base), 60), *choose.sample(range(base, len(content)), 120)]

    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << choose.randrange(8)
        (tmp_path / "a").write_bytes(damaged)
        try:
            use(tmp_path / "a")
        except FileFormatError:
            continue
        # Of the header some letters say nothing: the types, which the structure has too.
        assert 8 <= place < base, place


def test_a_damaged_value_is_named_and_the_others_are_still_there(good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    content = good.read_bytes()
    place = content.index(forged.bodies["linear_1_5"])
    (tmp_path / "a").write_bytes(content[:place] + b"\1\2\3" + content[place + 3 :])

    history = load_history(tmp_path / "a")

    assert history["tanh_1"].tensor_contents is not None
    with pytest.raises(FileFormatError, match="linear_1_5"):
        history["linear_1"].tensor_contents


def test_a_file_that_is_cut_while_it_is_open_is_no_crash(good: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(good.read_bytes())
    history = load_history(tmp_path / "a")
    os.truncate(tmp_path / "a", 100)

    with pytest.raises(FileFormatError, match="changed after it was opened"):
        history["tanh_1"].tensor_contents


# --- headers that lie ------------------------------------------------------------------------------------


def set_entry(**changes: Any) -> Callable[[Any], None]:
    return lambda header: header["linear_1_5"].update(changes)


@pytest.mark.parametrize(
    "change",
    [
        set_entry(data_offsets=[0, 2**62]),
        set_entry(data_offsets=[2**63, 2**63 + 24]),
        set_entry(data_offsets=[-24, 0]),
        set_entry(data_offsets=[0, 24]),
        set_entry(data_offsets=[24, 0]),
        set_entry(data_offsets=[0.0, 24.0]),
        set_entry(data_offsets=[0]),
        set_entry(shape=[2**31, 2**31, 2**31]),
        set_entry(shape=[2**62] * 5000),
        set_entry(shape=[-1, -6]),
        set_entry(shape="23"),
        set_entry(shape=None),
        set_entry(dtype="F128"),
        set_entry(dtype=7),
        set_entry(dtype="F64"),
        lambda header: header.pop("linear_1_5"),
        lambda header: header.pop(STRUCTURE),
        lambda header: header.pop(CHECKSUMS),
        lambda header: header.update(__metadata__={"torcheer.history": 1}),
        lambda header: header.update(__metadata__=[]),
        lambda header: header.update(a=header.pop("linear_1_5")),
        lambda header: header.update({"a\\u0041": header["linear_1_5"]}),
    ],
)
def test_a_header_that_lies_is_refused(change: Callable[[Any], None], good: Path, tmp_path: Path) -> None:
    Forged.read(good).write(tmp_path / "a", header=change)

    refused(tmp_path / "a")


def test_a_tensor_named_twice_is_refused(good: Path, tmp_path: Path) -> None:
    content = good.read_bytes()
    base = 8 + int.from_bytes(content[:8], "little")
    entry = b'"linear_1_5":' + json.dumps(json.loads(content[8:base])["linear_1_5"]).encode()
    head = content[8:base].replace(b'"linear_1_5":', entry + b',"linear_1_5":')
    (tmp_path / "a").write_bytes(len(head).to_bytes(8, "little") + head + content[base:])

    assert "twice" in refused(tmp_path / "a")


# --- structures that lie -----------------------------------------------------------------------------------


def column(row: type[schema.Row], name: str) -> int:
    return row.__struct_fields__.index(name)


def in_op(index: int, **changes: Any) -> Callable[[Forged], None]:
    def change(forged: Forged) -> None:
        for name, value in changes.items():
            forged.rows("ops")[index][column(schema.StoredOp, name)] = value

    return change


def in_value(index: int, **changes: Any) -> Callable[[Forged], None]:
    def change(forged: Forged) -> None:
        value = forged.rows("ops")[index][column(schema.StoredOp, "value")]
        for name, new in changes.items():
            value[column(schema.StoredTensor, name)] = new

    return change


def in_row(table: str, index: int, place: int, value: Any) -> Callable[[Forged], None]:
    return lambda forged: forged.rows(table)[index].__setitem__(place, value)


def with_arguments(*args: Any) -> Callable[[Forged], None]:
    return lambda forged: forged.rows("calls")[1].__setitem__(1, ["tuple", ["tensor"], *args])


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = ["list", value]
    return value


def _with_param(forged: Forged) -> Any:
    """The first parameter of a module."""
    return next(row[3][0] for row in forged.rows("modules") if row[3])


LIES: dict[str, Callable[[Forged], None]] = {
    "a parent of its own": in_op(1, parents=[1]),
    "a parent that comes later": in_op(1, parents=[3]),
    "a parameter that is not there": in_op(1, parents=[-99]),
    "a huge parent": in_op(1, parents=[2**70]),
    "no parent for a tensor": in_op(1, parents=[]),
    "a call outside": in_op(1, call=999),
    "a scope outside": in_op(1, scope=999),
    "a site outside": in_op(1, site=999),
    "a site before": in_op(1, site=-2),
    "a context outside": in_op(1, context=999),
    "an outline outside": in_op(1, outline=999),
    "a layer too early": in_op(1, layer=5),
    "a negative layer": in_op(1, layer=-1),
    "a null": in_op(1, seconds=None),
    "a text": in_op(1, position="1"),
    "an absurd shape": in_op(1, shape=[2**62, 2**62]),
    "a shape without end": in_op(1, shape=[1] * 100_000),
    "a negative size": in_op(1, num_bytes=-1),
    "a number of many digits": in_op(1, num_bytes=10**400),
    "another shape than the value": in_op(1, shape=[3, 2]),
    "a tensor that is missing": in_value(1, tensor="nowhere"),
    "a tensor that is smaller": in_value(1, tensor="buffer_1_7"),
    "a stride too many": in_value(1, stride=[3, 1, 1]),
    "a stride too long": in_value(1, stride=[2**61, 1]),
    "a negative stride": in_value(1, stride=[-3, 1]),
    "an offset outside": in_value(1, stride=[3, 1], offset=1),
    "an unknown kind": in_value(1, kind="pickle"),
    "an unknown type": in_value(1, dtype="object"),
    "another type": in_value(1, dtype="float64"),
    "parts that are missing": in_value(3, parts=[]),
    "parts of parts": in_value(3, parts=[["coo", "int64", []]] * 2),
    "numbers that are missing": in_value(3, numbers=[]),
    "a scope inside itself": in_row("scopes", 0, 0, 0),
    "a scope inside a later one": in_row("scopes", 1, 0, 2),
    "an output outside": in_row("scopes", 1, 7, [99]),
    "a scope of endless ops": in_row("scopes", 1, 6, 2**61),
    "a trait outside": in_row("calls", 0, 0, 99),
    "an own trait that is none": in_row("traits", 0, 0, "eval"),
    "a line outside": lambda f: f.rows("sites")[0].append(99),
    "a device of no kind": in_row("outlines", 0, 1, "/etc/passwd"),
    "a device that is a number": in_row("outlines", 0, 1, 5),
    "a device that is nothing": in_row("outlines", 0, 1, None),
    "a type that is a number": in_row("outlines", 0, 0, 5),
    "an outline of no type": in_row("outlines", 0, 0, "Tensor"),
    "a parameter of no shape": in_row("params", 0, 1, [-1]),
    "a parameter too large": in_row("params", 0, 1, [2**40, 2**40]),
    "a parameter of no type": in_row("params", 0, 2, "os"),
    "whole numbers that want a gradient": in_row("params", 0, 2, "int64"),
    "autocast to nothing": in_row("contexts", 0, 2, [["cpu", "x"]]),
    "a read of nothing": in_row("reads", 0, 1, 99),
    "a branch without end": in_row("reads", 0, 8, 2**61),
    "a parameter with fewer than no elements": lambda f: _with_param(f).__setitem__(2, -7),
    "a parameter larger than any": lambda f: _with_param(f).__setitem__(2, 10**40),
    "a module twice": lambda f: f.rows("modules").append(f.rows("modules")[1]),
    "a module missing": lambda f: f.rows("modules").pop(),
    "a module inside itself": lambda f: f.rows("modules")[1][2].append("inner"),
    "a module above itself": lambda f: f.rows("modules")[1][2].append(""),
    "a module in two places": lambda f: f.rows("modules")[0][2].append("inner.0"),
    "a call of a module outside": lambda f: f.rows("module_calls")[0][1].append(99),
    "calls of a module twice": lambda f: f.rows("module_calls").append(f.rows("module_calls")[0]),
    "saved ops outside": lambda f: f.structure.__setitem__(FIELDS["saved"], [99]),
    "treated ops outside": lambda f: f.rows("treated").append([99, 1]),
    "a treated value of nothing": lambda f: f.rows("treated").append([1, ["value", ["dense", "int8", []]]]),
    "a treated value of no value": lambda f: f.rows("treated").append([1, ["value"]]),
    "treated twice": lambda f: f.rows("treated").extend([[1, 1], [1, 2]]),
    "stopped at no op": lambda f: f.rows("facts").__setitem__(8, 99),
    "a seed without end": lambda f: f.rows("facts").__setitem__(1, 2**80),
    "a field too many": lambda f: f.rows("ops")[0].append(1),
    "a field too few": lambda f: f.rows("ops")[0].__delitem__(slice(5, None)),
    "a table of another kind": lambda f: f.structure.__setitem__(FIELDS["ops"], {}),
    "a table too few": lambda f: f.structure.__delitem__(slice(12, None)),
    "an argument of an unknown kind": with_arguments(["eval", "1"]),
    "an argument of no kind": with_arguments([[]]),
    "an argument that is empty": with_arguments([]),
    "an object": with_arguments({"a": 1}),
    "arguments without end": with_arguments(deep(300)),
    "a key that is a list": with_arguments(["dict", ["list"], 1]),
    "a key that stands twice": with_arguments(["dict", "a", 1, "a", 2]),
    "a dict of three": with_arguments(["dict", "a", 1, "b"]),
    "keys that collide": with_arguments(["set", *(k * (2**61 - 1) for k in range(20_000))]),
    "an array of another size": with_arguments(["numpy", "int8", "1000000000000", 1]),
    "an array of another kind": with_arguments(["numpy", "V1000000000", "1", 1]),
    "an array of objects": with_arguments(["numpy", "object", "1", 1]),
    "a size too large": with_arguments(["size", 2**80]),
    "a size of text": with_arguments(["size", "1"]),
    "a range of text": with_arguments(["range", "a", 1, 1]),
    "a range that stands still": with_arguments(["range", 0, 1, 0]),
    "a device of a path": with_arguments(["device", "../../x"]),
    "a named tuple of code": with_arguments(["named", "X", "a;import_os", 1]),
    "a named tuple of underscores": with_arguments(["named", "X", "__class__", 1]),
    "a named tuple of other names": with_arguments(["named", "X", "a b", 1]),
    "bytes that are none": with_arguments(["bytes", "%%%"]),
    "a number that is none": with_arguments(["int", "zz"]),
    "a float that is none": with_arguments(["float", "1e5"]),
    "a type that is none": with_arguments(["dtype", "__builtins__"]),
    "a value among arguments": with_arguments(["value", ["dense", "float32", [3]]]),
    "keywords that are a list": in_row("calls", 1, 2, ["list"]),
    "keywords without names": in_row("calls", 1, 2, ["dict", 1, 2]),
    "arguments that are a list": in_row("calls", 1, 1, ["list"]),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_structure_that_lies_is_refused(lie: Callable[[Forged], None], good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    lie(forged)
    forged.write(tmp_path / "a")

    refused(tmp_path / "a")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"{}",
        b"[]",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'["\xff"]',
        b'["\\ud800"]',
        b"[1e999]",
        b"[NaN]",
        b" " * 1000,
        b"[[" + b"9" * 100_000 + b"]]",
        b"\x80\x04\x95",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_structure_that_is_none_is_refused(text: bytes, good: Path, tmp_path: Path) -> None:
    Forged.read(good).write(tmp_path / "a", text=text)

    refused(tmp_path / "a")


def test_modules_inside_each_other_without_end_are_refused(good: Path, tmp_path: Path) -> None:
    forged = Forged.read(good)
    last = len(forged.rows("scopes")) - 1
    forged.rows("scopes").extend([last + i, "a", "A", -1, 1, 0, 0, [], 0.0] for i in range(5000))
    forged.write(tmp_path / "a")

    assert "without end" in refused(tmp_path / "a")


def nodes(tree: Any, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    found = [path]
    for i, item in enumerate(tree if isinstance(tree, list) else ()):
        found += nodes(item, (*path, i))
    return found


JUNK = st.one_of(
    st.integers(-5, 20),
    st.sampled_from(
        [2**31, 2**63, -(2**63), 2**64, 10**30, None, True, "", "x", [], {}, 0.5, -1e300, ["tensor"]]
    ),
    st.lists(st.integers(-3, 9), max_size=4),
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_is_written_into_the_structure_there_is_an_answer_or_a_clear_error(
    data: st.DataObject, good: Path, tmp_path: Path
) -> None:
    forged = Forged.read(good)
    places = nodes(forged.structure)
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from(places[1:]))
        target: Any = forged.structure
        try:
            for step in path:
                target = target[step]
            target[last] = data.draw(JUNK)
        except (TypeError, IndexError):
            continue  # an earlier change took it away
    forged.write(tmp_path / "a")

    with contextlib.suppress(FileFormatError):
        use(tmp_path / "a")


@settings(max_examples=examples(100), deadline=None)
@given(st.recursive(st.one_of(JUNK, st.sampled_from(["tuple", "dict", "named", "numpy", "set"])), st.lists))
def test_whatever_stands_for_an_argument_is_read_or_refused(data: Any) -> None:
    try:
        value = unpacked(data)
    except ValueError:
        return
    repr(value)


def test_hostile_files_take_little_memory_and_time(good: Path, tmp_path: Path) -> None:
    """Each is opened in a process that may take hardly more than it has, and has seconds to live."""
    forged = Forged.read(good)
    forged.holes["torcheer.more"], forged.types["torcheer.more"] = 2**42, ("U8", [2**42])
    forged.write(tmp_path / "hole")
    whole = good.read_bytes()
    (tmp_path / "length").write_bytes((2**40).to_bytes(8, "little") + whole[8:])
    (tmp_path / "deep").write_bytes((10**7).to_bytes(8, "little") + b"[" * 10**7)
    for name, lie in {
        "expanded": in_value(1, shape=[2**50], stride=[0]),
        "stretched": in_op(1, shape=[2**50]),
        "numbers": with_arguments(["numpy", "float64", "99999999999999", 1]),
        "params": in_row("params", 0, 1, [2**55]),
        "keys": with_arguments(["set", *(k * (2**61 - 1) for k in range(50_000))]),
    }.items():
        forged = Forged.read(good)
        lie(forged)
        forged.write(tmp_path / name)
    huge = Forged.read(good)
    huge.write(tmp_path / "structure", header=lambda h: h[STRUCTURE].update(shape=[2**41]))
    code = f"""
        import os, resource, signal, torch
        from torcheer.capture.savefile.read_pass import load_history
        from torcheer.errors import FileFormatError
        load_history({str(good)!r})
        pages = int(open('/proc/self/statm').read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 150_000_000, -1))
        for name in sorted(os.listdir('.')):
            signal.setitimer(signal.ITIMER_PROF, 2)  # of CPU time; its end ends the process
            try:
                history = load_history(name)
                str(history), history.total_flops
                print(name, 'opened')
            except FileFormatError:
                print(name, 'refused')
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False, timeout=60
    )

    assert done.stderr == ""
    answers = dict(line.split() for line in done.stdout.splitlines())
    assert set(answers) == set(os.listdir(tmp_path))
    # A hole that nobody asks for, and a parameter that has no values, do no harm.
    assert {name for name, answer in answers.items() if answer == "opened"} == {"hole", "params"}


def test_nothing_in_a_file_is_imported_or_opened(good: Path, tmp_path: Path) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    forged = Forged.read(good)
    for frame in forged.rows("frames"):
        frame[0], frame[4] = str(tmp_path / "trap.py"), False
    for trait in forged.rows("traits"):
        trait[0] = trait[0] if trait[2] else "trap"
    forged.rows("facts")[0] = "trap"
    forged.write(tmp_path / "a")
    opened: list[Any] = []
    watching = True

    def watch(event: str, args: Any) -> None:
        is_again = event == "open" and isinstance(args[0], int)  # by its descriptor
        watched = ("open", "import", "exec", "compile", "os.system", "pickle.find_class")
        if watching and event in watched and not is_again:
            opened.append((event, args[0]))

    use(good)  # whatever is imported on first use
    sys.addaudithook(watch)
    use(tmp_path / "a")
    watching = False

    assert opened == [("open", str(tmp_path / "a"))]


def test_the_schema_has_no_field_that_could_be_anything_but_arguments() -> None:
    """`Any` is not checked by msgspec: whoever adds one must check it by hand."""
    untyped = {
        (name, field.name)
        for name, row in vars(schema).items()
        if isinstance(row, type) and issubclass(row, schema.Row)
        for field in msgspec.structs.fields(row)
        if "Any" in str(field.type)
    }

    assert untyped == {
        ("StoredCall", "args"),
        ("StoredCall", "kwargs"),
        ("StoredRead", "value"),
        ("StoredPass", "treated"),
    }
