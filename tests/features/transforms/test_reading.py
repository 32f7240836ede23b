"""Transforms as they are given: words, objects, functions."""

import functools
import pickle
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.features.transforms import (
    Cast,
    Flatten,
    Function,
    Pool,
    Project,
    RunningPCA,
    Transform,
    read_transforms,
)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("pool", Pool()),
        ("pool:max", Pool("max")),
        ("pool:mean:2", Pool("mean", 2)),
        ("pool:2", Pool("mean", 2)),
        ("pool:max:2x3", Pool("max", (2, 3))),
        (" flatten ", Flatten()),
        ("float16", Cast("float16")),
        ("float16:saturate", Cast("float16", saturate=True)),
        ("int8", Cast("int8")),
        (torch.float64, Cast("float64")),
        ("project:512", Project(512)),
        ("project:512:7", Project(512, seed=7)),
        ("pca:64", RunningPCA(64)),
        ("pca:64:whiten", RunningPCA(64, whiten=True)),
        (Pool("max"), Pool("max")),
        (torch.abs, Function(torch.abs)),
        ("torch:abs", Function(torch.abs)),
        ("torch.nn.functional:relu", Function(torch.nn.functional.relu)),
    ],
)
def test_one_transform(given: object, wanted: Transform) -> None:
    assert read_transforms(given) == (wanted,)
    assert read_transforms([given]) == (wanted,)


def test_none_and_several() -> None:
    assert read_transforms(None) == read_transforms([]) == ()
    assert read_transforms(("pool", Cast("float16"))) == (Pool(), Cast("float16"))
    assert read_transforms(each for each in ("pool", "flatten")) == (Pool(), Flatten())
    layers = nn.Sequential(nn.ReLU(), nn.Flatten())  # can be called, and gone through
    assert [type(each) for each in read_transforms(layers)] == [Function]


def test_an_own_transform_and_a_function_beside_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_own_transforms.py").write_text(
        "from torcheer.features.transforms import Project\n"
        "small = Project(3)\nnumber = 3\n"
        "class Group:\n    @staticmethod\n    def double(values): return values * 2\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["elsewhere", *__import__("sys").path])
    assert read_transforms("my_own_transforms:small") == (Project(3),)
    (double,) = read_transforms("my_own_transforms:Group.double")
    assert double.words == "function my_own_transforms.Group.double"
    values: Tensor = torch.ones(2, 3)
    assert torch.equal(double.begin("fc", (3,), values.dtype, ("unit",))(values), values * 2)
    with pytest.raises(InputError, match=r"has no 'smal'. Did you mean 'small'"):
        read_transforms("my_own_transforms:smal")
    with pytest.raises(InputError, match="is a int: name a function"):
        read_transforms("my_own_transforms:number")
    (tmp_path / "my_broken_transforms.py").write_text("import not_there_at_all\n")
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        read_transforms("my_broken_transforms:f")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("pol", r"no transform 'pol'. Did you mean 'pool'\? There are pool, .*package.module:function"),
        ("poool:max", r"no module 'poool' here. Did you mean 'pool'\?"),
        ("projct:12", r"Did you mean 'project'\?"),
        ("flot16", r"Did you mean 'float16'\?"),
        ("", "no transform ''"),
        ("a:b:c", "no transform 'a:b:c'"),
        ("bad name:f", "no transform"),
        ("pool:sum", "'pool:mean' or 'pool:max'"),
        ("pool:mean:2:3", "may have a size"),
        ("pool:mean:two", "'two' is no whole number"),
        ("pool:mean:0", "the size of a pool"),
        ("flatten:1", "stands by itself"),
        ("float16:clip", "'float16:saturate'"),
        ("project", "write project:512"),
        ("project:many", "'many' is no whole number"),
        ("project:1:2:3", "write project:512"),
        ("pca", "write pca:64"),
        ("pca:64:white", "pca:64:whiten"),
        ("pca:²", "no whole number"),
        (torch.bfloat16, "NumPy has no such dtype"),
        (Pool, r"Pool is a class: give an object of it, such as Pool\("),
        (3, "3 is no transform"),
        ([Pool(), None], "None is no transform"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_can(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_transforms(given)


def test_transforms_can_be_sent_to_another_process() -> None:
    every = read_transforms(["pool:max:2x3", "flatten", "float16", "project:5", "pca:3", torch.relu])
    assert pickle.loads(pickle.dumps(every)) == every


def test_a_partial_is_a_function() -> None:
    clamp = functools.partial(torch.clamp, min=0)
    (found,) = read_transforms(clamp)
    assert torch.equal(
        found.begin("fc", (2,), torch.float32, ())(torch.tensor([[-1.0, 2]])), torch.tensor([[0.0, 2]])
    )
