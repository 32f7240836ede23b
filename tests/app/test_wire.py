"""The messages of the socket: what they carry, how they are framed, and that the page has the same types."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.app.serving import VALUES, WHOLE, MadeUpPass, Page, document, serve, take_apart, view_of
from torcheer.app.dispatch import read_question
from torcheer.app.passes.source import (
    MAX_REQUEST_BYTES,
    MAX_SKETCHED,
    DocumentAnswer,
    PassesAnswer,
    PassListing,
    TensorAnswer,
    TensorQuestion,
    sketch_of,
    window_fault,
)
from torcheer.app.wire import Refusal, as_json, binary_frame
from torcheer.tensorfile import MAX_WINDOW_VALUES, Window, num_values
from web.wire_types import typescript

WEB = Path(__file__).parents[2] / "web"
COUNTS = st.integers(-(2**70), 2**70) | st.integers(0, 5000)


def test_a_page_is_greeted_with_the_passes() -> None:
    with serve(MadeUpPass("one"), MadeUpPass("two")) as running, Page(running) as page:
        assert page.hello["type"] == "hello"
        assert page.hello["passes"] == [
            {"id": name, "name": f"the name of {name}", "detail": "made up", "run_id": "", "step": None}
            for name in ("one", "two")
        ]
        assert page.ask(type="passes", id=8) == {"type": "passes", "id": 8, "passes": page.hello["passes"]}


def test_a_pass_arrives_as_its_document() -> None:
    source = MadeUpPass()
    with serve(source) as running, Page(running) as page:
        answer = page.ask(type="open", id=9, pass_id="pass-1")

    assert answer == {"type": "document", "id": 9, "document": msgspec.to_builtins(source.shown)}


def test_a_tensor_arrives_with_its_figures_and_exact_values() -> None:
    source = MadeUpPass()
    with serve(source) as running, Page(running) as page:
        question = TensorQuestion(id=10, pass_id="pass-1", kind="output", index=0, window=WHOLE)
        page.socket.send(msgspec.json.encode(question).decode())
        head, values = take_apart(page.socket.recv())

    assert head == {"type": "tensor", "id": 10, "view": msgspec.to_builtins(view_of(WHOLE))}
    assert np.array_equal(np.frombuffer(values, "<f4").reshape(1, 2, 3), VALUES)
    assert source.asked == [("output", 0, WHOLE)]


def test_figures_arrive_in_the_order_of_the_ops() -> None:
    with serve() as running, Page(running) as page:
        answer = page.ask(type="figures", id=11, pass_id="pass-1", name="zeros")

    assert answer == {"type": "figures", "id": 11, "values": [0.25, None]}


def test_a_sketch_has_the_size_of_each_output_and_no_inputs_among_them() -> None:
    source = MadeUpPass()
    with serve(source) as running, Page(running) as page:
        answer = page.ask(type="sketch", id=12, pass_id="pass-1")

    ops = [op for op in source.shown.ops if op.kind == "op"]
    assert answer == {
        "type": "sketch",
        "id": 12,
        "num_ops": len(ops),
        "num_params": source.shown.num_params,
        "elapsed_seconds": source.shown.elapsed_seconds,
        "has_gradients": source.shown.num_backward_passes > 0,
        "input_shape": next((op.shape for op in source.shown.ops if op.kind == "input"), None),
        "sizes": [math.prod(op.shape) for op in ops],
    }


def test_of_many_ops_a_sketch_has_the_largest_of_each_few() -> None:
    known = document(["a"], "Net")
    op = msgspec.structs.replace(known.ops[0], kind="op", shape=[])
    peak = msgspec.structs.replace(op, shape=[50, 100])
    many = msgspec.structs.replace(known, ops=[op] * 777 + [peak] + [op] * 222)

    sketch = sketch_of(many, 1)

    assert sketch.num_ops == 1000
    assert len(sketch.sizes) <= MAX_SKETCHED
    assert max(sketch.sizes) == 5000
    assert list(sketch_of(msgspec.structs.replace(known, ops=[]), 1).sizes) == []


def test_what_is_not_a_number_arrives_as_null() -> None:
    source = MadeUpPass()
    source.figures_answer = [float("nan"), float("inf"), 1.0]
    with serve(source) as running, Page(running) as page:
        assert page.ask(type="figures", id=1, pass_id="pass-1", name="zeros")["values"] == [None, None, 1.0]


@given(note=st.text(), values=st.binary(max_size=64))
def test_values_of_a_frame_stand_at_a_multiple_of_eight_bytes(note: str, values: bytes) -> None:
    answer = TensorAnswer(id=3, view=msgspec.structs.replace(view_of(WHOLE), note=note))
    frame = binary_frame(answer, values)
    head, found = take_apart(frame)

    assert found == values
    assert (len(frame) - len(values)) % 8 == 0
    assert head["view"]["note"] == note


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_arrives_unchanged_also_half_characters(name: str) -> None:
    answer = DocumentAnswer(id=1, document=document([name], name))
    listing = PassesAnswer(id=2, passes=[PassListing(id=name, name=name, detail=name)])

    found = json.loads(as_json(answer).decode("utf-8"))
    assert found["type"] == "document"
    assert found["document"]["model_name"] == found["document"]["ops"][0]["label"] == name
    assert found["document"]["ops"][0]["parents"] == [[-1, "0"]]
    assert json.loads(as_json(listing))["passes"] == [
        {"id": name, "name": name, "detail": name, "run_id": "", "step": None}
    ]


@given(item=st.lists(COUNTS, max_size=70), numbers=st.lists(COUNTS, min_size=8, max_size=8))
def test_a_window_that_passes_the_check_is_small_and_counts_from_zero(
    item: list[int], numbers: list[int]
) -> None:
    names = [name for name in Window.__struct_fields__ if name != "item"]
    window = Window(item=item, **dict(zip(names, numbers, strict=True)))
    is_sound = len(item) <= 64 and all(0 <= number < 2**53 for number in item + numbers)
    is_sound = is_sound and window.row_step > 0 and window.column_step > 0

    assert (window_fault(window) == "") == (is_sound and num_values(window) <= MAX_WINDOW_VALUES)


@given(st.text(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    assert isinstance(read_question(text), Refusal)


def test_a_question_has_room_enough() -> None:
    longest = TensorQuestion(
        id=2**53 - 1,
        pass_id="\0" * 64,
        kind="param_grad",
        index=2**53 - 1,
        window=Window(item=[2**53 - 1] * 64, **dict.fromkeys(Window.__struct_fields__[1:], 2**53 - 1)),
    )
    assert len(msgspec.json.encode(longest)) < MAX_REQUEST_BYTES


def test_the_page_has_the_same_types() -> None:
    written = (WEB / "src" / "wire.ts").read_text(encoding="utf-8")

    assert written == typescript(), "run: python -m web.wire_types > web/src/wire.ts"


def test_the_types_are_what_the_module_prints() -> None:
    command = [sys.executable, "-m", "web.wire_types"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")

    assert printed.stdout == typescript()


def test_every_message_and_field_is_among_the_types() -> None:
    text = typescript()
    for struct in (DocumentAnswer, TensorAnswer, TensorQuestion, Refusal, Window):
        start = text.index(f"export interface {struct.__name__} ")
        declared = text[start : text.index("}", start)]
        own = [name for name in struct.__struct_fields__ if name not in ("id", "pass_id")]
        assert all(f" {name}: " in declared for name in own)
    assert 'export interface DocumentQuestion extends PassQuestion { type: "open" }' in text
    assert "export interface PassQuestion extends QuestionBase { pass_id: string }" in text
    assert "export interface QuestionBase { id: number }" in text
    assert " window: Window | null;" in text
    assert " parents: Link[];" in text
    assert "export type Link = [op: number, argument: string];" in text
    assert " kind: OpKind;" in text
    assert "values: (number | null)[] }" in text
    assert " head: ShownHead;" in text


def test_no_line_of_the_types_is_too_long() -> None:
    assert max(map(len, typescript().splitlines())) <= 110
