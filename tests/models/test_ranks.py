"""A rank is what the process group says, else what torchrun says, else 0."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import torcheer as tl
from torcheer.models import num_ranks, rank_of


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (0, 1)),
        ({"RANK": "2", "WORLD_SIZE": "4"}, (2, 4)),
        ({"RANK": "-1", "WORLD_SIZE": "many"}, (0, 1)),
    ],
)
def test_torchrun_says_it_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: tuple[int, int]
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert (rank_of(), num_ranks()) == expected


def test_the_process_group_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    group = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_rank=lambda: 3,
        get_world_size=lambda: 8,
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    monkeypatch.setenv("RANK", "1")

    assert (rank_of(), num_ranks(), rank_of(5)) == (3, 8, 5)


@pytest.mark.parametrize("rank", [-1, True, "0", 1.0])
def test_a_rank_that_is_none_is_refused(rank: Any) -> None:
    with pytest.raises(tl.InputError, match="give a whole number from 0 on"):
        rank_of(rank)
