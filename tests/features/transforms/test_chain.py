"""Chains of transforms, and transforms as they are given in words."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from sklearn.decomposition import PCA
from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.features.dimension_reduction import Project, RunningPCA
from torcheer.features.transforms import (
    BegunChain,
    Cast,
    Flatten,
    Function,
    Pool,
    Transform,
    read_transforms,
)

IMAGE = ("channel", "y", "x")


def begun(*transforms: Transform, example: Tensor | None = None) -> BegunChain:
    example = torch.zeros(2, 6, 5, 5) if example is None else example
    return BegunChain(transforms, "conv", example, IMAGE)


@pytest.mark.parametrize(
    ("transforms", "shape", "dtype", "dims"),
    [
        ([], (6, 5, 5), "float32", IMAGE),
        ([Pool()], (6,), "float32", ("channel",)),
        ([Pool("max", 2), Cast("float16")], (6, 2, 2), "float16", IMAGE),
        ([Pool("max", 2), Flatten()], (24,), "float32", ("unit",)),
        ([Project(10), Cast("float64")], (10,), "float64", ("unit",)),
        ([RunningPCA(3), Cast("float16")], (3,), "float16", ("component",)),
        ([Function(torch.Tensor.double)], (6, 5, 5), "float64", IMAGE),
    ],
)
@pytest.mark.parametrize("has_example", [False, True])
def test_it_is_known_what_comes_out(
    transforms: list[Transform], shape: tuple[int, ...], dtype: str, dims: tuple[str, ...], has_example: bool
) -> None:
    values = torch.randn(20, 6, 5, 5)
    chain = begun(*transforms, example=values[:7] if has_example else None)
    assert (chain.shape, chain.dtype, chain.dims) == (shape, getattr(torch, dtype), dims)
    assert chain.words == tuple(transform.words for transform in transforms)
    for _, part in chain.fitted:
        chain.look(part, values)
        part.finish()
    result = chain(values)
    assert result.shape == (20, *shape)
    assert result.dtype == chain.dtype
    assert chain(values[:0]).shape == (0, *shape)
    assert chain(values[:0]).dtype == chain.dtype


def test_parts_are_applied_in_their_order() -> None:
    values = torch.randn(4, 6, 5, 5)
    chain = begun(Pool("max"), Function(lambda each: each * 2, words="doubled"), Cast("float16"))
    assert torch.equal(chain(values), (values.amax((2, 3)) * 2).half())


def test_two_fitted_parts_are_fitted_one_after_the_other() -> None:
    values = torch.randn(150, 6, 5, 5) * torch.arange(1.0, 7).reshape(6, 1, 1)
    chain = begun(Pool(), RunningPCA(6), RunningPCA(6, whiten=True))
    assert [key for key, _ in chain.fitted] == ["1_runningpca", "2_runningpca"]
    (_, one), _ = chain.fitted
    for _, part in chain.fitted:
        for batch in values.split(40):
            chain.look(part, batch)
        part.finish()
    means = values.mean((2, 3)).double().numpy()
    inner = PCA(6).fit(means)
    assert numpy.allclose(one.state()["shares"], inner.explained_variance_ratio_)
    arriving = one(torch.from_numpy(means)).numpy()
    wanted = PCA(6, whiten=True).fit_transform(arriving)
    assert numpy.allclose(numpy.abs(chain(values).numpy()), numpy.abs(wanted), atol=1e-4)

    again = begun(Pool(), RunningPCA(6), RunningPCA(6, whiten=True))
    for (_, part), (_, done) in zip(again.fitted, chain.fitted, strict=True):
        part.restore(done.state())
    assert torch.equal(again(values), chain(values))


def quantised() -> Tensor:
    return torch.quantize_per_tensor(torch.tensor([[0.5, 1.0]]), 0.5, 0, torch.quint8)


@pytest.mark.parametrize(
    ("change", "dtype", "note"),
    [
        (lambda given: given.bfloat16(), "float32", "bfloat16 is kept as float32, exactly"),
        (lambda given: given.to(torch.float8_e4m3fn), "float32", "float8_e4m3fn is kept as float32, exactly"),
        (lambda given: given.to(torch.complex32), "complex64", "complex32 is kept as complex64, exactly"),
        (lambda given: given.to_sparse(), "float32", "sparse values are kept as dense ones"),
        (lambda given: given.to_sparse_csr(), "float32", "sparse values are kept as dense ones"),
        (lambda given: given.requires_grad_(), "float32", ""),
        (lambda given: given.to(torch.complex128).conj(), "complex128", ""),
        (lambda given: given.bool(), "bool", ""),
    ],
)
@pytest.mark.filterwarnings("ignore:.*ComplexHalf", "ignore:.*[Ss]parse")
def test_what_numpy_lacks_is_kept_in_what_it_has(
    change: Callable[[Tensor], Tensor], dtype: str, note: str
) -> None:
    values = change(torch.tensor([[0.5, 1.0]]))
    chain = BegunChain([], "fc", values, ("unit",))
    result = chain(values).numpy()
    assert str(result.dtype) == dtype
    assert numpy.array_equal(result, numpy.array([[0.5, 1.0]]).astype(dtype))
    assert [each[: len(note)] for each in chain.notes] == ([note] if note else [])


@pytest.mark.filterwarnings("ignore")  # torch says that quantised tensors will go
def test_quantised_values_are_dequantised() -> None:
    chain = BegunChain([], "fc", quantised(), ("unit",))
    assert chain(quantised()).tolist() == [[0.5, 1.0]]
    assert chain.notes == ("quint8 is kept as float32, exactly: NumPy has none of it.",)


def test_bfloat16_that_was_cast_needs_no_note() -> None:
    chain = BegunChain([Cast("float16")], "fc", torch.zeros(2, 2, dtype=torch.bfloat16), ("unit",))
    assert (chain.dtype, chain.notes) == (torch.float16, ())


def test_a_part_that_left_the_layer_as_it_is_says_so() -> None:
    chain = BegunChain([Project(10)], "fc", torch.zeros(2, 4, dtype=torch.float32), ("unit",))
    assert "project 10 (seed 0): left as it is" in chain.notes[0]


def test_samples_that_change_their_shape_or_dtype_are_refused() -> None:
    chain = begun()
    with pytest.raises(InputError, match=r"was of shape \(6, 5, 5\), and now one is of \(6, 4, 5\).*pool"):
        chain(torch.ones(2, 6, 4, 5))
    with pytest.raises(InputError, match="were float32, and now are float64"):
        chain(torch.ones(2, 6, 5, 5, dtype=torch.float64))
    assert begun(Pool())(torch.ones(2, 6, 4, 5)).shape == (2, 6)


@pytest.mark.filterwarnings("ignore:.*nested tensors")
def test_what_cannot_begin_is_refused() -> None:
    with pytest.raises(InputError, match=r"a sample \(0,\) has no values"):
        BegunChain([Flatten()], "fc", torch.zeros(2, 0, dtype=torch.float32), ("unit",))
    nested: Any = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    chain = BegunChain([], "fc", torch.zeros(2, 3, dtype=torch.float32), ("unit",))
    with pytest.raises(InputError, match="nested tensor"):
        chain(nested)
    with pytest.raises(InputError, match="nested tensor"):
        BegunChain([], "fc", nested, ("unit",))
    bits = Function(functools.partial(torch.Tensor.view, dtype=torch.bits8), words="bits")
    with pytest.raises(InputError, match="bits8, which NumPy does not have"):
        BegunChain([bits], "fc", torch.zeros(2, 3, dtype=torch.uint8), ("unit",))


def test_the_example_is_not_changed_by_what_is_not_done_in_place() -> None:
    example = torch.randn(3, 6, 5, 5)
    before = example.clone()
    begun(Pool(), Cast("float16"), example=example)
    assert torch.equal(example, before)


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
    with pytest.raises(InputError, match=r"no attribute 'smal'"):
        read_transforms("my_own_transforms:smal")
    with pytest.raises(InputError, match="3 is no transform"):
        read_transforms("my_own_transforms:number")
    (tmp_path / "my_broken_transforms.py").write_text("import not_there_at_all\n")
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        read_transforms("my_broken_transforms:f")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("pol", r"no transform 'pol'. Did you mean 'pool'\? There are pool, .*package.module:function"),
        ("poool:max", "No module named 'poool'"),
        ("flot16", r"Did you mean 'float16'\?"),
        ("", "no transform ''"),
        ("a:b:c", "no transform 'a:b:c'"),
        ("bad name:f", "no transform"),
        ("pool:sum", "'mean' or 'max'"),
        ("pool:mean:2:3", "pool takes no mean:2:3"),
        ("pool:mean:two", "'two'"),
        ("pool:mean:0", "the size of a pool"),
        ("flatten:1", "flatten takes no 1"),
        ("float16:clip", "float16:saturate"),
        ("project", "project:512"),
        ("project:many", "'many'"),
        ("project:1:2:3", "project:512"),
        ("pca", "pca:64"),
        ("pca:64:white", "pca:64:whiten"),
        ("pca:²", "'²'"),
        (torch.bfloat16, "cannot be kept as 'bfloat16'"),
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
