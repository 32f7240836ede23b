"""Exercises: rules with a hole to fill, and what a student has filled in; and examples. No torch in here.

An exercise has a forward line in the language of the page. An answer is an expression over what arrives (g),
what came out (c), the inputs, and what is given beside them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from torcheer.errors import InputError
from torcheer.learn.lesson_document import Example, Exercise, Hole, shape_text
from torcheer.tensorfile import write_atomically

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An exercise, as it is set."""

    id: str
    title: str
    text: str
    forward: str  # c = …
    shapes: Sequence[Shapes]  # the first is shown; an answer must be right for all
    holes: Mapping[str, Sequence[str]]  # by symbol: an expression that is right, and hints
    helpers: Mapping[str, str]  # given besides: name = expression over the inputs
    places: Mapping[str, int]  # inputs that are whole numbers below this
    positive: Sequence[str]  # inputs that must not be zero or less


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a student typed for one hole, and whether it was right."""

    answer: str
    is_right: bool


def shown(task: Task, typed: Mapping[str, Typed]) -> Exercise:
    """The exercise with what the student has done in it."""
    holes = [
        Hole(
            symbol=symbol,
            formula=rf"\grad{{{symbol}}}",
            hints=hints,
            solution=solution,
            answer=typed[symbol].answer if symbol in typed else "",
            is_right=symbol in typed and typed[symbol].is_right,
        )
        for symbol, (solution, *hints) in task.holes.items()
    ]
    return Exercise(
        id=task.id,
        title=task.title,
        text=task.text,
        forward=task.forward,
        given=given(task),
        holes=holes,
        is_solved=all(hole.is_right for hole in holes),
    )


def given(task: Task) -> list[str]:
    """What may be used, a line each, with its numbers in the example that verdicts speak of."""
    # By name: whoever only wants the list of exercises needs no torch.
    numbers: Mapping[str, str] = importlib.import_module("torcheer.learn.grading").numbers_of(task)
    lines = [
        f"g: the gradient that arrives at c, in the shape of c: {numbers['g']}",
        f"c: {task.forward.partition('= ')[2]} = {numbers['c']}",
    ]
    for name, shape in task.shapes[0].items():
        size = f"{shape[0]} elements" if len(shape) == 1 else shape_text(shape)
        what = f", whole numbers from 0 to {task.places[name] - 1}" if name in task.places else ""
        lines.append(f"{name}: {size}{what}: {numbers[name]}")
    lines += [f"{name}: {expression} = {numbers[name]}" for name, expression in task.helpers.items()]
    return lines


_VERSION: Final = 1
_MAX_BYTES: Final = 1_000_000  # a larger file is none of ours

Answers = dict[str, dict[str, Typed]]  # by exercise and symbol


class _File(msgspec.Struct, kw_only=True):
    version: int
    answers: Answers


class Progress:
    """Kept in a file if there is a place for one; else it lasts as long as the program."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._answers = {} if path is None else _read(path)

    def of(self, exercise_id: str) -> Mapping[str, Typed]:
        return self._answers.get(exercise_id, {})

    def note_answers(self, exercise_id: str, typed: Mapping[str, Typed]) -> None:
        """Remember what was typed. What was right once stays so until it is typed anew."""
        self._answers[exercise_id] = {**self._answers.get(exercise_id, {}), **typed}
        self._write()

    def reset(self) -> None:
        self._answers = {}
        self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        data = msgspec.json.encode(_File(version=_VERSION, answers=self._answers))

        # Where it cannot be kept the exercises go on; only that nothing outlives the program.
        with contextlib.suppress(OSError, InputError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._path, "the progress", lambda file: file.writelines([data]), "learn.json")


def _read(path: Path) -> Answers:
    """What is in the file. One that cannot be understood is put aside, not overwritten."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise msgspec.DecodeError("too large")
        read = msgspec.json.decode(path.read_bytes(), type=_File)
        if read.version != _VERSION:
            raise msgspec.ValidationError("of another version")
        return read.answers
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        with contextlib.suppress(OSError):  # the last one only
            os.replace(path, path.with_name(f"{path.name}.damaged"))
        return {}
    except OSError:
        return {}


def _task(
    id: str, title: str, text: str, forward: str, shapes: Sequence[Shapes], *,
    helpers: Mapping[str, str] | None = None, places: Mapping[str, int] | None = None,
    positive: Sequence[str] = (), **holes: Sequence[str],
) -> Task:  # fmt: skip
    return Task(
        id=id, title=title, text=text, forward=forward, shapes=shapes, holes=holes, helpers=helpers or {},
        places=places or {}, positive=positive,
    )  # fmt: skip


def _one(*shapes: Shape, name: str = "a") -> list[Shapes]:
    return [{name: shape} for shape in shapes]


def _both(*shapes: Shape) -> list[Shapes]:
    return [{"a": shape, "b": shape} for shape in shapes]


_ATTENTION: Final = [
    {"q": (3, 2), "k": (4, 2), "v": (4, 3)},
    {"q": (2, 3), "k": (2, 3), "v": (2, 2)},
    {"q": (1, 4), "k": (3, 4), "v": (3, 1)},
]

# fmt: off
# Of each gradient that is sought: an expression that is right, and hints, from vague to concrete.
TASKS: Final[Sequence[Task]] = (
    _task("product", "A product of two numbers",
        "c is the product of a and b. If a grows by a little, c grows by b times as much.\n\n"
        "g says how much the loss changes with c. How much does it change with a, and with b?",
        "c = a * b", _both((), (3,)),
        a=("g * b", "How much does c change when a grows by 1?",
           "By b. And the loss changes g times as much as c.", "g times the other factor."),
        b=("g * a", "The same as for a, with the roles changed.", "g times the other factor, which is a.")),
    _task("difference", "A difference",
        "c is what is left of a when b is taken away.",
        "c = a - b", _both((3,), (2, 2)),
        a=("g", "c grows exactly as a does.", "So the gradient goes on unchanged."),
        b=("-g", "When b grows, c shrinks by as much.", "So the sign turns: minus g.")),
    _task("square", "A square",
        "A square is the product of a with itself: a gets a gradient from both factors.",
        "c = a ** 2", _one((3,), (), (2, 3)),
        a=("2 * a * g", "Write it as a * a: each factor gets g times the other.",
           "Both are a, and what arrives adds up.", "2 * a, times what arrives.")),
    _task("quotient", "A quotient",
        "a is divided by b. The more there is above, the more comes out; the more below, the less.",
        "c = a / b", _both((3,), (2, 2)),
        positive="b",
        a=("g / b", "c is a times one b-th.", "So a gets g times one b-th: g / b."),
        b=("-g * a / b ** 2", "What is the derivative of 1/b?", "It is -1/b². And a stands before it.",
           "minus g, times a, over b squared; which is also -g * c / b.")),
    _task("exp", "The exponential",
        "The exponential is the function that is its own slope.",
        "c = T.exp(a)", _one((3,), (2, 2)),
        a=("g * c", "What is the derivative of e to the a?", "It is itself, and that is known already: c.")),
    _task("log", "The logarithm",
        "Steep near zero, ever flatter above.",
        "c = T.log(a)", _one((3,), (2, 2)),
        positive="a",
        a=("g / a", "What is the derivative of the logarithm?", "1/a. Times what arrives.")),
    _task("sigmoid", "The sigmoid",
        "It leads from 0 to 1, steepest in the middle. Its slope can be had from its own value.",
        "c = T.sigmoid(a)", _one((3,), (2, 2)),
        a=("g * c * (1 - c)", "Its slope is 0 where c is 0 and where c is 1.",
           "It is c times (1 - c), a quarter at most.")),
    _task("tanh", "The hyperbolic tangent",
        "It leads from -1 to 1. Where it is near either of them, little goes back: the unit is saturated.",
        "c = T.tanh(a)", _one((3,), (2, 2)),
        a=("g * (1 - c ** 2)", "Its slope is 1 in the middle, and 0 where c is -1 or 1.",
           "It is 1 minus c squared.")),
    _task("relu", "The rectifier",
        "What is positive goes through, all else becomes 0. A comparison such as a > 0 gives a mask, "
        "which counts as 1 and 0 in a product.",
        "c = T.relu(a)", _one((4,), (3, 3)),
        a=("g * (a > 0)", "Where a is positive, c is a: what is the slope there? And elsewhere?",
           "1 and 0: the mask a > 0.")),
    _task("twice", "Used twice",
        "a has a part in c by two ways. What comes back by both adds up.",
        "c = a * a + 3 * a", _one((3,), (2, 2)),
        a=("g * (2 * a + 3)", "By a * a comes 2 * a * g. What comes by 3 * a?", "3 * g. Add both.")),
    _task("bias", "A bias for every item",
        "b is added to each row of x: the same numbers are used many times. So each gets the gradients of "
        "all its uses.",
        "c = x + b", [{"x": (3, 2), "b": (2,)}, {"x": (4, 3), "b": (3,)}, {"x": (1, 2), "b": (2,)}],
        x=("g", "Each element of x is used once.", "So it is g itself."),
        b=("g.sum(dim=0)",
           "b[0] was added to every row: it gets what arrives at c[0, 0], c[1, 0], and so on.",
           "The sum over the rows.", "g.sum over dimension 0.")),
    _task("mean", "A mean of each row",
        "c has one number for each row of x. Every element of a row has the same share in it. x.size(1) "
        "is the length of a row, and g.unsqueeze(1) makes a column of g.",
        "c = x.mean(dim=1)", _one((2, 3), (3, 4), (4, 1), name="x"),
        x=("g.unsqueeze(1).expand(x.shape) / x.size(1)",
           "If one element grows by 1, by how much does the mean of its row?",
           "By one n-th, where n is the length of the row.",
           "Make a column of g, expand it to x.shape, and divide by x.size(1).")),
    _task("dot", "A dot product",
        "Two vectors become one number: element times element, all added up.",
        "c = a @ b", _both((3,), (5,)),
        a=("g * b", "It is a sum of products a[i] * b[i].", "g is one number, and each a[i] meets b[i]."),
        b=("g * a", "The same with the roles changed.", "g times a.")),
    _task("matmul", "A product of matrices",
        "c[i, j] is the sum of a[i, k] * b[k, j] over k. The shapes almost say it: what can be multiplied "
        "with g so that the result has the shape of a?",
        "c = a @ b", [{"a": (2, 3), "b": (3, 4)}, {"a": (3, 3), "b": (3, 3)}, {"a": (1, 4), "b": (4, 2)}],
        a=("g @ b.T", "a is 2×3, g is 2×4 and b is 3×4 (turned round 4×3).", "g times b turned round.",
           "g @ b.T"),
        b=("a.T @ g", "b is 3×4, a turned round is 3×2, g is 2×4.", "a turned round, times g.")),
    _task("linear", "A linear layer",
        "As in torch, w has a row for each output and a column for each input, and the bias is added to "
        "each item.",
        "c = x @ w.T + b",
        [{"x": (2, 3), "w": (4, 3), "b": (4,)}, {"x": (3, 2), "w": (2, 2), "b": (2,)},
         {"x": (1, 3), "w": (2, 3), "b": (2,)}],
        x=("g @ w", "A product with w.T: its other factor, turned round, is w.", "g @ w"),
        w=("g.T @ x", "w.T gets x.T @ g. And w?", "The same turned round: (x.T @ g).T, which is g.T @ x."),
        b=("g.sum(dim=0)", "b was added to each item.", "So it gets the sum over all items.")),
    _task("mse", "The mean squared error",
        "How far y is from the target t, squared, on average over all elements. y.size(0) * y.size(1) "
        "says how many there are.",
        "c = ((y - t) ** 2).mean()",
        [{"y": (2, 3), "t": (2, 3)}, {"y": (4, 1), "t": (4, 1)}, {"y": (3, 3), "t": (3, 3)}],
        y=("g * 2 * (y - t) / (y.size(0) * y.size(1))",
           "Three ops in a row: a difference, a square, a mean.",
           "The square gives 2 * (y - t), the mean divides by the number of elements.",
           "g * 2 * (y - t), over that number.")),
    _task("softmax", "Softmax",
        "c has a share for each element of a row, and the shares of a row add up to 1. So no share can "
        "grow without others that shrink: every element of x has a part in every element of its row of c.",
        "c = T.softmax(x, dim=-1)", _one((2, 3), (3, 4), (1, 2), name="x"),
        x=("c * (g - (g * c).sum(dim=-1, keepdim=True))",
           "c[i] changes with x[j] by c[i] * ([i = j] - c[j]).",
           "Multiply with g[i] and sum over i: one part is g[j] * c[j], the other -c[j] times a sum.",
           "The sum is (g * c).sum(dim=-1, keepdim=True).")),
    _task("cross-entropy", "Cross entropy",
        "Scores for each class, and the class that is right. The loss is minus the logarithm of the share "
        "that softmax gives to it, on average over the items. T.one_hot(t, n) has a 1 where the right "
        "class is.",
        "c = T.cross_entropy(x, t)",
        [{"x": (3, 4), "t": (3,)}, {"x": (2, 5), "t": (2,)}, {"x": (1, 4), "t": (1,)}],
        places={"t": 4},
        x=("g * (T.softmax(x, dim=1) - T.one_hot(t, x.size(1))) / x.size(0)",
           "The loss of one item is logsumexp(x) - x[t]. What is the slope of either?",
           "softmax(x), minus 1 at the right class.", "And the mean over the items divides by x.size(0).")),
    _task("centring", "Layer norm: taking the mean away",
        "The first half of a layer norm: each row gets a mean of 0. An element has a part in the mean of "
        "its row, too, so it comes back by two ways.",
        "c = x - x.mean(dim=1, keepdim=True)", _one((2, 3), (3, 4), (1, 2), name="x"),
        x=("g - g.mean(dim=1, keepdim=True)", "By the first way comes g itself.",
           "By the mean comes minus one n-th of the sum of the row of g.",
           "Which is the mean of g over the row.")),
    _task("scaling", "Layer norm: all of it",
        "Now the spread goes, too: r is one over the spread of each row. Gradients lose what would only "
        "move a row or stretch it, since neither changes what comes out.",
        "c = T.layer_norm(x, x.size(1))", _one((2, 4), (3, 5), (1, 3), name="x"),
        helpers={"r": "1 / T.sqrt(x.var(dim=1, unbiased=False, keepdim=True) + 1e-5)"},
        x=("r * (g - g.mean(dim=1, keepdim=True) - c * (g * c).mean(dim=1, keepdim=True))",
           "As for taking the mean away, but the whole is scaled by r.",
           "Besides the mean of g, the part of g that points along c goes, too.",
           "That part is c * (g * c).mean(dim=1, keepdim=True).")),
    _task("embedding", "Embeddings",
        "Rows of a table w are picked by their numbers i. A row that was picked twice gets both "
        "gradients, one that was not gets none. T.one_hot(i, n) is a matrix with a 1 in each row, where i "
        "points to.",
        "c = T.embedding(i, w)", [{"i": (3,), "w": (4, 2)}, {"i": (5,), "w": (4, 3)}],
        places={"i": 4},
        w=("T.one_hot(i, w.size(0)).T @ g", "Picking rows is a product of matrices: T.one_hot(i, n) @ w.",
           "And the right factor of a product gets the left one, turned round, times g.")),
    _task("attention-scores", "Attention: the scores",
        "Each query meets each key: their dot product, over the root of their length. q.size(1) ** 0.5 is "
        "that root.",
        "c = q @ k.T / q.size(1) ** 0.5", [{name: one[name] for name in ("q", "k")} for one in _ATTENTION],
        q=("g @ k / q.size(1) ** 0.5", "A product of matrices with k.T.",
           "k.T turned round is k; and the root stays below."),
        k=("g.T @ q / q.size(1) ** 0.5", "k.T gets q.T @ g, over the root.",
           "And k the same, turned round: g.T @ q.")),
    _task("attention-weights", "Attention: weights and values",
        "Scores s become weights p by a softmax, and the weights mix the values. Go back one op at a "
        "time: first to v and to the weights, then from the weights to the scores.",
        "c = T.softmax(s, dim=-1) @ v",
        [{"s": (3, 4), "v": (4, 2)}, {"s": (2, 2), "v": (2, 3)}, {"s": (1, 3), "v": (3, 1)}],
        helpers={"p": "T.softmax(s, dim=-1)"},
        v=("p.T @ g", "c is p @ v.", "p turned round, times g."),
        s=("p * (g @ v.T - (g @ v.T * p).sum(dim=-1, keepdim=True))", "At the weights arrives g @ v.T.",
           "Put that into the rule of softmax, where c is p here.",
           "p * (g @ v.T - …), where … is the sum of g @ v.T * p over each row, with keepdim=True.")),
    _task("attention", "Attention: a whole head",
        "Scores, softmax and values at once. p are the weights, and gs is what arrives at the scores "
        "before they are divided: you found both before.",
        "c = T.softmax(q @ k.T / q.size(1) ** 0.5, dim=-1) @ v", _ATTENTION,
        helpers={"p": "T.softmax(q @ k.T / q.size(1) ** 0.5, dim=-1)",
                 "gs": "p * (g @ v.T - (g @ v.T * p).sum(dim=-1, keepdim=True)) / q.size(1) ** 0.5"},
        v=("p.T @ g", "c is p @ v.", "p turned round, times g."),
        q=("gs @ k", "The scores are q @ k.T.", "What arrives there, times k."),
        k=("gs.T @ q", "k.T gets q.T @ gs.", "And k the same, turned round.")),
)
# fmt: on


_IMPORT: Final = "import torcheer.autograd as T\n\n"


def _example(id: str, title: str, about: str, source: str) -> Example:
    return Example(id=id, title=title, about=about, source=f"{_IMPORT}{source}")


# fmt: off
EXAMPLES: Final = (
    _example("product", "One product",
        "Each factor's gradient is the other factor: the smallest graph that has something to say.",
        """a = T.param(3.0)
b = T.param(-2.0)

loss = a * b
loss.backward()
"""),
    _example("chain", "The chain rule",
        "Functions in a row: their slopes are multiplied, from the end to the beginning.",
        """x = T.param(0.5)

u = 3 * x
v = T.sin(u)
w = v ** 2
loss = T.exp(w)
loss.backward()
"""),
    _example("fan-out", "Used twice",
        "A value that is used in two places gets a gradient from both, and they add up.",
        """x = T.param([1.0, -2.0, 0.5])

a = x * x
b = 3 * x
loss = (a + b).sum()
loss.backward()
"""),
    _example("broadcasting", "Broadcasting",
        "One row of biases is added to every item, so its gradient is the sum over all items.",
        """x = T.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
w = T.param([2.0, -1.0])
b = T.param([0.5, 0.25])

scaled = x * w
z = scaled + b
loss = (z ** 2).mean()
loss.backward()
"""),
    _example("two-layers", "Two layers",
        "A small network with one hidden layer, and the error of what it says.",
        """x  = T.tensor([[0.5, -1.0, 2.0]])
t  = T.tensor([[1.0, 0.0]])
W1 = T.param(3, 4, seed=13)
b1 = T.param(1, 4, seed=1)
W2 = T.param(4, 2, seed=3)

a = x @ W1
z = a + b1
h = T.relu(z)
y = h @ W2
e = y - t
s = e ** 2
loss = s.mean()
loss.backward()
"""),
    _example("cross-entropy", "Softmax and cross entropy",
        "Classes to choose from: the gradient of the scores is the probabilities minus what was right.",
        """x = T.tensor([[1.0, -0.5], [0.25, 2.0], [-1.0, 0.5]])
W = T.param(2, 3, seed=4)
target = T.tensor([0, 2, 1])

scores = x @ W
log_p = T.log_softmax(scores, dim=1)
picked = log_p.gather(1, target.reshape(3, 1))
loss = -picked.mean()
loss.backward()
"""),
    _example("layer-norm", "Layer norm, by hand",
        "Mean and spread depend on every element of a row, so each gradient takes something from the others.",
        """x = T.param([[1.0, 2.0, 4.0], [-1.0, 0.5, 0.0]])
gain = T.param([1.0, 0.5, 2.0])
target = T.tensor([[0.0, 1.0, 1.0], [-1.0, 1.0, 0.0]])

mu = x.mean(dim=1, keepdim=True)
d = x - mu
var = (d ** 2).mean(dim=1, keepdim=True)
n = d / T.sqrt(var + 1e-5)
y = n * gain
loss = ((y - target) ** 2).sum()
loss.backward()
"""),
    _example("recurrent", "A recurrent step, four times",
        "The same weights in every round: their gradient is the sum of what comes back from all of them.",
        """x = T.tensor([[1.0], [0.5], [-1.0], [0.25]])
W = T.param([[0.5, -0.25]])
U = T.param([[0.75, 0.1], [-0.3, 0.9]])
h = T.zeros(1, 2)

for step in range(4):
    h = T.tanh(x[step:step + 1] @ W + h @ U)
loss = ((h - T.tensor([[0.5, -0.5]])) ** 2).sum()
loss.backward()
"""),
    _example("convolution", "A convolution",
        "A kernel goes over a picture: each of its weights gathers a gradient from every place where it lay.",
        """picture = T.tensor([[[[0.0, 1.0, 2.0, 1.0],
                     [1.0, 3.0, 1.0, 0.0],
                     [2.0, 1.0, 0.0, 1.0],
                     [0.0, 1.0, 1.0, 2.0]]]])
kernel = T.param([[[[1.0, -1.0], [0.5, 0.25]]]])
bias = T.param([0.1])

edges = T.conv2d(picture, kernel, bias)
h = T.relu(edges)
loss = h.mean()
loss.backward()
"""),
    _example("embedding", "Embeddings",
        "Rows are picked from a table: only those that were picked get a gradient, twice if picked twice.",
        """table = T.param(5, 3, seed=6)
words = T.tensor([1, 3, 1])
w = T.param([1.0, -1.0, 0.5])

rows = T.embedding(words, table)
scores = rows @ w
loss = T.sigmoid(scores).sum()
loss.backward()
"""),
    _example("attention", "A head of attention",
        "Queries meet keys, softmax makes weights of that, and the weights mix the values.",
        """x  = T.randn(3, 4, seed=1)
Wq = T.param(4, 2, seed=2)
Wk = T.param(4, 2, seed=3)
Wv = T.param(4, 2, seed=4)

q = x @ Wq
k = x @ Wk
v = x @ Wv
scores = q @ k.T / 2 ** 0.5
weights = T.softmax(scores, dim=-1)
out = weights @ v
loss = (out ** 2).mean()
loss.backward()
"""),
)
# fmt: on
