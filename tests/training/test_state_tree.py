"""Any tree of state comes back from JSON and tensors exactly as it was, or is refused by name."""

import collections
import json
import math
import struct
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from torch import Tensor, nn

from tests.many import examples
from torcheer.capture.savefile.safetensors_file import bytes_of
from torcheer.errors import InputError
from torcheer.training.checkpoint.state_tree import decoded, encoded, file_shape, file_tensor

DTYPES = [
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128),
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint64),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz),
]


def round_trip(tree: Any) -> Any:
    """As a file does it: JSON as text, tensors as their bytes."""
    nodes, table = encoded({"tree": tree})
    tensors = {}
    for name, tensor in table.tensors.items():
        file_type, shape = file_shape(tensor)
        dtype = {"F64": torch.float64, "U8": torch.uint8}.get(file_type, tensor.dtype)
        flat = bytes_of(file_tensor(tensor)).clone()
        tensors[name] = flat.view(dtype).reshape(shape) if flat.numel() else torch.empty(shape, dtype=dtype)
    return decoded(json.loads(json.dumps(nodes, allow_nan=False)), tensors)["tree"]


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, Tensor):
        assert (one.dtype, one.shape, one.layout) == (other.dtype, other.shape, other.layout)
        assert torch.equal(bytes_of(file_tensor(one.to_dense())), bytes_of(file_tensor(other.to_dense())))
    elif isinstance(one, np.ndarray | np.generic):
        assert (one.dtype.str, one.shape, one.tobytes()) == (other.dtype.str, other.shape, other.tobytes())
    elif isinstance(one, dict):
        assert list(one) == list(other) or any(key != key for key in one)
        for pair in zip(one.items(), other.items(), strict=True):
            assert_same(*pair)
    elif isinstance(one, list | tuple | collections.deque) and not isinstance(one, torch.Size):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, float):
        assert struct.pack("d", one) == struct.pack("d", other)
    else:
        assert one == other


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    data = draw(
        st.binary(min_size=math.prod(shape) * dtype.itemsize, max_size=math.prod(shape) * dtype.itemsize)
    )
    if dtype is torch.bool:
        data = bytes(byte % 2 for byte in data)
    flat = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
    if draw(st.booleans()):
        return flat.reshape(shape)
    return flat.reshape(shape[::-1]).permute(list(range(len(shape)))[::-1])


ARRAYS = hnp.arrays(
    st.one_of(hnp.scalar_dtypes(), hnp.unicode_string_dtypes(), hnp.byte_string_dtypes()),
    hnp.array_shapes(min_dims=0, min_side=0, max_side=3),
)
TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(["$tensor", "$", "a.b"])
HASHABLE = st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary()
LEAVES = (
    HASHABLE
    | st.complex_numbers()
    | tensors()
    | ARRAYS
    | hnp.from_dtype(np.dtype("float32"))
    | st.sampled_from(
        [
            torch.float16,
            torch.device("cpu"),
            torch.Size([2, 3]),
            torch.device("cuda", 1),
            {1, 2},
            frozenset("ab"),
        ]
    )
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(HASHABLE, inner, max_size=4),
        st.dictionaries(TEXT, inner, max_size=4).map(collections.OrderedDict),
        st.lists(inner, max_size=3).map(lambda items: collections.deque(items, maxlen=7)),
        st.lists(st.integers(-(2**70), 2**70), min_size=32, max_size=40),
        st.lists(st.floats(), min_size=32, max_size=40).map(tuple),
    ),
    max_leaves=12,
)


@settings(max_examples=examples(120))
@given(TREES)
def test_any_tree_comes_back_as_it_was(tree: Any) -> None:
    assert_same(round_trip(tree), tree)


def test_counters_and_default_dicts_stay_what_they_are() -> None:
    counter = collections.Counter({30: 1, 80: 2})  # as MultiStepLR keeps its milestones
    groups = collections.defaultdict(list, {"a": [1]})

    back = round_trip({"counter": counter, "groups": groups})

    assert_same(back["counter"], counter)
    assert back["groups"] == groups
    assert back["groups"]["new"] == []


def test_shared_tensors_stay_shared_and_others_do_not() -> None:
    weight = torch.randn(3, 2)
    tree = {"embed": weight, "head": weight.detach(), "other": weight.clone(), "turned": weight.t()}

    back = round_trip(tree)

    assert back["embed"] is back["head"]
    assert len({id(one) for one in back.values()}) == 3
    assert_same(back["turned"], tree["turned"])


def test_the_order_in_memory_is_kept_and_gaps_are_not() -> None:
    images = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    gaps = torch.randn(10)[::2]

    back = round_trip([images, gaps])

    assert back[0].stride() == images.stride()
    assert back[1].is_contiguous()
    assert_same(back, [images, gaps])


def test_a_conjugate_and_a_parameter_come_back_with_their_values() -> None:
    numbers = torch.randn(3, dtype=torch.complex128)

    back = round_trip([numbers, numbers.conj(), nn.Parameter(torch.ones(2))])

    assert torch.equal(back[1], numbers.conj())
    assert type(back[2]) is Tensor


def test_sparse_gradients_are_kept() -> None:
    sparse = torch.sparse_coo_tensor(
        torch.tensor([[2, 0, 2]]), torch.randn(3, 4), (5, 4), check_invariants=True
    )

    back = round_trip(sparse)

    assert_same(back, sparse)
    assert back.is_coalesced() is sparse.is_coalesced()


def test_names_that_would_collide_are_kept_apart() -> None:
    tree = {"a.b": torch.zeros(1), "a": {"b": torch.ones(1)}}

    assert_same(round_trip(tree), tree)


class Loose:
    pass


LOOP: list[Any] = []
LOOP.append(LOOP)
DEEP: Any = 1
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda x: x, "'optimizer.here' ?: it is a function.*lambda.*optimizer's state_dict"),
        (Loose(), "test_state_tree.Loose"),
        (np.array([Loose()]), "an array of object"),
        (np.zeros(2, dtype=[("a", "f4")]), "one array for each field"),
        (nn.LazyLinear(2).weight, "Run a batch through"),
        (torch.empty(2, device="meta"), "meta device"),
        (torch.nested.nested_tensor([torch.ones(1)], layout=torch.jagged), "NestedTensor"),
        (collections.defaultdict(lambda: 0), "'optimizer.here.default_factory'"),
        (LOOP, "contains itself"),
        (DEEP, "over 40 deep"),
    ],
    ids=["lambda", "object", "objects", "record", "lazy", "meta", "nested", "factory", "loop", "deep"],
)
def test_what_cannot_be_kept_is_refused_by_its_name(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        encoded({"optimizer": {"here": value}})


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_a_layout_that_is_not_known_is_refused() -> None:
    with pytest.raises(InputError, match=r"'extra': it is a torch.sparse_csr"):
        encoded({"extra": torch.eye(2).to_sparse_csr()})


@pytest.mark.parametrize(
    "node",
    [
        {"$tensor": "nowhere"},
        {"$tensor": 3},
        {"$tensor": ["t", {"dtype": "torch.float64"}]},
        {"$tensor": ["t", {"dtype": "os.system"}]},
        {"$tensor": ["t", {"strides": [10**9]}]},
        {"$tensor": ["t", {"strides": [0]}]},
        {"$array": ["t", ["|O", [1]]]},
        {"$array": ["t", ["<f4", [2**60]]]},
        {"$scalar": ["<f4", "00"]},
        {"$sparse": ["t", "t", [2**62, 2**62], True]},
        {"$unknown": 1},
        {"$set": [[1]]},
        {"$bytes": "?"},
        {"$float": "x"},
        {"$dict": [[1]]},
        {"$defaultdict": ["eval", []]},
        {"$numbers": ["eval", "t"]},
        {"$device": "nowhere"},
        {"$tuple": 3},
        {"$tuple": [], "more": 1},
        DEEP,
    ],
    ids=lambda node: str(node)[:40],
)
def test_a_tree_that_says_what_cannot_be_is_refused(node: Any) -> None:
    with pytest.raises(ValueError, match="its state"):
        decoded({"tree": node}, {"t": torch.ones(3)})
