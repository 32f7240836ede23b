"""What holds for the picture of any pass: made-up passes of every shape, hostile names, every option."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.picture_checks import SVG, ReadPicture, check_picture
from tests.many import examples
from torcheer.errors import InputError
from torcheer.graph import (
    DOCUMENT_VERSION,
    BranchEntry,
    Drawing,
    Link,
    OpEntry,
    ParamEntry,
    PassDocument,
    ScopeEntry,
    draw_document,
    read_options,
    text_width,
)

USUAL: dict[str, Any] = {
    "<class 'int'>": 0,
    "<class 'float'>": 0.0,
    "<class 'str'>": "",
    "<class 'bool'>": False,
    "list": [],
}
E = TypeVar("E", bound=msgspec.Struct)
HOSTILE = "<img src=x onerror=alert(1)>&\"']]>\x00\x1b\n\ud800名前"


def made(entry: type[E], /, **facts: Any) -> E:
    """An entry of a made-up pass: nothing, zero or false where nothing is said."""
    fields = msgspec.structs.fields(entry)
    usual = {one.name: USUAL.get(str(one.type).partition("[")[0]) for one in fields}
    return entry(**usual | facts)


def op(index: int, **facts: Any) -> OpEntry:
    usual = {"label": f"sin_{index}_{index}", "layer": index, "pass_num": 1, "num_passes": 1, "type": "sin"}
    usual |= {"function": "sin", "kind": "op", "shape": [2, 3], "dtype": "float32", "num_bytes": 24}
    usual |= {"seconds": 0.001 * (index + 1), "flops": 10 * index, "source": -1}
    return made(OpEntry, **usual | facts)


def scope(parent: int, address: str | None, name: str = "Block", **facts: Any) -> ScopeEntry:
    usual = {"parent": parent, "address": address, "name": name, "pass_num": 1, "num_passes": 1, "source": -1}
    return made(ScopeEntry, **usual | facts)


def weight(address: str, dtype: str = "float32") -> ParamEntry:
    return made(ParamEntry, address=address, shape=[3], dtype=dtype, num_bytes=12, requires_grad=True)


def passed(ops: list[OpEntry], scopes: list[ScopeEntry] | None = None, **facts: Any) -> PassDocument:
    usual = {"version": DOCUMENT_VERSION, "model_name": "Model", "elapsed_seconds": 0.1, "num_params": 7}
    usual |= {"param_bytes": 28, "num_bytes": 24 * len(ops)}
    return made(PassDocument, ops=ops, scopes=scopes or [scope(-1, "", "Model")], **usual | facts)


@st.composite
def documents(draw: st.DrawFn) -> PassDocument:
    """Any pass: nested modules and functions, loops, buffers, conditions, far readers."""
    num_scopes = draw(st.integers(1, 6))
    scopes = [scope(-1, "", "Model")]
    for i in range(1, num_scopes):
        parent = draw(st.integers(0, i - 1))
        address = draw(st.sampled_from([f"m{i}", f"m{i // 2}.with.a.long.address.that.goes.on.and.on", None]))
        scopes.append(scope(parent, address, num_params=i))
    num_ops = draw(st.integers(1, 18))
    num_layers = draw(st.integers(1, num_ops))
    passes: dict[int, int] = {}
    ops: list[OpEntry] = []
    for i in range(num_ops):
        layer = draw(st.integers(0, num_layers - 1))
        kind = "op"
        if i == 0 or draw(st.integers(0, 9)) == 0:
            kind = draw(st.sampled_from(["input", "buffer", "source", "output"]))
            layer = 100 + i
        passes[layer] = passes.get(layer, 0) + 1
        arguments = ["0", "1.0", "mask"]
        sources = (
            []
            if kind in ("input", "buffer", "source")
            else draw(st.lists(st.integers(0, max(i - 1, 0)), max_size=3))
        )
        ops.append(
            op(
                i,
                label=f"op_{layer}:{passes[layer]}",
                layer=layer,
                pass_num=passes[layer],
                kind=kind,
                scope=0 if kind in ("input", "output") else draw(st.integers(0, num_scopes - 1)),
                parents=[Link(s, argument) for s, argument in zip(sources, arguments, strict=False) if s < i],
                argument_order_matters=draw(st.booleans()),
                params=[0] if kind == "op" and draw(st.booleans()) else [],
                has_grad=draw(st.booleans()),
                is_inplace=draw(st.booleans()),
            )
        )
    branches = [
        BranchEntry(op=a, value="True", statement="if", taken="then", followed_by=[b], source=-1)
        for a, b in pairwise(sorted(set(draw(st.lists(st.integers(0, num_ops - 1), max_size=4)))))
    ]
    return passed(ops, scopes, branches=branches, params=[weight("m1.weight")])


drawings = st.builds(
    Drawing,
    rolled=st.booleans(),
    nesting_depth=st.sampled_from([None, None, 0, 1, 2]),
    buffer_layers=st.booleans(),
    direction=st.sampled_from(["topdown", "bottomup", "leftright"]),
    fold_repeats=st.booleans(),
    color_by=st.sampled_from([None, "time", "memory", "flops"]),
    theme=st.sampled_from(["light", "dark"]),
)


@settings(max_examples=examples(120), deadline=None)
@given(documents(), drawings)
def test_any_pass_gives_a_sound_picture(document: PassDocument, drawing: Drawing) -> None:
    svg = draw_document(document, drawing).svg

    assert check_picture(svg, document, drawing) == []
    assert draw_document(document, drawing).svg == svg


@settings(max_examples=examples(60), deadline=None)
@given(st.text(max_size=60), drawings)
def test_any_text_may_stand_in_a_picture(text: str, drawing: Drawing) -> None:
    document = hostile_document(text)
    svg = draw_document(document, drawing).svg

    svg.encode("utf-8")
    assert check_picture(svg, document, drawing) == []


def hostile_document(text: str) -> PassDocument:
    scopes = [scope(-1, "", text), scope(0, text, text), scope(1, None, text)]
    ops = [
        op(0, kind="input", name=text, label=text),
        op(
            1,
            parents=[Link(0, text)],
            scope=1,
            label=text,
            function=text,
            arguments=text,
            params=[0],
            dtype=text,
        ),
        op(2, parents=[Link(0, text), Link(1, text)], scope=2, argument_order_matters=True),
        op(3, parents=[Link(2, "0")], scope=2),
    ]
    branch = BranchEntry(op=1, value=text, statement="if", taken=text, followed_by=[3], source=-1)
    return passed(
        ops,
        scopes,
        model_name=text,
        params=[weight(text, text)],
        branches=[branch],
        error=text,
        stopped_after=text,
    )


def test_a_hostile_name_stays_text() -> None:
    svg = draw_document(hostile_document(HOSTILE), Drawing()).svg
    root = ET.fromstring(svg)

    assert "<img" not in svg
    assert not any(element.tag in (f"{SVG}img", f"{SVG}script") for element in root.iter())
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    assert any("<img src=x" in (element.text or "") for element in root.iter(f"{SVG}text"))


def test_an_empty_pass_can_be_drawn() -> None:
    document = passed([])

    assert check_picture(draw_document(document, Drawing()).svg, document, Drawing()) == []


def test_long_texts_are_shortened_in_the_middle() -> None:
    document = passed([op(0, label="a" * 500 + "_end")])
    (node,) = ReadPicture(draw_document(document, Drawing()).svg).nodes.values()

    label = node.texts[0][0]
    assert "…" in label
    assert label.endswith("_end")
    assert text_width(label, 12.0, 600) <= 250.0


# --- colours -------------------------------------------------------------------------------------


def chain(num_ops: int) -> PassDocument:
    return passed([op(i, parents=[Link(i - 1, "0")] if i else []) for i in range(num_ops)])


def fills(svg: str) -> list[str]:
    nodes = [g for g in ET.fromstring(svg) if g.get("class") == "node"]
    return [rect.attrib["fill"] for g in nodes for rect in g.findall(f"{SVG}rect")]


def test_a_metric_colours_boxes_and_has_a_scale_with_limits() -> None:
    picture = draw_document(chain(3), Drawing(color_by="time"))
    read = ReadPicture(picture.svg)

    shown = fills(picture.svg)
    assert len(set(shown)) == 3
    assert shown[-1] == "#1a224d"  # the end of the scale
    words = [text for text, _ in read.head]
    assert {"0 µs", "3.00 ms", "time"} <= set(words)
    assert [text for node in read.nodes.values() for text, _ in node.texts if "ms" in text] == [
        "1.00 ms",
        "2.00 ms",
        "3.00 ms",
    ]


def test_figures_may_be_colours_numbers_or_nothing() -> None:
    svg = draw_document(chain(4), Drawing(), figures=["#fc0", "Gold", 2.5, None]).svg

    assert fills(svg) == ["#ffcc00", "#ffd700", "#1a224d", fills(draw_document(chain(4), Drawing()).svg)[3]]


def test_a_box_of_several_ops_adds_up_what_adds_up() -> None:
    scopes = [scope(-1, "", "Model"), scope(0, "a")]
    document = passed([op(0, scope=1), op(1, scope=1, parents=[Link(0, "0")])], scopes)
    read = ReadPicture(draw_document(document, Drawing(color_by="time", nesting_depth=1)).svg)

    (node,) = read.nodes.values()
    assert "3.00 ms" in [text for text, _ in node.texts]


@pytest.mark.parametrize(
    ("figure", "part"), [("nocolour", "no colour"), ([1, 2], "list"), ("#12", "no colour")]
)
def test_a_figure_that_is_none_of_these_is_refused(figure: Any, part: str) -> None:
    with pytest.raises(InputError, match=part):
        draw_document(chain(1), Drawing(), figures=[figure])


def test_zeros_need_tensors() -> None:
    with pytest.raises(InputError, match=r"history\.draw"):
        draw_document(chain(1), Drawing(color_by="zeros"))


# --- size ----------------------------------------------------------------------------------------


def test_thousands_of_ops_in_a_row_can_be_drawn() -> None:
    """Nothing here recurses along a chain."""
    count = max(1_200, examples(3_000))
    picture = draw_document(chain(count), read_options("unrolled", {}))

    assert len(ReadPicture(picture.svg).nodes) == count
    assert max(picture.width, picture.height) < 30_000


def test_the_picture_survives_a_round_trip_of_its_document() -> None:
    document = hostile_document("plain")
    again = msgspec.json.decode(msgspec.json.encode(document), type=PassDocument)

    assert draw_document(again, Drawing()).svg == draw_document(document, Drawing()).svg
