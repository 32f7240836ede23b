"""Two sequences side by side."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from torcheer.capture.analysis.align import align, common_name, family_name

WORDS = st.lists(st.sampled_from("abcd"), max_size=24)


def longest_common(x: list[str], y: list[str]) -> int:
    """By the textbook, one cell at a time."""
    table = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, one in enumerate(x):
        for j, other in enumerate(y):
            same = table[i][j] + 1 if one == other else 0
            table[i + 1][j + 1] = max(same, table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def rises(pairs: list[tuple[int, int]]) -> bool:
    return all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(pairs))


@settings(deadline=None)
@given(WORDS, WORDS)
def test_pairs_are_equal_and_in_order(x: list[str], y: list[str]) -> None:
    pairs = align([x], [y])

    assert all(x[i] == y[j] for i, j in pairs)
    assert rises(pairs)
    assert len(pairs) <= longest_common(x, y)


@settings(deadline=None)
@given(WORDS)
def test_a_sequence_is_its_own_partner(x: list[str]) -> None:
    assert align([x], [x]) == [(i, i) for i in range(len(x))]


@settings(deadline=None)
@given(WORDS, st.lists(st.tuples(st.integers(0, 24), st.sampled_from("wxyz")), max_size=5))
def test_after_insertions_all_that_was_there_has_its_partner(
    x: list[str], insertions: list[tuple[int, str]]
) -> None:
    y = list(x)
    for place, word in insertions:
        y.insert(place, word)

    old = [j for j, word in enumerate(y) if word in "abcd"]
    assert align([x], [y]) == list(enumerate(old))


def test_a_stricter_level_comes_first_and_a_looser_one_fills_the_gaps() -> None:
    names_x, names_y = ["p", "q", "r", "s"], ["q", "x", "s"]
    types_x, types_y = ["a", "a", "b", "a"], ["a", "b", "a"]

    assert align([names_x, types_x], [names_y, types_y]) == [(1, 0), (2, 1), (3, 2)]


def test_none_is_not_matched() -> None:
    assert align([[None, "a", None]], [[None, None, "a"]]) == [(1, 2)]


def test_many_edits_keep_the_order_and_most_of_the_pairs() -> None:
    block = ["norm", "linear", "relu", "linear", "add"]
    x = block * 300
    y = [word for i in range(300) for word in (*block[:3], f"new{i % 2}", "relu", *block[3:])]

    pairs = align([x], [y])

    assert rises(pairs)
    assert len(pairs) == len(x)


def test_nothing_in_common() -> None:
    assert align([["a"] * 50], [["b"] * 70]) == []
    assert align([[]], [["b"]]) == []


def test_names_for_the_same_thing() -> None:
    assert common_name("iadd") == common_name("add") == "add"
    assert common_name("view") == common_name("flatten")
    assert common_name("unheardof") == "unheardof"
    assert family_name("addmm") == family_name("matmul")
    assert family_name("relu") != family_name("tanh")
