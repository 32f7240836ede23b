"""Tables of a run: rows of numbers, texts and tensors, logged one by one or together."""

import io
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import torcheer as tl
from torcheer.errors import FileFormatError, InputError
from torcheer.run.read.saved_records import SavedRecord
from torcheer.run.records import TableColumn, TableHead
from torcheer.run.tables import cells_of, encoded_table, table_fault


@pytest.fixture
def run(tmp_path: Path) -> tl.Run:
    return tl.Run(tmp_path / "run")


def test_rows_come_back_with_their_numbers_texts_and_tensors(run: tl.Run) -> None:
    output = torch.rand(2, 3)
    run.log_row(4, "epochs", {"epoch": 0, "loss": torch.tensor(0.5), "why": "first", "output": output})
    run.log_row(8, "epochs", {"epoch": 1, "loss": math.nan, "why": "", "output": 2 * output})

    table = run.table("epochs")

    assert table.columns == ["epoch", "loss", "why", "output"]
    assert table["epoch"].dtype == numpy.int64
    assert table["epoch"].tolist() == [0, 1]
    assert table["loss"][0] == 0.5
    assert math.isnan(table["loss"][1])
    assert table["why"] == ["first", ""]
    assert torch.equal(torch.tensor(table["output"]), torch.stack([output, 2 * output]))
    assert table.steps.tolist() == [4, 8]


def test_a_table_logged_at_once_is_the_same_as_row_by_row(run: tl.Run) -> None:
    acts = torch.rand(5, 4, dtype=torch.bfloat16)
    run.log_table(1, "together", {"trial": range(5), "act": acts, "name": list("abcde")})
    for trial in range(5):
        run.log_row(1, "singly", {"trial": trial, "act": acts[trial], "name": "abcde"[trial]})

    together, singly = run.table("together"), run.table("singly")

    assert len(together) == len(singly) == 5
    assert len(together.records) == 1
    assert together["trial"].tolist() == singly["trial"].tolist()
    assert together["name"] == singly["name"]
    assert numpy.array_equal(together["act"], acts.float().numpy())
    assert numpy.array_equal(singly["act"], acts.float().numpy())


def test_rows_may_have_other_columns_than_those_before_them(run: tl.Run) -> None:
    run.log_row(0, "runs", {"run": 0, "loss": 1.0})
    run.log_row(1, "runs", {"run": 1, "lr": 0.1, "act": torch.zeros(2)})
    run.log_row(2, "runs", {"run": 2, "lr": None, "act": torch.zeros(3)})

    table = run.table("runs")

    assert table.columns == ["run", "loss", "lr", "act"]
    assert table["loss"] == [1.0, None, None]
    assert [row["run"] for row in table] == [0, 1, 2]
    assert [row.get("lr") for row in table.rows()] == [None, 0.1, None]
    assert [None if cell is None else cell.shape for cell in table["act"]] == [None, (2,), (3,)]


def test_none_is_an_empty_number(run: tl.Run) -> None:
    run.log_table(0, "t", {"a": [1, None], "b": ["x", None]})

    assert run.table("t")["a"].dtype == numpy.float64
    assert numpy.isnan(run.table("t")["a"][1])
    assert run.table("t")["b"] == ["x", ""]


def test_a_table_can_be_written_as_csv_with_tensors_number_by_number(run: tl.Run, tmp_path: Path) -> None:
    run.log_table(
        0, "t", {"trial": [0, 1], "out": torch.tensor([[[1.5, 2.0]], [[0.1, -3.0]]]), "say": ["a,b", "c"]}
    )

    run.table("t").to_csv(tmp_path / "t.csv")

    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == 'trial,"out[0,0]","out[0,1]",say'
    assert lines[1] == '0,1.5,2.0,"a,b"'
    assert lines[2].startswith("1,0.1000000014901161")
    stream = io.StringIO()
    run.table("t").write_csv(stream, separator="\t")
    assert stream.getvalue().splitlines()[2].split("\t")[-1] == "c"


def test_cells_stand_below_their_names_whatever_the_shapes(run: tl.Run) -> None:
    for step, cell in enumerate((torch.ones(0), 5, numpy.array(6.0), "text")):
        run.log_row(step, "cells", {"a": step, "x": cell, "z": 9})
    stream = io.StringIO()
    run.table("cells").write_csv(stream)

    assert encoded_table({"x": [numpy.array(6.0)]})[0].columns[0].form == "number"
    assert stream.getvalue() == "a,x[0],z\n0,,9\n1,5,9\n2,6.0,9\n3,text,9\n"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": "abc"}, "the column 'x' is a str: give a list"),
        ({"x": {"a": 1}}, "the column 'x' is a dict: give a list"),
        ({"x": torch.tensor(1.0)}, "the column 'x' is a Tensor: give a list"),
        ({"x": [1, object()]}, "a cell of the column 'x' is a object: give a number"),
        ({"x": [b"abc"]}, "a cell of the column 'x' is a bytes: give a number"),
    ],
)
def test_what_no_column_or_cell_can_be_is_named(columns: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        encoded_table(columns)


def test_statistics_by_equal_cells_leave_out_what_is_not_finite(run: tl.Run) -> None:
    for lr, epochs in ((0.1, 10.0), (0.2, 5.0), (0.1, 20.0), (0.1, math.inf)):
        run.log_row(0, "runs", {"lr": lr, "epochs": epochs, "end": "done"})

    slow, fast = run.table("runs").statistics(by=["lr"])

    assert slow.cells == (0.1,)
    assert slow.num_rows == 3
    assert slow.figures["epochs"].count == 2
    assert slow.figures["epochs"].mean == 15
    assert slow.figures["epochs"].std == pytest.approx(numpy.std([10, 20], ddof=1))
    assert fast.figures["epochs"].std is None
    assert list(slow.figures) == ["epochs"]


def test_what_is_no_table_is_told_and_the_training_goes_on(run: tl.Run) -> None:
    with pytest.warns(tl.RunWarning, match="has 3 rows, and those before it 2"):
        run.log_table(0, "t", {"a": [1, 2], "b": [1, 2, 3]})
    with pytest.warns(tl.RunWarning, match="has no columns"):
        run.log_row(0, "t", [1, 2])  # type: ignore[arg-type]
    with pytest.warns(tl.RunWarning, match="give a list, an array or a tensor"):
        run.log_table(0, "u", {"a": 1})

    assert run.names("table") == []
    with pytest.raises(tl.InputError, match="no table 't'"):
        run.table("t")


def test_a_column_that_is_not_there_is_named_with_those_that_are(run: tl.Run) -> None:
    run.log_row(0, "t", {"loss": 1.0})

    with pytest.raises(tl.InputError, match="no column 'los': it has 'loss'"):
        run.table("t")["los"]


@given(
    st.integers(0, 4),
    st.lists(st.sampled_from(["number", "integer", "text", "tensor"]), max_size=4),
)
def test_a_head_that_lies_about_its_bytes_is_seen(num_rows: int, forms: list[str]) -> None:
    values = {
        "number": [0.5] * num_rows,
        "integer": [7] * num_rows,
        "text": ["é"] * num_rows,
        "tensor": torch.zeros(num_rows, 2, 3),
    }
    head, data = encoded_table({f"{index}": values[form] for index, form in enumerate(forms)})

    assert table_fault(head, len(data)) == ""
    assert table_fault(head, len(data) + 1) != ""
    for column in head.columns:
        if column.form != "text":
            longer = TableHead(num_rows=head.num_rows + 1, columns=[column])
            assert table_fault(longer, column.num_bytes) != ""
    huge = TableColumn(name="x", form="tensor", num_bytes=0, shape=[-1], dtype="float32")
    assert table_fault(TableHead(num_rows=3, columns=[huge]), 0) != ""
    for dtype in ("os.system", "object", "i4,f4"):
        strange = TableColumn(name="x", form="tensor", num_bytes=24, shape=[1], dtype=dtype)
        assert table_fault(TableHead(num_rows=3, columns=[strange]), 24) != ""
    assert table_fault(TableHead(num_rows=10**12, columns=[]), 0) != ""


@pytest.mark.parametrize("num_rows", [-3, 2**62])
def test_a_table_with_an_impossible_number_of_rows_is_damage(tmp_path: Path, num_rows: int) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log_row(0, "t", {"loss": 1.0})
    with closing(sqlite3.connect(tmp_path / "run" / "rank-0.sqlite", isolation_level=None)) as connection:
        changed = "json_set(CAST(head AS TEXT), '$.num_rows', ?)"
        connection.execute(f"UPDATE records SET head = CAST({changed} AS BLOB)", (num_rows,))

    with tl.open_run(tmp_path / "run") as saved:
        table = saved.table("t")
        repr(table.records[0])
        for question in (len, lambda table: table.steps, lambda table: list(table.rows())):
            with pytest.raises(FileFormatError, match="is damaged"):
                question(table)


def test_shapes_that_no_array_can_have_are_damage() -> None:
    column = TableColumn(name="x", form="tensor", num_bytes=0, shape=[0, 2**62, 2**62], dtype="float32")
    with pytest.raises(FileFormatError, match="the column 'x' is damaged"):
        cells_of(TableHead(num_rows=1, columns=[column]), column, b"")
    many = TableColumn(name="x", form="tensor", num_bytes=4, shape=[1] * 65, dtype="float32")
    assert "does not have a cell for each row" in table_fault(TableHead(num_rows=1, columns=[many]), 4)


def test_tables_are_records_like_all_others(run: tl.Run) -> None:
    run.log_row(3, "t", {"loss": 1.0})

    (record,) = run.table("t").records

    assert isinstance(record, SavedRecord)
    assert record.step == 3
    assert "1 rows of 1 columns" in repr(record)
