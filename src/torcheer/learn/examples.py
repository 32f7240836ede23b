"""Expressions to begin with, from one product to a head of attention. No torch in here."""

from __future__ import annotations

from typing import Final

from torcheer.learn.lesson_document import Example

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
