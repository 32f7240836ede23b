"""A pass that was saved and loaded again is the same pass, and its values are read when asked for."""

import dataclasses
import errno
import gc
import json
import math
import os
import stat
import subprocess
import sys
import textwrap
import types
from collections import namedtuple
from collections.abc import Callable, Iterator
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

import torcheer as tl
from tests.capture.forged_files import Forged
from tests.capture.models import SmallModel, some_models
from tests.capture.outcomes import Does, capture, same
from tests.many import examples
from torcheer.capture import PassRecord
from torcheer.capture.aliasing import Geometry
from torcheer.capture.draw_pass import summarise
from torcheer.capture.function_mode import Unkept
from torcheer.capture.savefile.pass_schema import StoredOp, as_json
from torcheer.capture.savefile.python_values import packed, unpacked
from torcheer.capture.savefile.read_pass import load_history
from torcheer.capture.savefile.safetensors_file import TensorFile, bytes_of
from torcheer.capture.savefile.write_pass import save_history
from torcheer.capture.tape import TENSOR
from torcheer.errors import InputError
from torcheer.graph import ModuleTree
from torcheer.graph import progress_bars as progress
from torcheer.tensorfile import CHECKSUMS

ROOT = Path(__file__).parents[2]
OWN = {"torcheer.structure", "torcheer.document", CHECKSUMS}
NOT_IN_A_FILE = {"func_applied", "output", "creation_args", "creation_kwargs"}


def kept(history: tl.ModelHistory, folder: Path) -> tl.ModelHistory:
    """The same pass by way of a file."""
    save_history(history, folder / "pass.safetensors")
    return load_history(folder / "pass.safetensors")


def of(function: Callable[..., Any], *inputs: Tensor, **options: Any) -> tl.ModelHistory:
    return tl.log_forward_pass(Does(function), list(inputs), **options)


def properties(kind: type) -> list[str]:
    """Every public thing that can be asked without an argument."""
    return [
        name
        for name in dir(kind)
        if not name.startswith("_")
        and not isinstance(getattr(kind, name), types.FunctionType)
        and name not in NOT_IN_A_FILE
    ]


def differences(a: Any, b: Any, path: str = "") -> Iterator[str]:
    """Where two values differ; tensors by their numbers, objects by what is in them."""
    if isinstance(a, Unkept) or isinstance(b, Unkept):
        return  # of another class, or too large: it is only described
    if isinstance(a, tl.Op) and isinstance(b, tl.Op):
        a, b = a.layer_label, b.layer_label
    inside = parts_of(a)
    if inside is None or type(a) is not type(b):
        yield from () if alike(a, b) else (f"{path}: {a!r} is not {b!r}",)
        return
    others = parts_of(b) or {}
    yield from () if list(inside) == list(others) else (f"{path}: {list(inside)} is not {list(others)}",)
    for name in inside.keys() & others.keys():
        yield from differences(inside[name], others[name], f"{path}.{name}")


def parts_of(value: Any) -> dict[Any, Any] | None:
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, ModuleTree):
        return vars(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def alike(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a == b and repr(a) == repr(b)  # a named tuple, whose class is another
    if isinstance(a, Tensor) and type(b) is Tensor:
        return a.layout == b.layout and a.dtype == b.dtype and same(a, b)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and (bool(a == b) or (a != a and b != b))


def asked(history: tl.ModelHistory, name: str) -> Any:
    try:
        return getattr(history, name)
    except InputError as error:
        return str(error)


def assert_same_pass(loaded: tl.ModelHistory, history: tl.ModelHistory) -> None:
    assert str(loaded) == str(history)
    assert repr(loaded) == repr(history)
    assert str(summarise(loaded)) == str(summarise(history))
    for name in properties(tl.ModelHistory):
        found = list(differences(asked(history, name), asked(loaded, name), name))
        assert not found, found[:3]
    names = properties(tl.Op)
    for i in range(history.num_tensors_total):
        op, other = PassRecord(history).op(i), PassRecord(loaded).op(i)
        for name in names:
            found = list(differences(getattr(op, name), getattr(other, name), f"{op.layer_label}.{name}"))
            assert not found, found[:3]
        assert " not kept>" in str(other) or str(other) == str(op)


@some_models
def test_all_that_can_be_asked_of_a_loaded_pass_is_as_it_was(small: SmallModel, tmp_path: Path) -> None:
    with small.around():
        history = capture(small)

    assert_same_pass(kept(history, tmp_path), history)


def test_the_comparison_itself_sees_every_kind_of_difference() -> None:
    a, b = of(lambda x: x.relu(), torch.ones(2)), of(lambda x: x.relu(), torch.ones(2))
    assert list(differences(a[1].tensor_contents, b[0].tensor_contents + 1))
    assert list(differences(a.module_tree, b.module_tree))  # of other times
    assert list(differences([1, {"a": (2.0,)}], [1, {"a": (3.0,)}]))
    assert list(differences([1], [1, 2]))
    assert {"tensor_contents", "flops", "func_args", "parent_params"} <= set(properties(tl.Op))
    assert {"notes", "module_tree", "conditional_branches"} <= set(properties(tl.ModelHistory))


class Recurrent(nn.Module):
    """A loop, a branch, an in-place op, a buffer, dropout and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x: Tensor, words: Tensor) -> dict[str, Tensor]:
        for t in range(len(words)):
            x = torch.tanh(self.cell(x) + words[t])
        x = x * 2 if x.sum() > 0 else x - 1
        x *= self.scale
        return {"x": self.drop(x), "words": words}


def recurrent(**options: Any) -> tl.ModelHistory:
    return tl.log_forward_pass(Recurrent(), [torch.randn(2, 4), torch.tensor([1, 2, 3])], **options)


@pytest.mark.parametrize(
    "options",
    [
        {"layers_to_save": "none"},
        {"layers_to_save": ["tanh_1:2", "cell", -1]},
        {"layers_to_save": ["tanh_1"], "save_function_args": True},
        {"layers_to_save": ["tanh"], "keep_unsaved_layers": False},
        {"layers_to_save": "none", "stop_after": "tanh_1:2"},
        {"detach_saved_tensors": True},
        {"output_device": "cpu"},
        {"activation_postfunc": lambda t: t.half()},
        {"activation_postfunc": lambda t: {"mean": t.float().mean(), "shape": [tuple(t.shape)], 3: math.nan}},
        {"activation_postfunc": lambda t: float(t.float().sum())},
        {"activation_postfunc": lambda t: t.detach().numpy()},
        {"activation_postfunc": lambda t: None},
    ],
)
def test_whatever_was_kept_of_a_pass_is_kept_in_the_file(options: dict[str, Any], tmp_path: Path) -> None:
    history = recurrent(**options)

    loaded = kept(history, tmp_path)

    assert_same_pass(loaded, history)
    pd.testing.assert_frame_equal(loaded.to_pandas(), history.to_pandas())


def test_a_pass_that_raised_is_kept_up_to_there(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        of(lambda x: torch.relu(x) @ torch.ones(7), torch.ones(3))

    history = caught.value.history  # type: ignore[attr-defined]

    assert_same_pass(kept(history, tmp_path), history)


def test_a_loaded_pass_is_saved_and_loaded_again(tmp_path: Path) -> None:
    history = recurrent(activation_postfunc=lambda t: [t, 1])
    loaded = kept(history, tmp_path)

    save_history(loaded, tmp_path / "again.safetensors")
    save_history(loaded, tmp_path / "pass.safetensors")  # over the file that it is read from

    assert_same_pass(load_history(tmp_path / "again.safetensors"), history)
    assert_same_pass(load_history(tmp_path / "pass.safetensors"), history)
    assert_same_pass(loaded, history)  # it still reads the file that it opened
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "pass.safetensors").read_bytes()


def test_the_same_pass_gives_the_same_file(tmp_path: Path) -> None:
    history = recurrent()

    for name in ("a", "b"):
        save_history(history, tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_file_is_read_where_the_model_and_its_source_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "net_that_goes.py"
    source.write_text(
        "from torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
        "        if x.sum() > 0:\n            x = x + 1  # here\n        return x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    save_history(tl.log_forward_pass(import_module("net_that_goes").Net(), torch.ones(2)), tmp_path / "a")
    source.unlink()
    read = """
        from torcheer.capture.savefile.read_pass import load_history
        h = load_history('a')
        b, = h.conditional_branches
        print(b.layer, b.value, b.statement, b.taken, b.followed_by, b.source.code_text, sep='|')
        print(h['add_1'].source_line.code_text, h['add_1'].tensor_contents.tolist())
    """

    printed = run_python(textwrap.dedent(read), tmp_path)

    assert printed.splitlines() == [
        "gt_1_2|True|if|then|['add_1_3']|if x.sum() > 0:",
        "x = x + 1  # here [2.0, 2.0]",
    ]


def run_python(code: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{folder}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- what is in the file --------------------------------------------------------------------------


def test_anybody_can_open_the_file_with_safetensors_alone(tmp_path: Path) -> None:
    history = of(lambda x: (x.exp(), x > 0, x.bfloat16()), torch.randn(3, 5))
    save_history(history, tmp_path / "a")

    tensors = load_file(tmp_path / "a")

    assert set(tensors) - OWN == {"input_1_0", "exp_1_1", "gt_1_2", "bfloat16_1_3"}
    for label in set(tensors) - OWN:
        assert torch.equal(tensors[label], history[label].tensor_contents)
    with safe_open(tmp_path / "a", "pt") as file:
        assert file.metadata()["torcheer.history"] == "1"


def odd_tensors(x: Tensor) -> tuple[Tensor, ...]:
    y = x * 2
    c = torch.complex(y, -y)
    return (
        *y.chunk(2, 1),
        y.t(),
        y[:, 1:].t()[::2],
        y[:, :1].expand(4, 50),
        torch.ones(1).expand(300, 300),
        torch.arange(5.0).expand(3, 5)[:, ::2],
        torch.arange(12.0)[1:].unfold(0, 4, 2),
        c.conj(),
        c.conj().imag,
        c.to(torch.complex128),
        c[0, 0],
        y[:0],
        y.sum(),
        y > 0,
        y.int(),
        y.view(torch.int32),
        y.view(torch.uint8)[:, 1:],
        y.bfloat16(),
        y.half(),
        y.to(torch.float8_e5m2).view(torch.uint8),
        torch.tensor([2**63 - 1, -(2**63)]),
        torch.tensor([math.nan, math.inf, -0.0]),
        x.to_sparse(),
        x.to_sparse_csr(),
        torch.quantize_per_tensor(x, 0.1, 3, torch.quint8),
        torch.quantize_per_channel(x, torch.ones(6) / 9, torch.zeros(6, dtype=torch.long), 1, torch.qint8),
        torch.nested.nested_tensor([x[0], x[1, :2]]),
    )


def bits(tensor: Tensor) -> Tensor:
    """NaN is NaN, and -0.0 is not 0.0."""
    return bytes_of(tensor.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format))


@pytest.mark.filterwarnings("ignore")
def test_values_of_every_kind_come_back_bit_for_bit(tmp_path: Path) -> None:
    history = of(odd_tensors, torch.randn(4, 6))

    loaded = kept(history, tmp_path)

    assert loaded.notes == history.notes == []
    for op, other in zip(history, loaded, strict=True):
        a, b = op.tensor_contents, other.tensor_contents
        assert a.dtype == b.dtype, op
        assert a.layout == b.layout, op
        if a.layout == torch.strided and not a.is_nested and not a.is_quantized:
            assert a.shape == b.shape, op
            assert torch.equal(bits(a), bits(b)), op
        else:
            assert same(a, b), op


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 13, 3 * 2**20 + 5])
def test_a_value_of_many_pieces_comes_back_whole(size: int, tmp_path: Path) -> None:
    x = torch.randint(0, 256, (size + 3,), dtype=torch.uint8)
    history = of(lambda x: x[3:].bitwise_not(), x, layers_to_save=["bitwisenot_1", "getitem_1"])

    loaded = kept(history, tmp_path)

    assert torch.equal(loaded["getitem_1"].tensor_contents, x[3:])
    assert torch.equal(loaded["bitwisenot_1"].tensor_contents, ~x[3:])


@pytest.mark.filterwarnings("ignore")
def test_a_jagged_tensor_is_kept_by_its_parts(tmp_path: Path) -> None:
    def double(x: Tensor) -> Tensor:
        return torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged) * 2

    x = torch.randn(3, 4)
    value = kept(of(double, x), tmp_path)["mul_1"].tensor_contents

    assert value.layout == torch.jagged
    assert all(map(torch.equal, value.unbind(), [x * 2, x[:2] * 2]))


@pytest.mark.filterwarnings("ignore")
def test_a_layer_on_a_jagged_tensor_is_told_drawn_and_kept(tmp_path: Path) -> None:
    x = torch.nested.nested_tensor([torch.randn(5, 4), torch.randn(2, 4)], layout=torch.jagged)
    history = tl.log_forward_pass(nn.Linear(4, 3), x)

    assert "linear" in str(history["linear_1"])
    history.draw(vis_outpath=tmp_path / "a.svg")
    value = kept(history, tmp_path)["linear_1"].tensor_contents
    assert all(map(torch.equal, value.unbind(), history["linear_1"].tensor_contents.unbind()))


def test_the_same_memory_is_written_once(tmp_path: Path) -> None:
    def views(x: Tensor) -> Tensor:
        y = x + 1
        for part in (y.t(), *y.chunk(4), y.expand(100, 64, 64), y.view(torch.int32), y[3:, 2:]):
            nn.Identity()(part)
        return y.view(-1)

    history = of(views, torch.randn(64, 64))
    save_history(history, tmp_path / "a")

    names = set(load_file(tmp_path / "a")) - OWN
    assert names == {"input_1_0", "add_1_1"}
    assert_same_pass(load_history(tmp_path / "a"), history)


def test_an_expanded_tensor_stays_as_small_as_it_is(tmp_path: Path) -> None:
    history = of(lambda x: torch.arange(8.0)[::2].expand(5000, 4), torch.ones(1), layers_to_save="all")
    save_history(history, tmp_path / "a")

    loaded = load_history(tmp_path / "a")

    assert os.path.getsize(tmp_path / "a") < 20_000
    assert loaded["expand_1"].tensor_contents.stride()[0] == 0
    assert torch.equal(loaded["expand_1"].tensor_contents, history["expand_1"].tensor_contents)


class Boxed(Tensor):
    """A tensor with a class of its own."""


def test_a_tensor_of_somebody_elses_class_is_kept_as_a_plain_one(tmp_path: Path) -> None:
    history = of(lambda x: (x.as_subclass(Boxed) * 2).as_subclass(Tensor), torch.ones(3))

    value = kept(history, tmp_path)["mul_1"].tensor_contents

    assert type(value) is Tensor
    assert value.tolist() == [2, 2, 2]


def test_a_value_whose_memory_is_gone_is_left_out_with_a_note(tmp_path: Path) -> None:
    history = of(lambda x: x.exp().relu(), torch.ones(1000))
    history["exp_1"].tensor_contents.untyped_storage().resize_(0)

    loaded = kept(history, tmp_path)

    assert not loaded["exp_1"].has_saved_activations
    assert loaded["relu_1"].has_saved_activations
    assert any("no value of exp_1_1" in note for note in loaded.notes)


def test_what_only_its_own_class_could_read_is_described_with_a_note(tmp_path: Path) -> None:
    history = of(lambda x: x.relu(), torch.ones(2), activation_postfunc=lambda t: object())

    loaded = kept(history, tmp_path)

    assert repr(loaded["relu_1"].tensor_contents) == "<object, not kept>"
    assert "activation_postfunc" in loaded.notes[0]


@pytest.mark.parametrize("mode", [FakeTensorMode, lambda: torch.device("meta")], ids=["fake", "meta"])
def test_a_pass_without_values_is_kept_as_structure(mode: Callable[[], Any], tmp_path: Path) -> None:
    with mode():
        history = tl.log_forward_pass(nn.Linear(10_000, 10_000), torch.ones(10_000, 10_000))
        loaded = kept(history, tmp_path)
    assert os.path.getsize(tmp_path / "pass.safetensors") < 10_000
    assert_same_pass(loaded, history)


def test_values_are_real_whatever_mode_is_on_when_they_are_read(tmp_path: Path) -> None:
    save_history(of(lambda x: x.relu(), torch.ones(2)), tmp_path / "a")

    with FakeTensorMode(), torch.device("meta"):
        value = load_history(tmp_path / "a")["relu_1"].tensor_contents

    assert type(value) is Tensor
    assert value.tolist() == [1, 1]


def test_loading_leaves_no_op_in_a_pass_that_is_being_recorded(tmp_path: Path) -> None:
    save_history(of(lambda x: x.relu(), torch.ones(2)), tmp_path / "a")

    def nested(x: Tensor) -> Tensor:
        load_history(tmp_path / "a")["relu_1"].tensor_contents
        return x + 1

    assert of(nested, torch.ones(2)).layer_labels == ["input_1_0", "add_1_1", "output_1_2"]


# --- lazily ----------------------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tensors that are read from files."""
    names: list[str] = []
    read = TensorFile.read
    monkeypatch.setattr(TensorFile, "read", lambda self, name: names.append(name) or read(self, name))
    return names


@pytest.mark.parametrize("postfunc", [None, lambda t: t.half(), lambda t: [t]], ids=["", "tensor", "list"])
def test_nothing_is_read_until_a_value_is_asked_for(reads: list[str], postfunc: Any, tmp_path: Path) -> None:
    loaded = kept(recurrent(activation_postfunc=postfunc), tmp_path)

    print(loaded, repr(loaded), loaded.to_pandas(), loaded._repr_html_(), summarise(loaded))
    for name in properties(tl.ModelHistory):
        asked(loaded, name)
    for op in loaded:
        for name in set(properties(tl.Op)) - {"tensor_contents", "func_rng_state"}:
            getattr(op, name)
    assert reads == ["torcheer.structure"]

    loaded["tanh_1:2"].tensor_contents
    assert len(reads) == 2
    assert reads[1].startswith("tanh_1_")


def test_five_gigabytes_are_opened_without_reading_them(tmp_path: Path) -> None:
    path = tmp_path / "pass.safetensors"
    save_history(of(lambda x: x.relu() + 1, torch.ones(3)), path)
    forged = Forged.read(path)
    del forged.bodies["relu_1_1"]
    forged.holes["relu_1_1"] = 5_000_000_000
    forged.types["relu_1_1"] = ("F32", [1_250_000_000])
    row = StoredOp.__struct_fields__.index
    relu = forged.rows("ops")[1]
    relu[row("shape")] = relu[row("value")][2] = [1_250_000_000]
    forged.write(path)

    code = """
        import resource, torch
        from torcheer.capture.savefile.read_pass import load_history
        used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000, -1))
        h = load_history('pass.safetensors')
        print(h['relu_1'].tensor_shape, h['add_1'].tensor_contents.tolist())
    """

    assert run_python(textwrap.dedent(code), tmp_path) == "(1250000000,) [2.0, 2.0, 2.0]\n"


def test_a_value_is_read_once_for_as_long_as_it_is_held(reads: list[str], tmp_path: Path) -> None:
    op = kept(of(lambda x: x.relu(), torch.ones(2)), tmp_path)["relu_1"]

    value = op.tensor_contents
    value.mul_(3)
    assert op.tensor_contents is value
    assert len(reads) == 2

    del value
    gc.collect()
    assert op.tensor_contents.tolist() == [1, 1]
    assert len(reads) == 3


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files")
def test_the_file_is_closed_when_the_history_is_gone(tmp_path: Path) -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    loaded = kept(of(lambda x: x.relu(), torch.ones(2)), tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before + 1

    value = loaded["relu_1"].tensor_contents
    del loaded
    gc.collect()

    assert len(os.listdir("/proc/self/fd")) == before
    assert value.tolist() == [1, 1]


def test_what_needs_functions_or_parameters_says_that_the_file_has_none(tmp_path: Path) -> None:
    loaded = kept(tl.log_forward_pass(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(1, 2)), tmp_path)

    assert loaded["relu_1"].func_applied is None
    assert torch.equal(loaded["relu_1"].creation_args[0], loaded["linear_1"].tensor_contents)
    with pytest.raises(InputError, match="loaded from"):
        loaded.validate()
    with pytest.raises(InputError, match="linear_1_1"):
        loaded["linear_1"].creation_args


# --- Python values -----------------------------------------------------------------------------------

Point = namedtuple("Point", "x count")


class Colour(IntEnum):
    RED = 3


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**100), 2**100),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.sampled_from(
        [
            *(
                ...,
                TENSOR,
                torch.float32,
                torch.qint8,
                torch.device("cuda:1"),
                torch.Size([2, 0]),
                range(1, 9, 3),
            ),
            *(torch.strided, torch.sparse_csr, torch.channels_last, slice(None), Geometry((2,), (1,), 3)),
            *(np.float32(1.5), np.arange(6).reshape(2, 3), np.array(True), Unkept("a thing")),
        ]
    ),
)
keys = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.integers(), st.booleans(), st.none())
nested = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(keys, inner),
        st.builds(Point, inner, inner),
        st.builds(slice, inner, inner),
    ),
    max_leaves=12,
)


@settings(max_examples=examples(100), deadline=None)
@given(nested)
def test_a_python_value_comes_back_from_json_as_it_was(value: Any) -> None:
    again = unpacked(msgspec.json.decode(as_json(packed(value))))

    assert repr(again) == repr(value)


@given(st.sets(keys))
def test_a_set_comes_back_from_json_as_it_was(value: set[Any]) -> None:
    assert unpacked(packed(value)) == value
    assert unpacked(packed(frozenset(value))) == frozenset(value)


def test_values_that_are_like_plain_ones_become_plain() -> None:
    assert unpacked(packed(Colour.RED)) == 3
    assert unpacked(packed(Point(1, [2]))).count == [2]
    assert repr(unpacked(packed(Point(1, [2])))) == repr(Point(1, [2]))
    assert unpacked(packed(torch.max(torch.ones(2, 2), 0).__class__((1, 2)))) == (1, 2)


@pytest.mark.parametrize(
    "value",
    [object(), nn.Linear(1, 1), len, torch.Generator(), {1: object()}, 10**60, torch.ones(2)],
)
def test_an_object_of_another_class_is_described_without_its_address(value: Any) -> None:
    assert "0x" not in repr(unpacked(packed(value)))
    assert "not kept" in repr(unpacked(packed(value)))


def test_text_that_is_no_text_does_not_stop_the_saving() -> None:
    assert unpacked(json.loads(as_json(packed(["a\udc80b"])))) == ["a\\udc80b"]


# --- the way onto the disk -----------------------------------------------------------------------------


@pytest.fixture
def history() -> tl.ModelHistory:
    return of(lambda x: x.relu(), torch.ones(2000))


def test_a_failure_leaves_the_old_file_and_nothing_else(
    history: tl.ModelHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("older")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        save_history(history, path)

    assert path.read_text() == "older"
    assert os.listdir(tmp_path) == ["a"]
    assert "the history was not written" in caught.value.__notes__[0]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    code = """
        import os, resource, torch, torcheer as tl
        from torch import nn
        open('a', 'w').write('older')
        history = tl.log_forward_pass(nn.ReLU(), torch.ones(1_000_000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        try:
            history.save('a')
        except OSError as error:
            print(type(error).__name__, os.listdir('.'), open('a').read())
    """

    assert run_python(textwrap.dedent(code), tmp_path) == "OSError ['a'] older\n"


def test_a_stop_from_the_keyboard_leaves_nothing_behind(
    history: tl.ModelHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))

    with pytest.raises(KeyboardInterrupt):
        save_history(history, tmp_path / "a")

    assert os.listdir(tmp_path) == []


def test_a_place_where_nothing_can_be_saved_is_named(history: tl.ModelHistory, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(FileNotFoundError, match="no such folder"):
        save_history(history, tmp_path / "missing" / "a")
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        save_history(history, tmp_path / "folder")
    with pytest.raises(InputError, match="no ordinary file"):
        save_history(history, tmp_path / "pipe")
    with pytest.raises(InputError, match="a path"):
        save_history(history, 3)  # type: ignore[arg-type]
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_the_file_has_the_permissions_of_any_other(history: tl.ModelHistory, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    history.save(tmp_path / "a")

    assert os.stat(tmp_path / "a").st_mode == os.stat(tmp_path / "other").st_mode


def test_saving_to_a_link_writes_the_file_that_it_points_to(history: tl.ModelHistory, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")

    save_history(history, str(tmp_path / "link"))

    assert (tmp_path / "link").is_symlink()
    assert len(load_history(tmp_path / "file")) == len(history)


def test_a_bar_is_shown_on_a_terminal_when_it_takes_long(
    history: tl.ModelHistory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", -1.0)
    save_history(history, tmp_path / "a")
    assert capsys.readouterr().err == ""  # no terminal

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    save_history(history, tmp_path / "a")
    assert "saving the history" in capsys.readouterr().err

    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 3600.0)
    save_history(history, tmp_path / "a")
    assert capsys.readouterr().err == ""


# --- backward passes, ATen calls and edits ----------------------------------------------------------------


def test_backward_passes_aten_calls_and_edits_are_kept(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 3))
    history = tl.log_forward_pass(
        model,
        torch.randn(2, 4, requires_grad=True),
        save_gradients=True,
        level="aten",
        edit={"relu_1": lambda tensor: tensor * 2},
    )
    history.log_backward(history.output.sum(), retain_graph=True)
    history.output.square().sum().backward()

    history.save(tmp_path / "pass")
    loaded = load_history(tmp_path / "pass")

    for ours, theirs in zip(loaded, history, strict=True):
        assert ours.grads.keys() == theirs.grads.keys()
        for number, grad in theirs.grads.items():
            assert torch.equal(ours.grads[number], grad)
        assert ours.aten_calls == theirs.aten_calls
        assert ours.edited_by == theirs.edited_by
    assert torch.equal(loaded["relu_1"].unedited_contents, history["relu_1"].unedited_contents)
    assert torch.equal(loaded["linear_1"].grad_contents, history["linear_1"].grad_contents)
    assert loaded.param_grads.keys() == history.param_grads.keys()
    for name, grad in history.param_grads.items():
        assert torch.equal(loaded.param_grads[name], grad)
    assert loaded.backward_graph == history.backward_graph
    assert list(map(str, loaded.backward_passes)) == list(map(str, history.backward_passes))
    assert loaded.saved_for_backward_bytes == history.saved_for_backward_bytes
    assert (loaded.edits, loaded.notes) == (history.edits, history.notes)
    with pytest.raises(InputError, match="no autograd graph"):
        loaded.log_backward(loaded["linear_1"].tensor_contents.sum())


def test_gradients_stand_in_the_file_under_the_names_of_their_layers(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    history = tl.log_forward_pass(model, torch.randn(1, 2), save_gradients=True)
    history.output.square().sum().backward()

    history.save(tmp_path / "pass")

    in_file = load_file(tmp_path / "pass")
    assert torch.equal(in_file["grad.1.weight"], model.weight.grad)
    assert torch.equal(in_file["grad.1.linear_1_1"], 2 * history.output)


def test_half_a_character_in_a_name_is_written_out(tmp_path: Path) -> None:
    model = nn.Sequential()
    model.add_module("\ud800x", nn.Linear(2, 2))

    tl.log_forward_pass(model, torch.ones(1, 2)).save(tmp_path / "a")

    assert load_history(tmp_path / "a").module_addresses == ["\\ud800x"]
