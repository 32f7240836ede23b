"""Real processes and real signals: whatever ends a training, its child ends in order and in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.copying import Copy
from tests.inspector.feeding import PATIENCE, is_running, num_lost, seen_steps, wait_until
from torcheer.run import open_run

ROOT = Path(__file__).resolve().parents[2]
IN_TIME = 20.0  # seconds; two on a machine that is not busy

# A training that is played: frames are put into the ring by hand, and their number is said.
TRAINING = """
import os, sys, time
from tests.inspector.feeding import *
from torcheer.inspector.protocol import Callbacks

def say(*words):
    print(*words, flush=True)

run, plan = sys.argv[1], plan_with("a.Act", "a.weight")
"""


class Script:
    """A training in a process of its own, and in a group of its own, as at a terminal.

    `fresh`: in a new interpreter, and not in a copy of one that has imported torch. `fresh_children`: those
    are.
    """

    def __init__(
        self, folder: Path, text: str, *arguments: str, fresh: bool = False, fresh_children: bool = False
    ) -> None:
        path = folder / "training.py"
        forks = "" if fresh or fresh_children else "children_are_forks().__enter__()\n"
        path.write_text(TRAINING + forks + textwrap.dedent(text))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
        command = [str(path), str(folder / "run"), *arguments]
        self.process: subprocess.Popen[str] | Copy
        if fresh:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        else:
            self.process = Copy(command, env=environment, cwd=folder)
        self.pids: list[int] = []

    def hear(self, word: str) -> list[str]:
        """The rest of the next line that begins with this word."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.split()[:1] == [word]:
                return line.split()[1:]
        raise AssertionError(f"it did not say {word!r}: {self.process.communicate()[1]}")

    def hear_pid(self) -> int:
        pid = int(self.hear("child")[0])
        self.pids.append(pid)
        return pid

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def kill_when(self, *words: str) -> None:
        """Kill it when it has said these words, and wait for the end of its child."""
        pid = self.hear_pid()
        for word in words:
            self.hear(word)
        self.kill()
        wait_for_end(pid)

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.wait(), out, err


Play = Callable[..., Script]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Starts a script. All that a test starts is ended."""
    found: list[Script] = []

    def start(text: str, *arguments: str, **options: bool) -> Script:
        found.append(Script(tmp_path, text, *arguments, **options))
        return found[-1]

    yield start
    for script in found:
        for pid in (script.process.pid, *script.pids):
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
        script.process.communicate()


def wait_for_end(pid: int) -> None:
    wait_until(lambda: not is_running(pid), f"the end of process {pid}", IN_TIME)


FEEDING = """
child = started(run)
ring = child.new_plan(plan)
say("child", child.pid)
step = 0
while True:
    child.poll()
    if fill(ring, plan, step):
        step += 1
        if step == 40:
            say("filled")
    else:
        time.sleep(0.001)
    time.sleep(0.002)
"""


# --- the training is killed ------------------------------------------------------------------------------


def test_when_the_training_is_killed_the_child_writes_all_closes_and_ends(tmp_path: Path, play: Play) -> None:
    script = play(FEEDING, fresh_children=True)
    script.kill_when("filled")

    steps = seen_steps(tmp_path / "run", "a.Act")
    assert steps == list(range(len(steps)))
    assert len(steps) >= 40
    assert num_lost(tmp_path / "run", "a.Act") == 0
    with open_run(tmp_path / "run") as saved:
        assert saved.state == "died"
        assert "killed" in saved.status().reason


def test_the_child_ends_although_another_process_holds_the_channel_open(tmp_path: Path, play: Play) -> None:
    script = play(
        """
        import signal
        child = started(run)
        child.new_plan(plan)
        pid = os.fork()
        if pid == 0:  # a worker that outlives the training, with all that it had open
            time.sleep(60)
            os._exit(0)
        keeper = os.fork()
        if keeper == 0:
            time.sleep(60)
            os._exit(0)
        say("child", child.pid)
        say("child", pid)
        say("child", keeper)
        time.sleep(60)
        """,
    )
    pid = script.hear_pid()
    script.hear_pid(), script.hear_pid()

    script.kill()
    wait_for_end(pid)


def test_a_callback_that_hangs_does_not_keep_the_child(tmp_path: Path, play: Play) -> None:
    script = play(
        """
        def hang(name, step, tensor):
            if step == 3:
                say("hanging")
                time.sleep(3600)

        child = started(run, Callbacks(on_run=hang), "fork")
        ring = child.new_plan(plan)
        say("child", child.pid)
        for step in range(8):
            fill(ring, plan, step)
        time.sleep(60)
        """,
    )
    script.kill_when("hanging")

    steps = seen_steps(tmp_path / "run", "a.Act")
    assert steps[:3] == [0, 1, 2]
    assert len(steps) + num_lost(tmp_path / "run", "a.Act") == 8
    with open_run(tmp_path / "run") as saved:
        assert saved.state == "died"
        assert "killed" in saved.status().reason


def test_the_closing_callback_is_called_when_the_training_is_killed(tmp_path: Path, play: Play) -> None:
    script = play(
        """
        def close():
            open("closed", "w").write(str(len(seen)))

        seen = []
        def see(name, step, tensor):
            seen.append(tensor)
            say("saw")

        child = started(run, Callbacks(on_run=see, on_closing=close), "fork")
        ring = child.new_plan(plan)
        say("child", child.pid)
        fill(ring, plan, 0)
        time.sleep(60)
        """,
    )
    script.kill_when("saw", "saw")

    assert (tmp_path / "closed").read_text() == "2"


def test_calls_that_were_not_made_in_time_are_counted(tmp_path: Path, play: Play) -> None:
    """The records of a frame are kept, and of some of its rows a slow callback could not be called."""
    script = play(
        """
        names = [f"layer{number}.Act" for number in range(12)]
        plan, training = plan_with(*names), os.getpid()

        def slow(name, step, tensor):
            if step == 0 and name == names[0]:
                say("waiting")
            while step == 0 and os.getppid() == training:
                time.sleep(0.01)  # until the training is killed
            if step:
                time.sleep(0.25)

        child = started(run, Callbacks(on_run=slow), "fork")
        ring = child.new_plan(plan)
        say("child", child.pid)
        for step in range(2):
            fill(ring, plan, step)
        time.sleep(60)
        """,
    )
    script.kill_when("waiting")

    with open_run(tmp_path / "run") as saved:
        (gap,) = saved.gaps
    assert 0 < len(gap.counts) < 12
    assert {name.partition("(")[0] for name in gap.counts} == {"callback"}
    assert set(gap.counts.values()) == {1}
    assert f"{len(gap.counts)} calls of the callback are missing at step 1" in gap.message
    assert seen_steps(tmp_path / "run", "layer11.Act") == [0, 1]  # the records are there


def test_what_cannot_be_read_in_time_is_counted(tmp_path: Path, play: Play) -> None:
    script = play(
        """
        def take_long(name, step, tensor):
            time.sleep(0.4)

        child = started(run, Callbacks(on_run=take_long), "fork")
        ring = child.new_plan(plan)
        say("child", child.pid)
        for step in range(16):
            fill(ring, plan, step)
        say("filled")
        time.sleep(60)
        """,
    )
    script.kill_when("filled")

    steps = seen_steps(tmp_path / "run", "a.Act")
    assert len(steps) + num_lost(tmp_path / "run", "a.Act") == 16
    assert num_lost(tmp_path / "run", "a.Act")


# --- signals ---------------------------------------------------------------------------------------------


def test_ctrl_c_reaches_the_group_and_the_training_decides(tmp_path: Path, play: Play) -> None:
    script = play(
        """
        child = started(run)
        ring = child.new_plan(plan)
        say("child", child.pid)
        step = 0
        try:
            while True:
                if fill(ring, plan, step):
                    step += 1
                if step == 20:
                    say("filled")
                time.sleep(0.002)
        except KeyboardInterrupt:
            is_alive = child.is_alive()
            for step in range(step, step + 5):
                while not fill(ring, plan, step):
                    time.sleep(0.01)
            say("closed", is_alive, child.close(60, "KeyboardInterrupt"), step + 1)
        """,
    )
    script.hear_pid()
    script.hear("filled")

    os.killpg(script.process.pid, signal.SIGINT)

    was_alive, is_closed, count = script.hear("closed")
    assert (was_alive, is_closed) == ("True", "True")
    assert seen_steps(tmp_path / "run", "a.Act") == list(range(int(count)))
    code, _, err = script.end()
    assert code == 0
    assert "Traceback" not in err
    with open_run(tmp_path / "run") as saved:
        assert saved.state == "died"
        assert saved.status().reason == "KeyboardInterrupt"


def test_ctrl_c_while_the_child_begins_leaves_it_alive(tmp_path: Path, play: Play) -> None:
    script = play(
        """
        import signal, threading
        interrupted = []
        signal.signal(signal.SIGINT, lambda *_: interrupted.append(1))
        def interrupt():
            for _ in range(40):
                os.killpg(0, signal.SIGINT)
                time.sleep(0.01)
        thread = threading.Thread(target=interrupt)
        thread.start()
        child = started(run)
        thread.join()
        say("closed", child.is_alive(), bool(interrupted), child.close(60))
        """,
        fresh_children=True,
    )

    assert script.hear("closed") == ["True", "True", "True"]
    assert "Traceback" not in script.end()[2]


def test_a_child_that_is_asked_to_end_finishes_in_order_and_another_goes_on(
    tmp_path: Path, play: Play
) -> None:
    script = play(
        """
        import signal
        child = started(run)
        ring = child.new_plan(plan)
        feed(child, plan, range(10))
        first = child.pid
        os.kill(first, signal.SIGTERM)
        wait_until(lambda: child.poll() and False or child.pid != first, "another child")
        feed(child, plan, range(10, 20))
        say("closed", child.close(60))
        """,
    )

    assert script.hear("closed") == ["True"]
    script.end()
    assert seen_steps(tmp_path / "run", "a.Act") == list(range(20))
    assert num_lost(tmp_path / "run", "a.Act") == 0


# --- ways to start ---------------------------------------------------------------------------------------


FORKSERVER = pytest.param("forkserver", marks=pytest.mark.many)


@pytest.mark.parametrize("method", ["spawn", "fork", "None", FORKSERVER])
def test_each_start_method_calls_a_callback_of_the_script(method: str, tmp_path: Path, play: Play) -> None:
    script = play(
        """
        seen = []
        def see(name, step, tensor):
            assert os.getpid() != int(os.environ["TRAINING"])
            seen.append((name, step, type(tensor).__name__, tensor.tolist()[0][0]))

        def tell():
            say("seen", *seen[0], len(seen))

        if __name__ == "__main__":
            os.environ["TRAINING"] = str(os.getpid())
            method = None if sys.argv[2] == "None" else sys.argv[2]
            child = started(run, Callbacks(on_run=see, on_closing=tell), method)
            ring = child.new_plan(plan)
            say("child", child.pid)
            for step in range(3):
                fill(ring, plan, step)
            say("closed", child.close(60), child.is_alive())
        """,
        method,
    )

    pid = script.hear_pid()
    assert script.hear("seen") == ["a.Act", "0", "Tensor", "0.0", "6"]
    assert script.hear("closed") == ["True", "False"]
    assert script.end()[0] == 0
    assert not is_running(pid)
    assert seen_steps(tmp_path / "run", "a.Act") == [0, 1, 2]


@pytest.mark.parametrize("method", ["spawn", FORKSERVER])
def test_without_a_guard_there_is_a_clear_error_and_no_process_is_left(
    method: str, tmp_path: Path, play: Play
) -> None:
    script = play(
        """
        say("run", os.getpid())
        child = started(run, start_method=sys.argv[2])
        say("never")
        """,
        method,
        fresh=True,
    )

    code, out, err = script.end()

    assert code == 1
    assert "never" not in out
    assert "InspectorError" in err
    assert 'if __name__ == "__main__":' in err
    assert method in err
    assert 1 <= out.count("run") <= 3, "the script was run again and again"
    for line in out.splitlines():
        wait_until(lambda line=line: not is_running(int(line.split()[1])), "the end of all processes")  # type: ignore[misc]


def test_no_guard_is_needed_where_no_start_method_is_given(tmp_path: Path, play: Play) -> None:
    script = play(
        """
        say("run", os.getpid())
        child = started(run)
        feed(child, plan, range(0)) if child.new_plan(plan) else None
        feed(child, plan, range(3))
        say("closed", child.close(60), "torch" in sys.modules)
        """,
        fresh=True,
    )

    code, out, _ = script.end()

    assert code == 0
    assert out.split() == ["run", str(script.process.pid), "closed", "True", "False"]
    assert seen_steps(tmp_path / "run", "a.Act") == [0, 1, 2]


def test_the_child_needs_no_torch_and_holds_only_its_ring(tmp_path: Path, play: Play) -> None:
    script = play(FEEDING, fresh_children=True)
    pid = script.hear_pid()
    script.hear("filled")

    maps = Path(f"/proc/{pid}/maps").read_text()
    opened = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]

    assert "libtorch" not in maps
    assert maps.count("memfd:torcheer") == 1
    assert not [name for name in opened if "/dev/shm" in name]
    assert os.nice(0) < int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])
    script.kill()
