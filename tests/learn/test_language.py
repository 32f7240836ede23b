"""What a student may write, what is said of all else, and that nothing else ever happens."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.many import examples
from torcheer.learn import lesson_document
from torcheer.learn.exercises import EXAMPLES
from torcheer.learn.functions import FUNCTIONS, MAKERS, functions_text
from torcheer.learn.language import evaluate, read
from torcheer.learn.lesson_document import Fault


def values(source: str) -> dict[str, Tensor]:
    reading = read(source)
    assert reading.fault is None or reading.fault.line == 0, reading.fault
    return {value.name: value.tensor for value in reading.values.settle()}


def fault(source: str) -> tuple[int, str]:
    found = read(source).fault
    assert found is not None
    return found.line, found.message


# --- what may be written -----------------------------------------------------------------------


def test_tensors_are_written_as_in_torch() -> None:
    made = values(
        "import torcheer.autograd as T\n"
        "a = T.tensor([[1.0, 2.0], [3.0, 4.0]])\n"
        "b = T.tensor([0, 2])\n"
        "c = T.zeros(2, 3)\n"
        "d = T.arange(4)\n"
        "e = T.eye(2)\n"
        "f = T.tensor([True, False])\n"
    )

    assert made["a"].tolist() == [[1, 2], [3, 4]]
    assert made["a"].dtype == torch.float32
    assert made["b"].dtype == torch.int64
    assert made["c"].shape == (2, 3)
    assert made["d"].tolist() == [0, 1, 2, 3]
    assert torch.equal(made["e"], torch.eye(2))
    assert made["f"].dtype == torch.bool


def test_weights_at_random_are_the_same_each_time() -> None:
    source = (
        "a = T.param(3, 4, seed=1)\nb = T.param(3, 4, seed=2)\nc = T.param(3, 4)\nd = T.randn(3, 4, seed=1)"
    )

    first, second = values(source), values(source)

    assert all(torch.equal(first[name], second[name]) for name in "abcd")
    assert not torch.equal(first["a"], first["b"])
    assert first["a"].abs().max() > 0.1


def test_weights_can_be_given() -> None:
    assert values("a = T.param([[1, 2], [3, 4]])")["a"].tolist() == [[1, 2], [3, 4]]
    assert values("a = T.param(2.5)")["a"].tolist() == 2.5
    assert values("a = T.param([3, 4])")["a"].tolist() == [3, 4]
    assert values("a = T.param(3)")["a"].shape == (3,)


X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64)
W = torch.tensor([[1.0, -2.0], [0.5, 0.25], [3.0, 1.0]], dtype=torch.float64)
PICTURE = torch.arange(16, dtype=torch.float64).reshape(1, 1, 4, 4)
NAMES = {
    "x": X,
    "w": W,
    "i": torch.tensor([1, 0]),
    "p": PICTURE,
    "k": torch.ones(1, 1, 2, 2, dtype=torch.float64),
}


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("x @ w", X @ W),
        ("-x + 2 * x - x / 4", -X + 2 * X - X / 4),
        ("x ** 2", X**2),
        ("2 ** x", 2**X),
        ("1 - x", 1 - X),
        ("x.T @ x", X.T @ X),
        ("x.mT", X.mT),
        ("x[0]", X[0]),
        ("x[:, 1:]", X[:, 1:]),
        ("x[..., None]", X[..., None]),
        ("x[i]", X[[1, 0]]),
        ("x[[1, 0, 1]]", X[[1, 0, 1]]),
        ("x[x > 0]", X[X > 0]),
        ("(x > 0) * x", (X > 0) * X),
        ("x * ((x > 0) & ~(x >= 1))", X * ((X > 0) & ~(X >= 1))),
        ("T.where(x > 0, x, 0.0)", torch.where(X > 0, X, 0.0)),
        ("x.sum(dim=1, keepdim=True)", X.sum(1, keepdim=True)),
        ("T.sum(x, axis=0)", X.sum(0)),
        ("x.mean()", X.mean()),
        ("x.max()", X.max()),
        ("x.var(dim=1)", X.var(1)),
        ("T.softmax(x, dim=-1)", X.softmax(-1)),
        ("x.reshape(3, 2)", X.reshape(3, 2)),
        ("x.view((6,))", X.view(6)),
        ("x.reshape(x.shape[1], x.size(0))", X.reshape(3, 2)),
        ("x.transpose(0, 1)", X.T),
        ("x.unsqueeze(0).expand(2, 2, 3)", X.expand(2, 2, 3)),
        ("T.cat([x, x], dim=1)", torch.cat([X, X], 1)),
        ("T.stack((x, x))", torch.stack([X, X])),
        ("T.gather(x, 1, i.reshape(2, 1))", X.gather(1, torch.tensor([[1], [0]]))),
        ("T.embedding(i, w)", W[[1, 0]]),
        ("T.one_hot(i, 3)", F.one_hot(torch.tensor([1, 0]), 3)),
        ("T.linear(x, w.T)", X @ W),
        ("T.layer_norm(x, 3)", F.layer_norm(X, (3,))),
        ("T.cross_entropy(x, i)", F.cross_entropy(X, torch.tensor([1, 0]))),
        ("T.mse_loss(x, 2 * x)", F.mse_loss(X, 2 * X)),
        ("T.conv2d(p, k, stride=2)", F.conv2d(PICTURE, NAMES["k"], stride=2)),
        ("T.max_pool2d(p, 2)", F.max_pool2d(PICTURE, 2)),
        ("T.maximum(x, 0.5 * x)", torch.maximum(X, 0.5 * X)),
        ("x.masked_fill(x > 1, -5)", X.masked_fill(X > 1, -5)),
        ("exp(x)", X.exp()),
        ("sum(x, 0)", X.sum(0)),
        ("where(x > 0, x, 0)", torch.where(X > 0, X, 0.0)),
        ("softmax(x, 1)", X.softmax(1)),
        ("matmul(x, w)", X @ W),
        ("ones(2, 3) × x − 2 · x", X - 2 * X),
        ("(3 - 1) ** 2 * 1.5", torch.tensor(6.0, dtype=torch.float64)),
    ],
)  # fmt: skip
def test_what_is_written_is_what_torch_computes(written: str, wanted: Tensor) -> None:
    found = evaluate(written, {name: tracer_of(value) for name, value in NAMES.items()})

    assert torch.allclose(found.data.to(wanted.dtype), wanted)


def tracer_of(value: Tensor) -> Any:
    from torcheer.autograd import tracer

    return tracer(value)


def _arguments(function: Any) -> str:
    kinds = {
        "tensor": "x", "operand": "2.0", "index": "i", "mask": "x > 0", "tensors": "[x, x]", "dim": "0",
        "dims": "0", "sizes": "1", "window": "1", "number": "0.5", "count": "3", "flag": "True",
        "reduction": "'sum'",
    }  # fmt: skip
    special = {
        "reshape": "x, 6", "view": "x, 6", "permute": "x, 1, 0", "expand": "x, 2, 3", "repeat": "x, 1, 2",
        "flip": "x, 0",
        "gather": "x, 1, i.reshape(2, 1)", "conv2d": "p, k", "max_pool2d": "p, 2", "avg_pool2d": "p, 2",
        "layer_norm": "x, 3", "cross_entropy": "x, i", "nll_loss": "x, i", "matmul": "x, x.T",
        "dot": "x[0], x[1]",
        "linear": "x, x", "squeeze": "x[0:1], 0", "clamp": "x, max=0.5",
    }  # fmt: skip
    required = [one for one in function.parameters if one.default.__class__ is object]
    return special.get(function.name) or ", ".join(kinds[one.kind] for one in required)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_the_list_can_be_called_on_what_wants_a_gradient(name: str) -> None:
    source = (
        "x = T.param([[0.5, 0.25, 0.75], [0.6, 0.1, 0.9]])\n"
        "p = T.param(1, 1, 4, 4)\nk = T.param(1, 1, 2, 2)\n"
        f"i = T.tensor([1, 0])\ny = T.{name}({_arguments(FUNCTIONS[name])})\n"
    )

    for one in (source, source.replace(f"T.{name}", name)):
        line, message = fault(one) if read(one).fault else (0, "")

        assert line == 0, message


def test_the_list_for_the_page_has_every_function() -> None:
    text = "\n".join(functions_text())

    assert all(f"{name}(" in text for name in [*FUNCTIONS, *MAKERS])
    assert functions_text()[-1].startswith("statements: ")


def test_loops_go_round() -> None:
    made = values("x = T.param(1.0)\nfor i in range(1, 4):\n    x = x * i\nloss = x + 0")

    assert made["loss"] == 6


def test_the_loss_is_where_backward_is_called_or_else_the_last_number() -> None:
    source = "x = T.param(3)\na = x.sum()\nb = a * 2\n"
    marked, unmarked = read(source + "a.backward()"), read(source)

    assert marked.loss is not None
    assert marked.loss.name == "a"
    assert unmarked.loss is not None
    assert unmarked.loss.name == "b"


def test_several_names_and_chains_of_names() -> None:
    made = values("a, (b, c) = T.param(2), (T.ones(3), T.zeros(1))\nd = e = a * 2")

    assert made["b"].shape == (3,)
    assert "e" not in made  # one value, one name: the first


# --- what may not ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("x = T.param(3)\ny = x.grad", 2, ".grad is not used here"),
        ("import os", 1, "only `import torcheer.autograd as T`"),
        ("import torch", 1, "only `import torcheer.autograd as T`"),
        ("from os import path", 1, "`from os import path` is not used here"),
        ("x = T.param(2)\nx += 1", 2, "write x = x + 1"),
        ("x = T.param(2)\nx[0] = 1", 2, "a value gets a name"),
        ("f = lambda x: x", 1, "`lambda x: x` cannot be used here"),
        ("[i for i in range(3)]", 1, "for i in range(3)]` cannot be used here"),
        ("def f(): pass", 1, "`def f():` is not used here"),
        ("while True: pass", 1, "`while True:` is not used here"),
        ("T = 3", 1, "T is torcheer.autograd here"),
        ("print(1)", 1, "there is no print() here: the page lists what can be called"),
        ("T.save(1)", 1, "there is no T.save() here"),
        ("T.param(2).numpy()", 1, "there is no .numpy() here"),
        ("x = T.param(2)\nx.__class__", 2, "names that begin with _"),
        ("().__class__.__bases__[0].__subclasses__()", 1, "names that begin with _"),
        ("T.tensor(__import__)", 1, "names that begin with _"),
        ("'{0.__class__}'.format(1)", 1, "is called on a tensor"),
        ("T.exp(*[1])", 1, "arguments are written out"),
        ("T.exp(**{})", 1, "arguments are written out"),
        ("x = y", 1, "there is no y yet"),
        ("x = T.param(3)\nrelu = T.relu(x)\nrelu(x)", 3, "write T.relu(…) for the function"),
        ("y = relu + 1", 1, "write relu(…): it is a function"),
        ("x = T.param(3)\ny = x(2)", 2, "write * between factors: x * (2)"),
        ("x = T.param(3)\ny = 2x", 2, "write 2 * x"),
        ("x = T.param(3)\ny = x x", 2, "write * between factors: x * x"),
        ("x = T.param(3)\ny = x ^ 2", 2, "write x ** 2"),
        ("x = T.param(3)\ny = T.sum(x 0)", 2, "or a comma between arguments"),
        ("T.mse_loss(T.ones(2), T.ones(2), “mean”)", 1, "“ is a typographic quote, which is not read"),
        ("x = √2", 1, "the sign √ is not read here"),
        ("0.0 ** -1", 1, "0.0 ** (-1) divides by 0"),
        ("for i in range(65):\n    x = 1", 1, "at most 64 rounds"),
        ("T.param(2, 3) @ T.param(2, 3)", 1, "2×3 @ 2×3 does not fit"),
        ("T.param(2, 3) + T.param(2)", 1, "3 meets 2"),
        ("T.softmax(T.param(3))", 1, "softmax() needs dim: softmax(x, dim)"),
        ("T.param(3).sum(dims=1)", 1, "does not take an argument dims"),
        ("T.param(3).sum(0, True, 1)", 1, "does not take 4 arguments"),
        ("x = T.param(2)\n\n\ny = (x +", 4, "not complete, or not Python"),
        ("T.tensor([[1.0], [1.0, 2.0]])", 1, "equally long"),
        ("(-8) ** 0.5", 1, "is no real number"),
        ("1 / 0", 1, "1 / 0 divides by 0, and that gives no number"),
        ("x = T.param(3)\nx.backward()", 2, "begins at a single number"),
        ("T.ones(2).sum().backward()", 1, "wants a gradient"),
        ("x = T.param(1.0)\nx.backward()\nx.backward()", 3, "one backward() already"),
        ("x = T.param(1.0)\nx.backward(retain_graph=True)", 2, "in a line of its own"),
        ("x = T.ones(3)\nx.sum()", 0, "nothing here wants a gradient"),
        ("x = T.param(3)\ny = x * 2", 0, "begins at a single number"),
        ("", 0, "nothing is computed yet"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_line(source: str, line: int, says: str) -> None:
    found = fault(source)

    assert found[0] == line
    assert says in found[1]


@pytest.mark.parametrize(
    "source",
    [
        "T.zeros(1000000, 1000000)",
        "T.param(4096).reshape(4096, 1) + T.param(4096)",
        "T.ones(8).repeat(1000, 1000)",
        "T.ones(1).expand(100000, 100)",
        "T.arange(0, 1000, 0.001)",
        "T.one_hot(T.tensor([1]), 100000)",
        "T.ones(4096)[T.zeros(4096).reshape(1, 4096) == 0]",
        "T.ones(64, 64)[T.arange(4096) * 0]",
        "T.embedding(T.arange(4096) * 0, T.ones(2, 1000))",
        "T.ones(4096, 1) @ T.ones(1, 4096)",
        "T.conv2d(T.ones(1, 1, 3, 3), T.ones(1, 1, 2, 2), padding=1000)",
        "T.cat([T.ones(4096), T.ones(4096)])",
        "T.linear(T.ones(4096, 1), T.ones(4096, 1))",
        "T.ones(1, 1, 1, 1, 1, 1, 1, 1, 1)",
        "x = T.ones(1, 1, 1, 1, 1, 1, 1, 1)\nx.unsqueeze(0)",
        "10 ** 10",
        "2 ** 64 ** 64",
        "T.ones(2) ** 1000",
        "T.tensor(10000000)",
        "x = T.param(2)\n" + "x = x + 1\n" * 300,
        "for i in range(1000000000):\n    x = 1",
        "for i in range(60):\n    for j in range(60):\n        x = 1",
        "x = T.param(2)\ny = " + "-" * 100 + "x",
        "a = [" + "1," * 300 + "]\nb = [" + "a," * 300 + "]\nc = [" + "b," * 300 + "]\nT.tensor(c)",
        "a = ()\n" + "a = (a, a)\n" * 40 + "T.ones(3)[a]",
        "x = " + "(" * 5000,
        "-" * 7000 + "1",
        "1" + "+1" * 3000,
        "x" + ".T" * 3000,
        "9" * 7000,
        "a\0b",
        "\ud800",
        "x = \\\n1",
        "x" * 9000,
    ],
)  # fmt: skip
def test_what_would_be_too_much_is_refused_before_it_is_done(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = 0
    make = Tensor._make_subclass

    def noted(kind: Any, value: Tensor, *args: Any) -> Any:
        nonlocal largest
        largest = max(largest, value.numel())
        return make(kind, value, *args)

    monkeypatch.setattr(Tensor, "_make_subclass", noted)

    line, _ = fault(source)

    assert line or source.startswith(("x" * 99, "-", "1+", "x.T", "a\0", "\ud800", "9")), "the line is known"
    assert largest <= lesson_document.MAX_ELEMENTS


# --- hostile, and by chance --------------------------------------------------------------------


@contextmanager
def nothing_is_run() -> Iterator[None]:
    """No program, no import, no file: whatever a student writes is only looked at."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"something was run: {args[:1]}")

    compiled = builtins.compile

    def only_parsed(source: Any, name: Any, mode: Any, flags: int = 0, *args: Any, **kwargs: Any) -> Any:
        assert flags & ast.PyCF_ONLY_AST, "something was compiled"
        return compiled(source, name, mode, flags, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "eval", refuse)
        patch.setattr(builtins, "exec", refuse)
        patch.setattr(builtins, "open", refuse)
        patch.setattr(builtins, "compile", only_parsed)
        yield


def test_examples_are_read_without_running_anything() -> None:
    for one in EXAMPLES:
        read(one.source)  # what torch loads on first use is loaded now
        with nothing_is_run():
            assert read(one.source).fault is None, one.title


def _mixed(words: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(words), min_size=1, max_size=14).map("".join)


PIECES = (
    "x w T.param( T.tensor( T.ones( .sum( .T .shape ( ) [ ] , : = == + - * / ** @ 1 2 0.5 -1 64 1000000 "
    "dim=0 None True LINE for_i_in_range(3):LINE_ .__class__ __import__ lambda_x: T.cat([ T.where( .reshape( "
    ".expand( .repeat( ... x>0 i .backward() T.softmax( T.conv2d( 'mean' reduction= T.gather( .matmul( ~ & "
    "T.one_hot("
)


def _spelt(piece: str) -> str:
    return (
        piece
        if "__" in piece
        else piece.replace("LINE", "\n").replace("_", " ").replace("one hot", "one_hot")
    )


@settings(max_examples=examples(300))
@given(_mixed([_spelt(piece) for piece in PIECES.split(" ")]), st.booleans())
@example("x.expand(-1)", True)
@example("x[T.tensor([])]", True)
def test_any_mixture_of_what_is_allowed_is_read_or_refused(text: str, assigns: bool) -> None:
    source = f"x = T.param(2, 3)\nw = T.param(3, 2)\ni = T.tensor([0, 1])\n{'y = ' if assigns else ''}{text}"

    reading = read(source)

    assert reading.fault is None or reading.fault.message
    assert all(value.tensor.numel() <= lesson_document.MAX_ELEMENTS for value in reading.values.all)


@settings(max_examples=examples(300))
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    reading = read(text)

    assert reading.fault is not None or reading.loss is not None


VALUE = st.recursive(
    st.sampled_from(
        ["x", "w", "v", "i", "s", "2", "0.5", "-1", "x > 0", "T.ones(2)", "None", "'mean'", "..."]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+ - * / ** @ > == & |".split()), inner).map(
            lambda p: f"({' '.join(p)})"
        ),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, max_size=3)).map(
            lambda p: f"T.{p[0]}({', '.join(p[1])})"
        ),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), inner, st.lists(inner, max_size=2)).map(
            lambda p: f"({p[1]}).{p[0]}({', '.join(p[2])})"
        ),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})[{p[1]}]"),
        st.lists(inner, max_size=3).map(lambda p: f"[{', '.join(p)}]"),
        inner.map(lambda p: f"-({p})"),
    ),
    max_leaves=8,
)


@settings(max_examples=examples(400))
@given(VALUE)
def test_any_expression_of_the_functions_is_computed_or_refused(expression: str) -> None:
    head = "x = T.param(2, 3)\nw = T.param(3, 2)\nv = T.param(3)\ni = T.tensor([0, 1])\ns = T.param(2.0)\n"

    reading = read(f"{head}y = {expression}\nloss = y.sum()")

    assert reading.fault is None or reading.fault.line in (0, 6, 7), reading.fault


def test_an_answer_is_one_expression() -> None:
    with pytest.raises(Fault, match="write one expression"):
        evaluate("x = 1", {})
    with pytest.raises(Fault, match="not a tensor"):
        evaluate("[1, 2]", {})
