"""Charts that a run asks for: its expressions come to the page as names and globs, or as not supported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import torcheer as tl
from tests.app.runs_page import page_on
from torcheer.app.runs.layouts import shown_layout
from torcheer.run import LayoutChart, LayoutGroup


def shown(*patterns: str) -> tuple[list[str], list[str], list[str]]:
    """Names, globs and what is not supported of a chart with these patterns."""
    chart = LayoutChart(title="chart", form="lines", names=list(patterns))
    made = shown_layout([LayoutGroup(title="group", charts=[chart])])[0].charts[0]
    return list(made.names), list(made.globs), list(made.not_supported)


def matches(glob: str, text: str) -> bool:
    """The definition of a glob, tried out in every way."""
    if glob == "":
        return text == ""
    if glob[0] == "*":
        return matches(glob[1:], text) or (text != "" and matches(glob, text[1:]))
    glob = glob[1:] if glob[0] == "\\" else glob if glob[0] != "?" or text == "" else text[0] + glob[1:]
    return text != "" and glob[0] == text[0] and matches(glob[1:], text[1:])


@pytest.mark.parametrize(
    ("pattern", "names", "globs"),
    [
        ("loss", ["loss"], ["loss*"]),
        ("loss.*", ["loss.*"], ["loss*"]),
        ("loss$", ["loss$", "loss"], []),
        (".*/loss$", [".*/loss$"], ["*/loss"]),
        ("loss/(train|test)", ["loss/(train|test)"], ["loss/train*", "loss/test*"]),
        ("^(?:train|val)/loss$", ["^(?:train|val)/loss$", "train/loss", "val/loss"], []),
        ("layer[0-2]/w", ["layer[0-2]/w"], ["layer0/w*", "layer1/w*", "layer2/w*"]),
        (r"a\.b\*", [r"a\.b\*"], [r"a.b\**"]),
        ("a.b", ["a.b"], ["a?b*"]),
        (re.escape("my loss-1 #2"), [re.escape("my loss-1 #2")], ["my loss-1 #2*"]),
        (r"[_+-]x[\d\-]", [r"[_+-]x[\d\-]"], [f"{a}x{b}*" for a in "_+-" for b in "0123456789-"]),
        ("(?P<part>a|b){x}]", ["(?P<part>a|b){x}]"], ["a{x}]*", "b{x}]*"]),
    ],
)
def test_an_expression_that_means_globs_comes_as_globs(
    pattern: str, names: list[str], globs: list[str]
) -> None:
    assert shown(pattern) == (names, globs, [])


@pytest.mark.parametrize(
    "pattern",
    [
        "(a|a)*b",
        "(a+)+$",
        r"\w+",
        "a*",
        "a{2}",
        "(?=a)b",
        "[^a]",
        "a^b",
        r"(a)\1",
        "(",
        ")",
        "[",
        "*",
        "a" * 501,
        "[a-z][a-z]",
        "(" * 400,
        "(a?){50}",
        "a?" * 60,
    ],
)
def test_any_other_comes_as_its_text_and_as_a_name(pattern: str) -> None:
    assert shown(pattern) == ([pattern], [], [pattern])


PIECES = ["a", "b", ".", ".*", ".+", ".*?", "a?", "(a|b)", "(?:ab|b)?", "[ab]", "(|a)", "(b.*|a)"]


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=5),
    is_ended=st.booleans(),
    names=st.lists(st.text("abc*?", max_size=6), max_size=20),
)
def test_globs_match_what_the_expression_matched(pieces: list[str], is_ended: bool, names: list[str]) -> None:
    pattern = "".join(pieces) + "$" * is_ended
    exact, globs, not_supported = shown(pattern)

    assert not_supported == []
    for name in names:
        is_found = name in exact or any(matches(glob, name) for glob in globs)
        assert is_found == (name == pattern or re.match(pattern, name) is not None), (pattern, name)


@given(pattern=st.text("ab.*+?|()[]{}^$\\-,:=!dZw0123", max_size=30))
def test_whatever_is_supported_means_what_python_says_it_means(pattern: str) -> None:
    exact, globs, not_supported = shown(pattern)

    assert pattern in exact
    if not_supported:
        return
    expression = re.compile(pattern)
    for name in ("", "a", "b", "ab", "aab", "a.b", "0", "d", "-", "a-b", "{2}", "a{2}"):
        is_found = name in exact or any(matches(glob, name) for glob in globs)
        assert is_found == (name == pattern or expression.match(name) is not None), (pattern, globs, name)


def test_all_expressions_of_a_layout_have_a_limit_together() -> None:
    _, globs, not_supported = shown(*(f"chart{number}/[0-9][0-9]/(a|b)?" for number in range(10)))
    assert globs == []
    assert len(not_supported) == 10

    _, globs, not_supported = shown(*(f"chart{number}/[0-9][0-9]" for number in range(100)))
    assert 1000 <= len(globs) <= 2000
    assert len(globs) == (100 - len(not_supported)) * 100


def layout_of(folder: Path) -> list[dict[str, Any]]:
    with page_on(folder) as page:
        run_id = str(next(iter(page.all_runs(1).values()))["id"])
        answer = page.once("layout", run_id=run_id, name="layout").answer
        assert answer["type"] == "layout", answer
        return list(answer["groups"])


def test_the_page_is_sent_the_last_layout_without_expressions(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log_layout({"old": {"x": ["Multiline", ["x"]]}})
        run.log_layout(
            {
                "mine": {
                    "losses": ["Multiline", ["loss/.*", "(a|a)*b"]],
                    "band": ["Margin", ["mid", "low", "high"]],
                }
            },
            step=1,
        )
        run.log(0, loss=1.0)

    assert layout_of(tmp_path) == [
        {
            "title": "mine",
            "charts": [
                {
                    "title": "losses",
                    "form": "lines",
                    "names": ["loss/.*", "(a|a)*b"],
                    "globs": ["loss/*"],
                    "not_supported": ["(a|a)*b"],
                },
                {
                    "title": "band",
                    "form": "margin",
                    "names": ["mid", "low", "high"],
                    "globs": [],
                    "not_supported": [],
                },
            ],
        }
    ]


def test_a_run_without_a_layout_asks_for_no_charts(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log(0, loss=1.0)

    assert layout_of(tmp_path) == []
