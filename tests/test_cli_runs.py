"""`torcheer runs`, as a shell calls it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import torcheer as tl
from tests.run.handmade_part import HandmadePart
from torcheer.cli import app
from torcheer.errors import InputError


def torcheer(*arguments: str | Path, answer: str = "") -> Result:
    return CliRunner().invoke(app, ["runs", *map(str, arguments)], input=answer)


def refusal(*arguments: str | Path) -> str:
    result = torcheer(*arguments)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number, rate in enumerate((0.1, 0.2)):
        with tl.Run(tmp_path / "runs" / f"sweep/{number}", total_steps=100) as run:
            run.log_hparams({"lr": rate, "batch": 32})
            for step, loss in enumerate((3.0, 1.0, 2.0)):
                run.log(step, {"train/loss": loss * rate, "acc": loss, "lr": rate})
            run.log_text(0, "note", "hello")
    part = HandmadePart(tmp_path / "runs" / "broken")
    part.add_block("loss", [(0, 1.0, 1.0), (1, 2.0, float("nan"))])
    part.finish("died", "ZeroDivisionError: division by zero")
    return tmp_path / "runs"


def test_runs_are_listed_with_state_step_and_loss(runs: Path) -> None:
    output = torcheer("list").output

    lines = {line.split()[0]: line for line in output.splitlines() if line}
    assert "✓ finished" in lines["sweep/0"]
    assert "2 / 100" in lines["sweep/0"]
    assert "0.2 train/loss" in lines["sweep/0"]
    assert "✕ died" in lines["broken"]
    assert "broken: ZeroDivisionError: division by zero" in output


def test_a_list_for_programs_is_json_without_nan(runs: Path) -> None:
    rows = json.loads(torcheer("list", runs, "--json", "--sort", "name").output, parse_constant=pytest.fail)

    assert [row["name"] for row in rows] == ["broken", "sweep/0", "sweep/1"]
    assert rows[0]["state"] == "died"
    assert rows[0]["last_loss"] is None
    assert rows[1]["last_loss"] == pytest.approx(0.2)


def test_the_folder_itself_is_listed_by_its_own_name(runs: Path) -> None:
    assert torcheer("list", runs / "broken").output.splitlines()[1].startswith("broken ")


def test_a_folder_without_runs_says_how_to_get_one(tmp_path: Path) -> None:
    assert "tl.Run(" in refusal("list", tmp_path)
    assert "there is no folder" in refusal("list", tmp_path / "gone")
    assert torcheer("list", tmp_path, "--json").output == "[]\n"


def test_a_run_is_shown_with_its_series_and_curves(runs: Path) -> None:
    output = torcheer("show", "sweep/1").output

    assert "lr=0.2" in output
    loss = next(line for line in output.splitlines() if line.startswith("train/loss"))
    assert loss.split()[:5] == ["train/loss", "scalar", "3", "2", "0.4"]
    assert loss.split()[5].startswith("█▁")
    assert any(line.split()[:3] == ["note", "text", "1"] for line in output.splitlines())
    assert "1 NaN or ∞, first at step 1" in torcheer("show", runs / "broken").output


def test_a_run_for_programs_is_json(runs: Path) -> None:
    shown = json.loads(torcheer("show", runs / "sweep/0", "--json").output, parse_constant=pytest.fail)

    assert shown["hparams"] == {"lr": 0.1, "batch": 32}
    assert [row["name"] for row in shown["series"]][:2] == ["train/loss", "acc"]
    assert shown["run"]["num_points"] == 9


def test_runs_are_compared_by_their_last_and_best_values_and_by_what_was_set_differently(runs: Path) -> None:
    output = torcheer("compare", "sweep/0", "sweep/1").output

    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in output.splitlines() if line}
    assert rows["train/loss"] == "0.2 (0.1 at 1) 0.4 (0.2 at 1)"
    assert rows["acc"] == "2 (3 at 0) 2 (3 at 0)"
    assert rows["lr"] == "0.1 0.2"
    assert "batch" not in rows
    assert "at least two" in refusal("compare", "sweep/0")


def test_scalars_are_exported_as_csv(runs: Path, tmp_path: Path) -> None:
    long = list(csv.DictReader(io.StringIO(torcheer("export", "csv", "sweep/0").output)))
    torcheer("export", "csv", "sweep/0", "--wide", "--name", "acc", "-o", tmp_path / "wide.csv")

    assert len(long) == 9
    assert [float(row["value"]) for row in long if row["name"] == "acc"] == [3.0, 1.0, 2.0]
    assert (tmp_path / "wide.csv").read_text() == "step,acc\n0,3.0\n1,1.0\n2,2.0\n"
    assert "did you mean 'acc'" in refusal(
        "export", "csv", "sweep/0", "--name", "accc", "-o", tmp_path / "x.csv"
    )
    assert not (tmp_path / "x.csv").exists()
    assert "cannot be written" in refusal("export", "csv", "sweep/0", "-o", tmp_path / "no" / "x.csv")


def test_a_run_is_exported_for_tensorboard_and_read_again(runs: Path, tmp_path: Path) -> None:
    assert torcheer("export", "tensorboard", "sweep/0", "-o", tmp_path / "events").exit_code == 0

    assert tl.open_run(tmp_path / "events").scalars("acc").values.tolist() == [3.0, 1.0, 2.0]


def test_names_from_a_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("[red]loss[/red]\x1b]0;title\x07\u202e", [(0, 1.0, 1.0)])
    part.run("INSERT INTO meta VALUES ('tags', ?)", '["\\u001b[31m"]')
    part.finish("died", "\x1b[2J")

    for command in (("list", tmp_path), ("show", tmp_path), ("compare", tmp_path, tmp_path)):
        output = torcheer(*command).output
        assert "[red]loss[/red]·]0;title··" in output
        assert "\x1b" not in output
        assert "\u202e" not in output


# --- rm ----------------------------------------------------------------------------------------


def test_a_run_is_removed_after_asking(runs: Path) -> None:
    assert torcheer("rm", "sweep/0", answer="n\n").exit_code == 1
    assert (runs / "sweep/0/rank-0.sqlite").exists()

    result = torcheer("rm", "sweep/0", answer="y\n")

    assert result.exit_code == 0
    assert not (runs / "sweep/0").exists()
    assert (runs / "sweep/1").exists()


def test_several_runs_are_removed_without_asking(runs: Path) -> None:
    assert torcheer("rm", "--yes", "sweep/0", runs / "sweep/1").exit_code == 0

    assert list((runs / "sweep").iterdir()) == []


def test_nothing_is_removed_where_one_of_them_is_being_written(runs: Path) -> None:
    with tl.Run(runs / "live") as run:
        run.log(0, loss=1.0)
        run.flush()

        assert "is being written: stop the training first, or say --force" in refusal(
            "rm", "-y", "sweep/0", "live"
        )

        assert (runs / "sweep/0").exists()
        assert torcheer("rm", "-y", "--force", "live").exit_code == 0
        assert not (runs / "live").exists()


def test_what_is_not_the_runs_own_is_never_removed(runs: Path) -> None:
    folder = runs / "sweep/0"
    (folder / "model.pt").write_text("weeks of work")
    (folder / "inner").mkdir()

    message = refusal("rm", "-y", folder)

    assert "'inner', 'model.pt'" in message
    assert (folder / "rank-0.sqlite").exists()
    assert torcheer("rm", "-y", "--files-only", folder).exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["inner", "model.pt"]
    assert "is no run" in refusal("rm", "-y", folder)


def test_event_files_that_were_written_a_moment_ago_are_not_removed(tmp_path: Path, runs: Path) -> None:
    tl.open_run(runs / "sweep/0").export_tensorboard(tmp_path / "events")

    if tl.open_run(tmp_path / "events").state == "unknown":
        assert "a moment ago" in refusal("rm", "-y", tmp_path / "events")
    assert torcheer("rm", "-y", "--force", tmp_path / "events").exit_code == 0
    assert not (tmp_path / "events").exists()


def test_a_link_to_a_run_is_not_followed_to_other_folders(runs: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious.sqlite"
    precious.write_text("elsewhere")
    (runs / "broken" / "rank-9.sqlite").symlink_to(precious)

    assert torcheer("rm", "-y", "broken").exit_code == 0
    assert precious.read_text() == "elsewhere"
    assert not (runs / "broken").exists()


def test_the_command_needs_no_torch_and_says_errors_in_one_line(runs: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from torcheer.cli import main; main()"
    for arguments, exit_code in ((["list"], 0), (["show", "sweep/0"], 0), (["show", "nothing"], 2)):
        result = subprocess.run(
            [sys.executable, "-c", code, "runs", *arguments], capture_output=True, text=True, check=False
        )

        assert result.returncode == exit_code, result.stderr
        assert "Traceback" not in result.stderr
    assert result.stderr.startswith("torcheer: there is no folder 'nothing'")
