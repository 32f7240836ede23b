"""The page as one file: what is in it, what is not, and that nothing in a pass can become markup."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn

import torcheer as tl
from tests.app.html_pages import CLASS_NAME, HOSTILE, SCRIPT, STANDIN, Elements, Stack, data_of, page_of
from tests.app.many_types import many_types, values_of
from tests.many import examples
from torcheer.app.html_page import read_bundle
from torcheer.app.passes import pass_page as pages
from torcheer.app.passes.pass_page import Wanted, level_of, share_out, show_page, write_page
from torcheer.app.wire import as_json
from torcheer.capture.page_source import HistorySource
from torcheer.errors import InputError
from torcheer.tensorfile import TensorView, grid_of, item_bytes_of


@pytest.fixture(scope="module")
def history() -> Any:
    return many_types()


@pytest.fixture(scope="module")
def stack() -> Any:
    return tl.log_forward_pass(Stack(), torch.randn(2, 3, 40, 40))


# --- what is in it -------------------------------------------------------------------------------------


def test_the_document_and_the_values_are_the_historys(history: Any) -> None:
    data = data_of(page_of(history))
    source = HistorySource(history)

    assert data["document"] == json.loads(as_json(source.document()))
    assert data["notes"] == []
    tensors = {(one["kind"], one["index"]): one for one in data["tensors"]}
    document = source.document()
    expected = {("output", i) for i, op in enumerate(document.ops) if op.has_value}
    expected |= {("grad", i) for i, op in enumerate(document.ops) if op.has_grad}
    expected |= {(kind, i) for kind in ("param", "param_grad") for i in range(len(document.params))}
    assert set(tensors) == expected
    for (kind, index), one in tensors.items():
        found = source.tensor(kind, index, None)
        assert not isinstance(found, str)
        assert one["view"] == json.loads(as_json(found[0]))
        assert base64.b64decode(one["data"]) == found[1]


def test_shares_of_zeros_and_of_what_is_no_number_are_in_it(history: Any) -> None:
    data = data_of(page_of(history))
    source = HistorySource(history)

    assert data["figures"] == {name: source.figures(name) for name in ("zeros", "nonfinite")}


def test_a_value_that_is_smaller_in_the_file_still_stands_in_the_tensor(stack: Any) -> None:
    data = data_of(page_of(stack, 300_000))

    thinned = 0
    for one in data["tensors"]:
        if one["kind"] != "output":
            continue
        view = msgspec.convert(one["view"], TensorView)
        w = view.window
        values = values_of(view, base64.b64decode(one["data"]))
        value = stack[one["index"]].tensor_contents.detach().numpy()
        shown = value[0, : w.num_tiles, :: w.row_step, :: w.column_step][:, : w.num_rows, : w.num_columns]
        assert np.array_equal(values, shown)
        thinned += w.row_step > 1
    assert thinned


def test_a_reason_is_given_for_a_value_that_cannot_be_shown() -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sparse_coo_tensor(torch.tensor([[0], [0]]), torch.ones(1), (10**6, 10**6))

    data = data_of(page_of(tl.log_forward_pass(Odd(), torch.ones(1))))

    assert data["reasons"]
    assert all(one["reason"].startswith("sparse") for one in data["reasons"])


# --- nothing becomes markup ------------------------------------------------------------------------------


def hostile_history() -> Any:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Module()
            self.inner._modules[HOSTILE] = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {HOSTILE: self.inner._modules[HOSTILE](x)}

    Named.__name__ = CLASS_NAME
    return tl.log_forward_pass(Named(), torch.randn(1, 2))


def test_hostile_names_arrive_as_text_and_change_nothing_in_the_markup(stack: Any) -> None:
    html = page_of(hostile_history())

    plain, hostile = Elements(page_of(stack)), Elements(html)
    assert [tag for tag, _, _ in hostile.found] == [tag for tag, _, _ in plain.found]
    document = data_of(html)["document"]
    assert document["model_name"] == CLASS_NAME
    assert f"inner.{HOSTILE}" in {scope["address"] for scope in document["scopes"]}
    assert "onerror=alert(1)>" not in html
    text = hostile.named("torcheer-data")
    assert not set("<>&\u2028\u2029") & set(text)


def test_nothing_in_the_page_is_fetched_from_anywhere(history: Any) -> None:
    elements = Elements(page_of(history))

    for tag, attrs, _ in elements.found:
        assert tag not in ("link", "img", "iframe", "base", "object", "embed")
        assert not {"src", "href", "action", "srcset"} & set(attrs)


def test_the_policy_lets_only_our_own_code_run(history: Any) -> None:
    elements = Elements(page_of(history))

    policy = next(
        a["content"] for a, _ in elements.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in str(policy).split("; "))
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == "'none'"
    assert "unsafe" not in str(policy)
    code = next(text for attrs, text in elements.all("script") if attrs.get("type") == "module")
    style = elements.all("style")[0][1]
    for name, text in (("script-src", code), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"


def test_code_that_names_its_own_end_stays_whole(history: Any) -> None:
    elements = Elements(page_of(history))

    code = next(text for attrs, text in elements.all("script") if attrs.get("type") == "module")
    assert code == SCRIPT.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    assert elements.named("torcheer-worker") == "postMessage('<\\/SCRIPT>')"


# --- files -----------------------------------------------------------------------------------------------


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_bundle", lambda: STANDIN)


@pytest.mark.usefixtures("standin")
def test_a_page_is_written_whole_or_not_at_all(
    stack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pass.html"
    written = write_page(HistorySource(stack), path, max_bytes=300_000)
    assert written == str(path)
    assert path.read_text(encoding="utf-8") == page_of(stack, 300_000)

    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "no space left")))
    with pytest.raises(OSError, match="no space left"):
        write_page(HistorySource(stack), path, max_bytes=0)

    assert path.read_text(encoding="utf-8") == page_of(stack, 300_000)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("standin")
def test_a_path_that_cannot_be_is_refused_before_anything_is_read(stack: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_page(HistorySource(stack), tmp_path / "missing" / "pass.html")
    with pytest.raises(IsADirectoryError, match="folder"):
        write_page(HistorySource(stack), tmp_path)
    with pytest.raises(InputError, match=re.escape("pass.html")):
        write_page(HistorySource(stack), 3)  # type: ignore[arg-type]


@pytest.mark.usefixtures("standin")
@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_page_that_is_shown_lies_where_only_the_user_reads_it(
    stack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("torcheer.app.html_page.open_in_browser", opened.append)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    show_page(HistorySource(stack), max_bytes=0)

    said = capsys.readouterr().out
    path = Path(said.strip().rpartition(" is in ")[2])
    assert path.name == "Stack.html"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert opened == [path.as_uri()]
    assert data_of(path.read_text(encoding="utf-8"))["document"]["model_name"] == "Stack"


@pytest.mark.usefixtures("standin")
def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing_around_it(
    stack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(pages, "in_notebook", lambda: True)
    monkeypatch.setattr("torcheer.app.html_page.display_inline", shown.append)

    show_page(HistorySource(stack), max_bytes=0)

    [(attrs, _)] = Elements(shown[0]._repr_html_()).all("iframe")
    assert attrs["sandbox"] == "allow-scripts"
    assert attrs["srcdoc"] == page_of(stack, 0)


@pytest.mark.parametrize("part", ["onefile", "netfile", "learnfile"])
def test_the_front_end_that_comes_with_the_package_can_stand_in_a_page(part: str) -> None:
    bundle = read_bundle(part)

    for code in (bundle.script, bundle.worker):
        assert "<!--" not in code  # outside of a string it would mean something else than in it
        assert not re.search(r"\bimport\s*\(|\beval\s*\(|new Function\s*\(", code)
    assert not re.search(r"@import|url\((?!['\"]?data:)", bundle.style)


@pytest.mark.parametrize("max_bytes", [0, 50_000, 100_000, 200_000, 400_000, 1_000_000, 4_000_000])
def test_a_page_is_not_larger_than_it_may_be(stack: Any, max_bytes: int) -> None:
    structure = len(page_of(stack, 0).encode())

    html = page_of(stack, max_bytes)

    assert len(html.encode()) <= max(max_bytes, structure + 2500)
    data = data_of(html)
    assert len(data["document"]["ops"]) == len(stack)
    if max_bytes >= 400_000:
        assert data["notes"] == []
        assert len(data["tensors"]) == len(stack) + len(data["document"]["params"])


def test_structure_only_says_so(stack: Any) -> None:
    data = data_of(page_of(stack, 0))

    assert data["tensors"] == []
    assert data["figures"] == {}
    assert "the structure only" in data["notes"][0]
    assert "max_bytes" in data["notes"][0]


def test_outputs_come_before_weights_where_not_all_fit(stack: Any) -> None:
    structure = len(page_of(stack, 0).encode())

    few, some = (data_of(page_of(stack, structure + extra)) for extra in (30_000, 60_000))

    assert {one["kind"] for one in few["tensors"]} == {"output"}
    assert "of 62 outputs, all 60 weights" in few["notes"][0]
    kinds = [one["kind"] for one in some["tensors"]]
    assert kinds[:62] == ["output"] * 62
    assert 62 < len(kinds) < 122
    assert re.search(r": \d+ of 60 weights\.", some["notes"][0])


def test_a_larger_budget_shows_more_of_each(stack: Any) -> None:
    sizes = [
        sum(len(one["data"]) for one in data_of(page_of(stack, n))["tensors"]) for n in (300_000, 1_000_000)
    ]

    assert sizes[1] > 2 * sizes[0]


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.integers(0, 10_000)), st.integers(-10, 100_000), st.integers(1, 20_000))
def test_a_level_is_the_largest_that_fits(sizes: list[int], budget: int, most: int) -> None:
    level = level_of(sizes, budget, most)

    assert sum(min(size, level) for size in sizes) <= max(budget, 0)
    if level < most:
        assert sum(min(size, level + 1) for size in sizes) > budget


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["output", "grad", "param"]),
            st.lists(st.integers(0, 300), max_size=4),
            st.sampled_from(["float32", "int64"]),
        ),
        max_size=30,
    ),
    st.integers(0, 500_000),
)
def test_shares_are_within_the_budget_and_no_larger_than_what_they_are_of(
    tensors: list[tuple[Any, list[int], str]], budget: int
) -> None:
    wanted = [
        Wanted(kind=kind, index=i, shape=shape, dtype=dtype, num_bytes=0)
        for i, (kind, shape, dtype) in enumerate(tensors)
    ]

    given_bytes = share_out(wanted, budget)

    assert len(given_bytes) <= len(wanted)
    for one, num_bytes in zip(wanted, given_bytes, strict=False):
        grid = grid_of(one.shape)
        assert 0 <= num_bytes <= grid.tiles * grid.rows * grid.columns * item_bytes_of(one.dtype)


@pytest.mark.parametrize("wrong", [-1, "many", None, True, float("nan"), float("inf")])
def test_a_budget_that_is_no_number_of_bytes_is_refused(stack: Any, wrong: Any) -> None:
    with pytest.raises(InputError, match="max_bytes"):
        page_of(stack, wrong)
