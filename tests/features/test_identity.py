"""After an interruption the same call goes on; with another model, other data or other wishes it does not."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from tests.copying import run_copy
from tests.features.hooking import interrupted
from torcheer.errors import InputError
from torcheer.features import extract

NUM = 20
X = torch.randn(NUM, 4, generator=torch.Generator().manual_seed(0))
Y = torch.arange(NUM)


class Net(nn.Module):
    def __init__(self, scale: float = 2.0, num_heads: int = 2) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.norm = nn.BatchNorm1d(4)
            self.attention = nn.MultiheadAttention(4, num_heads, batch_first=True)
        self.scale = scale
        self.name_or_path, self.local_rank = "here", 0

    def forward(self, x: Tensor) -> Tensor:
        y = (self.norm(x) * self.scale)[:, None]
        return self.attention(y, y, y)[0]


class OtherCode(Net):
    def forward(self, x: Tensor) -> Tensor:
        y = (self.norm(x) * self.scale)[:, None] * 1.0001
        return self.attention(y, y, y)[0]


OtherCode.__qualname__ = "Net"

Options = dict[str, Any]
Given = tuple[nn.Module, Any, Options]
USUAL: Options = {"layers": ["norm", "attention"], "batch_size": 4}


def given(model: nn.Module | None = None, data: Any = None, **options: Any) -> Given:
    return model or Net(), TensorDataset(X, Y) if data is None else data, {**USUAL, **options}


def begin(to: Path, first: Given) -> None:
    model, data, options = first
    interrupted(model, data, to, **options)


def go_on(to: Path, second: Given) -> Any:
    model, data, options = second
    return extract(model, data, to=to, progress=False, **options)


def changed(change: Callable[[Net], Any]) -> Net:
    model = Net()
    with torch.no_grad():
        change(model)
    return model


def lesioned(unit: int) -> Net:
    """Without what one unit says, by a hook."""

    def without(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        return output.index_fill(1, torch.tensor([unit]), 0.0)

    model = Net()
    model.norm.register_forward_hook(without)
    return model


def look_on(_: nn.Module, __: Any, output: Tensor) -> None:
    assert output.shape[1] == 4


def one_pixel() -> Tensor:
    x = X.clone()
    x[13, 2] += 1e-6
    return x


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (given(changed(lambda net: net.norm.weight[0].add_(1e-6))), "'norm.weight' changed"),
        (given(changed(lambda net: net.norm.running_mean[0].add_(1e-6))), "'norm.running_mean' changed"),
        (
            given(changed(lambda net: setattr(net.norm, "eps", 2e-5))),
            "first batch of 'norm' has other values",
        ),
        (given(Net(scale=2.0001)), "first batch of 'attention' has other values"),
        (given(OtherCode()), "first batch of 'attention' has other values"),
        (given(changed(lambda net: net.add_module("more", nn.ReLU()))), "its modules are other ones"),
        (given(changed(lambda net: net.add_module("more", nn.Linear(2, 2)))), "'more.weight' is not in both"),
        (given(lesioned(1)), "first batch of 'norm' has other values"),
        (given(data=TensorDataset(one_pixel(), Y)), r"content \(tensors\) changed"),
        (given(data=TensorDataset(X, Y + 1)), r"content \(tensors\) changed"),
        (given(data=TensorDataset(X[:19], Y[:19])), "number of samples was 20, and is 19"),
        (given(data=Subset(TensorDataset(X, Y), range(NUM))), "kind was TensorDataset, and is Subset"),
        (given(data=DataLoader(TensorDataset(X, Y), 4, sampler=[1, 0, *range(2, NUM)])), "order changed"),
        (given(batch_size=5), "batch size was '4', and is '5'"),
        (given(layers=["norm"]), "layers was"),
        (given(transform="float16"), "transforms was 'none'"),
        (given(shapes="pooled"), "shapes was"),
        (given(seed=1), "seed was '0', and is '1'"),
        (given(ids=list(range(NUM))), "ids was"),
    ],
)
def test_a_change_is_refused_and_named(second: Given, message: str, tmp_path: Path) -> None:
    model, data, options = second
    if isinstance(data, DataLoader):
        options = {name: value for name, value in options.items() if name != "batch_size"}
    begin(tmp_path / "f", given())

    with pytest.raises(InputError, match=message):
        go_on(tmp_path / "f", (model, data, options))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            given(transform=lambda values: values * 2),
            given(transform=lambda values: values * 3),
        ),
        (given(lesioned(1)), given(lesioned(2))),
        (given(ids=list(range(NUM))), given(ids=list(range(1, NUM + 1)))),
        (
            given(data=ConcatDataset([Subset(TensorDataset(X, Y), range(NUM))])),
            given(data=ConcatDataset([Subset(TensorDataset(one_pixel(), Y), range(NUM))])),
        ),
        (given(data={"x": X, "texts": ["a"] * NUM}), given(data={"x": one_pixel(), "texts": ["a"] * NUM})),
    ],
    ids=["function", "lesion", "ids", "deep inside", "dict"],
)
def test_other_changes_are_refused_too(first: Given, second: Given, tmp_path: Path) -> None:
    begin(tmp_path / "f", first)

    with pytest.raises(InputError, match="holds features"):
        go_on(tmp_path / "f", second)


def test_a_change_is_refused_of_what_is_complete_too(tmp_path: Path) -> None:
    go_on(tmp_path / "f", given())
    assert go_on(tmp_path / "f", given()).is_complete

    with pytest.raises(InputError, match="first batch of 'attention' has other values"):
        go_on(tmp_path / "f", given(OtherCode()))


def test_another_machine_may_round_in_another_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(tmp_path / "f", given())
    monkeypatch.setattr(torch, "__version__", "another")

    assert go_on(tmp_path / "f", given(Net(scale=2.0001))).is_complete  # 0.005 % off: rounding, perhaps
    with pytest.raises(InputError, match="first batch of 'attention' has other values"):
        go_on(tmp_path / "f", given(Net(scale=2.1)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (given(transform=lambda values: values * 2), given(transform=lambda values: values * 3)),
        (given(lesioned(1)), given(lesioned(2))),
    ],
    ids=["transform", "hook"],
)
def test_a_change_is_noticed_on_another_machine_too(
    first: Given, second: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path / "f", first)
    monkeypatch.setattr(torch, "__version__", "another")

    assert go_on(tmp_path / "f", first).is_complete
    with pytest.raises(InputError, match="has other values"):
        go_on(tmp_path / "f", second)


def test_a_change_is_noticed_where_the_first_batch_is_not_done(tmp_path: Path) -> None:
    begin(tmp_path / "f", given(transform=lambda values: values * 2))
    for journal in (tmp_path / "f" / "done").iterdir():
        first, *others = journal.read_bytes().splitlines(keepends=True)
        assert b'"batch":0,' in first
        journal.write_bytes(b"".join(others))

    with pytest.raises(InputError, match=r"batch 1 of .* has other values"):
        go_on(tmp_path / "f", given(transform=lambda values: values * 3))


class Moving(TensorDataset):
    """Another sample each time, whatever the seed is."""

    num_read = 0

    def __getitem__(self, number: int) -> Any:
        self.num_read += 1
        x, y = super().__getitem__(number)
        return x + self.num_read, y


def test_where_nothing_can_be_compared_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin(tmp_path / "f", given(data=Moving(X, Y)))
    capsys.readouterr()

    model, data, options = given(data=Moving(X, Y))
    assert extract(model, data, to=tmp_path / "f", **{**options, "progress": True}).is_complete
    assert "nothing tells whether the code of the model" in capsys.readouterr().err


def test_a_batch_of_a_stream_that_changed_is_refused_as_it_goes_by(tmp_path: Path) -> None:
    options = {"layers": ["norm"]}
    begin(tmp_path / "f", (Net(), [(x, y) for x, y in zip(X.split(4), Y.split(4), strict=True)], options))
    others = [
        (x + (number == 1), y) for number, (x, y) in enumerate(zip(X.split(4), Y.split(4), strict=True))
    ]

    with pytest.raises(InputError, match="samples from 4 on are no longer what they were"):
        go_on(tmp_path / "f", (Net(), others, options))


# --- what is no change ------------------------------------------------------------------------------------


class Caching(Dataset[Any]):
    """Counts, remembers and writes down, and holds what cannot be summed up."""

    def __init__(self) -> None:
        self.items: list[Any] = [None] * NUM
        self.log: list[int] = []
        self.seen: dict[int, Tensor] = {}
        self.rows = torch.zeros(NUM, 4)
        self.count = 0
        self.function = lambda x: x
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return NUM

    def __getitem__(self, number: int) -> Any:
        self.count += 1
        self.log.append(number)
        self.seen[number] = self.rows[number] = X[number]
        if self.items[number] is None:
            self.items[number] = X[number]
        return self.items[number], number


class OwnChance(Dataset[Any]):
    """Draws from a generator that nobody else knows."""

    def __init__(self) -> None:
        self.chance = numpy.random.default_rng(0)

    def __len__(self) -> int:
        return NUM

    def __getitem__(self, number: int) -> Any:
        return X[number] + float(self.chance.random()), number


class Chance(Dataset[Any]):
    def __len__(self) -> int:
        return NUM

    def __getitem__(self, number: int) -> Any:
        return X[number] + torch.randn(4) + float(numpy.random.rand()), number


class StreamOfChance(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return ((X[number] + torch.randn(4), number) for number in range(NUM))


class Counting(Net):
    """Remembers its passes, and shows an address when it is printed."""

    def __init__(self) -> None:
        super().__init__()
        self.num_passes = 0
        self.past: list[int] = []
        self.lock = threading.Lock()
        self.function = lambda x: x
        self.register_buffer("mean", torch.zeros(4))

    def extra_repr(self) -> str:
        return f"{self.function} after {self.num_passes}"

    def forward(self, x: Tensor) -> Tensor:
        self.num_passes += 1
        self.past.append(len(x))
        self.mean += x.mean(0)
        return super().forward(x)


class NamedLabels(Net):
    """Has a layer that is called as a column is."""

    def __init__(self) -> None:
        super().__init__()
        self.labels = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.labels(super().forward(x))


@pytest.mark.parametrize(
    "make",
    [
        given,
        lambda: given(data=Caching()),
        lambda: given(data=OwnChance()),
        lambda: given(data=Chance()),
        lambda: given(data=StreamOfChance()),
        lambda: given(Counting()),
        lambda: given(lesioned(1)),
        lambda: given(NamedLabels(), layers=["labels", "norm"]),
        lambda: given(transform=lambda values: values * 2),
        lambda: given(layers=(name for name in ["norm"])),
        lambda: given(layers={"norm": "float16", "attention": None}),
    ],
    ids=[
        "plain",
        "caches",
        "its own chance",
        "chance",
        "stream of chance",
        "counting model",
        "lesion",
        "a layer called labels",
        "function",
        "generator",
        "dict",
    ],
)
@pytest.mark.parametrize("is_same_object", [True, False])
def test_the_same_once_more_goes_on(make: Callable[[], Given], is_same_object: bool, tmp_path: Path) -> None:
    first = make()
    begin(tmp_path / "f", first)
    second = make()
    if is_same_object:
        second = (*first[:2], second[2])

    assert go_on(tmp_path / "f", second).is_complete


def test_results_after_going_on_are_those_of_one_go(tmp_path: Path) -> None:
    begin(tmp_path / "f", given(data=Chance()))
    parts = go_on(tmp_path / "f", given(data=Chance()))
    whole = go_on(tmp_path / "g", given(data=Chance()))

    assert numpy.array_equal(parts["attention"][:], whole["attention"][:])


@pytest.mark.parametrize(
    "second",
    [
        given(layers=["attention", "norm"]),
        given(changed(lambda net: net.train())),
        given(changed(lambda net: net.eval())),
        given(changed(lambda net: net.requires_grad_(False))),
        given(changed(lambda net: setattr(net, "name_or_path", "elsewhere"))),
        given(changed(lambda net: setattr(net, "local_rank", 1))),
        given(Net(num_heads=1)),  # of one token
        given(changed(lambda net: net.norm.register_forward_hook(look_on))),
    ],
    ids=[
        "order of layers",
        "training",
        "evaluation",
        "frozen",
        "from elsewhere",
        "another rank",
        "what changes no value",
        "looked on",
    ],
)
def test_what_does_not_matter_does_not_count(second: Given, tmp_path: Path) -> None:
    begin(tmp_path / "f", given())

    assert go_on(tmp_path / "f", second).is_complete


def doubled(values: Tensor) -> Tensor:
    return values * 2


def test_it_goes_on_in_a_new_process(tmp_path: Path) -> None:
    """Nothing by which a model and data are known depends on addresses or on the order of sets."""
    begin(tmp_path / "f", given(Counting(), Caching(), transform=doubled))
    program = (
        "from pathlib import Path\n"
        "from tests.features import test_identity as there\n"
        "again = there.given(there.Counting(), there.Caching(), transform=there.doubled)\n"
        f"assert there.go_on(Path({str(tmp_path / 'f')!r}), again).is_complete\n"
    )
    done = run_copy(["-c", program], cwd=tmp_path)

    assert done.returncode == 0, done.stderr


# --- files ------------------------------------------------------------------------------------------------


def pictures(folder: Path) -> Any:
    from torcheer.training import ImageFolder

    def numbers(picture: Any) -> Tensor:
        return torch.from_numpy(numpy.asarray(picture).astype("float32"))[0, :4, 0]

    return ImageFolder(folder, numbers)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from PIL import Image

    chance = numpy.random.default_rng(0)
    for kind in "ab":
        (tmp_path / "one" / kind).mkdir(parents=True)
        for number in range(10):
            values = chance.integers(0, 255, (6, 6, 3), dtype=numpy.uint8)
            Image.fromarray(values).save(tmp_path / "one" / kind / f"{number}.png")
    return tmp_path / "one"


def test_a_moved_folder_goes_on(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(tmp_path / "f", given(data=pictures(folder)))
    shutil.copytree(folder, tmp_path / "two")
    monkeypatch.chdir(tmp_path)

    assert go_on(tmp_path / "f", given(data=pictures(Path("two")))).is_complete


def test_a_file_that_was_rewritten_is_noticed(folder: Path, tmp_path: Path) -> None:
    from PIL import Image

    begin(tmp_path / "f", given(data=pictures(folder)))
    Image.new("RGB", (6, 6)).save(folder / "a" / "7.png")

    with pytest.raises(InputError, match="of other data"):
        go_on(tmp_path / "f", given(data=pictures(folder)))
