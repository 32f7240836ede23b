"""Functions as transforms: the words change when what they do changes, and only then."""

import functools
import json
import operator
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

from tests.copying import ROOT, run_copy
from tests.features.transforms import samplefunctions
from torcheer.errors import InputError
from torcheer.features.transforms import Function, begin_all


def words(function: Callable[..., Any]) -> str:
    return Function(function).words


def made(source: str, **known: Any) -> FunctionType:
    """The function that a source defines, as if it stood in a script."""
    room: dict[str, Any] = {"__name__": "__main__", "torch": torch} | known
    exec(compile(source, "anywhere.py", "exec"), room)
    return room["f"]


def test_words_are_the_same_in_another_process() -> None:
    script = (
        "import json; from torcheer.features.transforms import Function; "
        "from tests.features.transforms.samplefunctions import WORDED; "
        "print(json.dumps({key: Function(each).words for key, each in WORDED.items()}))"
    )
    answer = run_copy(["-c", script], cwd=ROOT)
    here = {key: words(each) for key, each in samplefunctions.WORDED.items()}
    assert json.loads(answer.stdout) == here
    assert len(set(here.values())) == len(here)


def test_words_name_the_function() -> None:
    room = "tests.features.transforms.samplefunctions"
    assert words(samplefunctions.scaled).startswith(f"function {room}.scaled #")
    assert words(functools.partial(samplefunctions.shifted, by=2)).startswith(
        f"function partial({room}.shifted)"
    )
    assert words(samplefunctions.THREE.twice).startswith(f"function {room}.Shifter.twice #")
    assert words(nn.ReLU()).startswith("module torch.nn.modules.activation.ReLU #")
    assert words(torch.abs).startswith("function torch.abs #")
    assert Function(torch.abs, words="sizes").words == "function sizes"


def test_words_do_not_depend_on_lines_files_docstrings_or_names_of_variables() -> None:
    plain = made("def f(x):\n    y = x + 1\n    return [a for a in (y,)][0]")
    moved = made('\n\n# here\ndef f(x):\n    "Said."\n    z = x + 1\n\n    return [b for b in (z,)][0]')
    assert words(plain) == words(moved)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(x): return x + 1", "def f(x): return x + 2"),
        ("def f(x): return x + 1", "def f(x): return x - 1"),
        ("def f(x): return x + 1.0", "def f(x): return x + 1"),
        ("def f(x): return x + 0.0", "def f(x): return x + -0.0"),
        ("def f(x): return x.relu()", "def f(x): return x.sigmoid()"),
        ("def f(x, n=1): return x + n", "def f(x, n=2): return x + n"),
        ("def f(x, *, n=1): return x + n", "def f(x, *, n=2): return x + n"),
        ("def f(x): return (lambda y: y + 1)(x)", "def f(x): return (lambda y: y + 2)(x)"),
        ("S = 1\ndef f(x): return x + S", "S = 2\ndef f(x): return x + S"),
        ("S = [1, 2]\ndef f(x): return x + S[0]", "S = [3, 2]\ndef f(x): return x + S[0]"),
        ("S = 1\ndef f(x): return [S for _ in x]", "S = 2\ndef f(x): return [S for _ in x]"),
        ("W = torch.ones(2)\ndef f(x): return x + W", "W = torch.zeros(2)\ndef f(x): return x + W"),
        ("def g(x): return x\ndef f(x): return g(x)", "def g(x): return -x\ndef f(x): return g(x)"),
        (
            "def h(n):\n  def g(x): return x + n\n  return g\nf = h(1)",
            "def h(n):\n  def g(x): return x + n\n  return g\nf = h(2)",
        ),
        (
            "class A:\n  def go(self, x): return x\ndef f(x): return A().go(x)",
            "class A:\n  def go(self, x): return -x\ndef f(x): return A().go(x)",
        ),
        ("def f(x):\n  'a'\n  return 'a'", "def f(x):\n  'b'\n  return 'b'"),
        ("def f(x): return x in {'a', 'b'}", "def f(x): return x in {'a', 'c'}"),
    ],
)
def test_a_changed_function_has_other_words(before: str, after: str) -> None:
    assert words(made(before)) == words(made(before))
    assert words(made(before)) != words(made(after))


def test_a_spawned_process_gives_the_functions_of_a_script_the_same_words() -> None:
    source = "def g(x): return x\ndef f(x): return g(x)"
    assert words(made(source, __name__="__mp_main__")) == words(made(source))


def test_a_function_that_calls_itself_has_words() -> None:
    source = "def g(x, n): return f(x, n - 1)\ndef f(x, n=3): return g(x, n) if n else x"
    assert words(made(source)) == words(made(source))
    circle: list[Any] = []
    circle.append(circle)
    assert words(functools.partial(samplefunctions.shifted, by=circle))


def test_a_module_is_told_by_its_weights_mode_and_attributes() -> None:
    first, second = samplefunctions.Net(), samplefunctions.Net()
    assert words(first) == words(second)
    with torch.no_grad():
        second.weight[0] = 9
    assert words(first) != words(second)
    assert words(first) != words(samplefunctions.Net().eval())
    third = samplefunctions.Net()
    third.power = 3
    assert words(first) != words(third)
    assert words(nn.Dropout(0.1)) != words(nn.Dropout(0.2))


def test_objects_and_methods_are_told_by_what_they_hold() -> None:
    shifter = samplefunctions.Shifter
    assert words(shifter(1.0)) == words(shifter(1.0))
    assert words(shifter(1.0)) != words(shifter(2.0))
    assert words(shifter(1.0).twice) != words(shifter(2.0).twice)
    assert words(torch.ones(2).mul) != words(torch.zeros(2).mul)
    assert words(operator.itemgetter(0)) != words(operator.itemgetter(1))
    for one, other in [
        (numpy.ones(2), numpy.zeros(2)),
        (numpy.float32(1), numpy.float32(2)),
        (torch.ones(2), torch.ones(2, dtype=torch.bfloat16)),
        (numpy.array(["a", None]), numpy.array(["b", None])),
        (torch.eye(2).to_sparse(), torch.ones(2, 2).to_sparse()),
        ({"a": 1}, {"a": 2}),
        (numpy.add, numpy.multiply),
    ]:
        assert words(functools.partial(shifter, one)) != words(functools.partial(shifter, other))


@pytest.mark.parametrize(
    "held", [torch.Generator(), iter([1]), sys.stdout], ids=["generator", "iterator", "file"]
)
def test_what_cannot_be_read_asks_for_words(held: Any) -> None:
    holding = functools.partial(samplefunctions.shifted, by=held)
    with pytest.raises(InputError, match=r"cannot be told.*words="):
        Function(holding)
    assert Function(holding, words="mine").words == "function mine"


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated")
def test_a_scripted_module_asks_for_words() -> None:
    with pytest.raises(InputError, match=r"a scripted module, .*words="):
        Function(torch.jit.script(nn.ReLU()))


def run(function: Callable[[Tensor], Any], values: Tensor) -> Tensor:
    begun = Function(function, words="mine").begin("conv", tuple(values.shape[1:]), values.dtype, ("unit",))
    return begun(values)


def test_a_function_is_applied_without_gradients() -> None:
    weight = torch.ones(3, requires_grad=True)
    result = run(lambda values: values * weight * 2, torch.ones(4, 3))
    assert torch.equal(result, torch.full((4, 3), 2.0))
    assert not result.requires_grad


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda values: values.numpy(), r"gave a ndarray.*torch.from_numpy"),
        (lambda values: None, r"gave a NoneType"),
        (lambda values: values.sum(), r"gave \(\).*must stay 4"),
        (lambda values: values.T, r"gave \(3, 4\).*must stay 4"),
    ],
)
def test_a_result_that_cannot_be_kept_is_refused(function: Callable[[Tensor], Any], message: str) -> None:
    with pytest.raises(InputError, match=rf"function mine of layer 'conv'.*{message}"):
        run(function, torch.ones(4, 3))


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(InputError, match="takes a function"):
        Function(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "dims"),
    [
        (torch.abs, ("channel", "y", "x")),
        (lambda values: values.flatten(1), ("unit",)),
        (lambda values: values[:, :1], ("dim_1", "dim_2", "dim_3")),
    ],
)
def test_dims_keep_their_names_where_the_shape_stays(
    function: Callable[[Tensor], Tensor], dims: tuple[str, ...]
) -> None:
    chain = begin_all([Function(function)], "conv", (2, 3, 3), torch.float32, ("channel", "y", "x"))
    assert chain.dims == dims


def test_what_a_function_raises_goes_through_and_says_where_it_was() -> None:
    def fails(values: Tensor) -> Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        begin_all([Function(fails, words="bad")], "conv", (2,), torch.float32, ("unit",))
    assert caught.value.__notes__ == ["in the transform 'function bad' of layer 'conv'"]
