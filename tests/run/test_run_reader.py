"""Which state a run of several parts is in."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import torcheer as tl
from torcheer.errors import InputError
from torcheer.run.read.part_protocol import PartStatus, State, merged_state


def status(state: State, resumed: float, updated: float, reason: str = "") -> PartStatus:
    return PartStatus(
        state=state,
        reason=reason,
        died_of_an_error=bool(reason),
        started=0.0,
        sessions=(resumed,),
        updated=updated,
        host="",
        pid=0,
        comment="",
        tags=(),
        total_steps=None,
        num_dropped=0,
        num_thinned=0,
        num_bytes=0,
        note="",
    )


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"rank-0": status("running", 1, 2), "rank-1": status("died", 1, 2)}, "running"),
        ({"rank-0": status("finished", 1, 9), "rank-1": status("died", 1, 5, "killed")}, "died"),
        ({"rank-0": status("finished", 6, 9), "rank-1": status("died", 1, 5)}, "finished"),
        ({"rank-0": status("died", 1, 1), "rank-1": status("finished", 2, 5)}, "died"),
        ({"rank-0": status("finished", 1, 9), "rank-0.1": status("died", 2, 8)}, "finished"),
        ({"rank-0": status("died", 1, 9), "rank-0.1": status("finished", 2, 8)}, "died"),
        ({"rank-0.1": status("died", 1, 9)}, "died"),
        ({"events": status("unknown", 1, 9)}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_the_state_is_that_of_the_parts_that_still_count(parts: dict[str, PartStatus], expected: str) -> None:
    assert merged_state(parts)[0] == expected


FORKING = """
import os, sys
import torcheer as tl
run = tl.Run(sys.argv[1])
run.log(0, loss=1.0)
if (pid := os.fork()) == 0:
    run.log(1, child=1.0)
    run.flush()
    os._exit(0)
os.waitpid(pid, 0)
run.close()
"""


LEAVING = """
import os, sys
import torcheer as tl
run = tl.Run(sys.argv[1], rank=int(sys.argv[2]))
run.log(0, x=1.0)
run.flush()
os._exit(1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_that_was_simply_stopped_does_not_make_the_run_a_dead_one(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKING, str(tmp_path / "run")], check=True)
    run = tl.open_run(tmp_path / "run")
    assert run.state == "finished"
    assert len(run.scalars("child")) == len(run.scalars("loss")) == 1


def test_a_copy_of_a_run_is_in_the_same_state(tmp_path: Path) -> None:
    for rank in ("0", "1"):
        subprocess.run([sys.executable, "-c", LEAVING, str(tmp_path / "run"), rank], check=False)
    assert tl.open_run(tmp_path / "run").state == "died"
    with tl.Run(tmp_path / "run", rank=0) as run:
        run.log(1, x=2.0)
    shutil.copytree(tmp_path / "run", tmp_path / "copy", copy_function=shutil.copy)
    assert tl.open_run(tmp_path / "run").state == tl.open_run(tmp_path / "copy").state == "finished"


# --- what is written from a run never takes the run's place ------------------------------------------


def test_a_table_is_not_written_over_a_file_of_a_run(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log(0, loss=1.0)
    for name in ("rank-0.sqlite", "rank-0.lock"):
        with pytest.raises(InputError, match="is a file of a run"):
            tl.open_run(tmp_path / "run").to_csv(tmp_path / "run" / name)
    assert len(tl.open_run(tmp_path / "run").scalars("loss")) == 1


def test_a_run_is_not_exported_into_a_run(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log(0, loss=1.0)
    with pytest.raises(InputError, match="is a run"):
        run.export_tensorboard(tmp_path / "run")
    assert len(tl.open_run(tmp_path / "run").scalars("loss")) == 1


def test_of_several_that_died_the_first_says_why(tmp_path: Path) -> None:
    """Where a process of many is lost, the others die of having lost it."""
    first, second = tl.Run(tmp_path, rank=1), tl.Run(tmp_path, rank=0)
    for run, reason in ((first, "out of memory"), (second, "connection closed by peer")):
        with suppress(RuntimeError), run:
            raise RuntimeError(reason)

    assert tl.open_run(tmp_path).status().reason == "RuntimeError: out of memory"
