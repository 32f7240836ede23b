"""The random associator learns, in the shell as well as step by step."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch

from examples import etra25


def test_headless_it_learns_all_pairs_and_writes_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sys.argv", ["etra25", "--no-gui", "--runs", "1", "--seed", "3", "--folder", str(tmp_path)]
    )
    etra25.main()

    def rows(name: str) -> list[dict[str, str]]:
        with open(tmp_path / "etra25-1" / f"{name}.tsv", encoding="utf-8") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    epochs, (run,) = rows("train-epochs"), rows("runs")
    errors = [int(row["errors"]) for row in epochs]
    assert errors[0] > 20
    assert errors[-5:] == [0] * 5
    assert errors[-6] > 0  # it ends as soon as it may
    assert run["ended by"] == "5 epochs without errors"
    assert int(run["epochs needed"]) == len(epochs) < 50
    assert [int(row["epoch"]) for row in rows("test-epochs")] == sorted(
        {*range(5, len(epochs) + 1, 5), len(epochs)}
    )
    items = rows("test-trials")[-25:]
    assert {row["error"] for row in items} == {"0"}
    assert [row["name"] for row in items] == [f"pair {number}" for number in range(25)]
    assert sum(float(items[0][f"Target[{bit}]"]) for bit in range(25)) == 6
    assert rows("statistics")[0]["mean"] == f"{len(epochs)}"
    assert "1 runs with seed 3" in capsys.readouterr().out


def test_its_patterns_have_six_bits_of_25() -> None:
    patterns = etra25.random_patterns()

    assert patterns.shape == (25, 25)
    assert patterns.sum(1).tolist() == [6.0] * 25
    assert set(patterns.unique().tolist()) == {0.0, 1.0}
    assert not torch.equal(patterns, etra25.random_patterns())
    assert len(Path(etra25.__file__).read_text(encoding="utf-8").splitlines()) < 150
