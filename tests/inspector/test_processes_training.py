"""Real trainings that are watched, and real ends of them: the run says which, and no process is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.inspector.feeding import is_running, num_lost, seen_steps
from tests.inspector.test_processes import Play, play, wait_for_end
from torcheer.run import open_run

__all__ = ["play"]

MODEL = """
import torch, torcheer as tl
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def train_step(x):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""

ENDLESS = """
watcher = tl.watch(model, optimizer, run, every=1, budget=None, when_full="block")
say("child", watcher._parts[0].child.pid)
step = 0
while True:
    train_step(torch.randn(4, 8))
    step += 1
    if step == 30:
        say("trained")
    time.sleep(0.002)
"""


def reason_of(run: Path) -> tuple[str, str]:
    with open_run(run) as saved:
        return saved.state, saved.status().reason


def test_a_training_that_is_killed_leaves_a_run_with_all_its_steps(tmp_path: Path, play: Play) -> None:
    script = play(MODEL + ENDLESS, fresh_children=True)
    script.kill_when("trained")

    steps = seen_steps(tmp_path / "run", "0.weight.Grad")
    assert steps == list(range(len(steps)))
    assert len(steps) >= 30
    assert reason_of(tmp_path / "run") == ("died", "the training was killed")


def test_ctrl_c_flushes_everything(tmp_path: Path, play: Play) -> None:
    script = play(MODEL + ENDLESS)
    pid = script.hear_pid()
    script.hear("trained")

    os.killpg(script.process.pid, signal.SIGINT)
    _, _, err = script.end()

    assert err.count("Traceback") == 1
    assert "KeyboardInterrupt" in err
    assert not is_running(pid)
    steps = seen_steps(tmp_path / "run", "0.weight.Grad")
    assert steps == list(range(len(steps)))
    assert len(steps) >= 30
    assert reason_of(tmp_path / "run") == ("died", "KeyboardInterrupt")


def test_a_killed_child_of_a_real_training_is_replaced_and_all_steps_are_kept_or_counted(
    tmp_path: Path, play: Play
) -> None:
    script = play(
        MODEL
        + """
import signal
watcher = tl.watch(model, optimizer, run, every=1, budget=None)
first, steps = watcher._parts[0].child.pid, 0
while steps < 60 or watcher._parts[0].child.pid == first or not watcher.is_alive():
    train_step(torch.randn(4, 8))
    steps += 1
    watcher.log(made_up=float(steps))
    if steps == 30:
        os.kill(first, signal.SIGKILL)
    time.sleep(0.002)
watcher.close()
hooks = sum(len(module._forward_hooks) + len(module._backward_hooks) for module in model.modules())
say("trained", steps, watcher.num_restarts, hooks)
""",
    )

    steps, num_restarts, num_hooks = map(int, script.hear("trained"))

    assert (num_restarts, num_hooks) == (1, 0)
    run = tmp_path / "run"
    assert len(seen_steps(run, "0.weight.Grad")) + num_lost(run, "0.weight.Grad") == steps
    with open_run(run) as saved:
        assert saved.scalars("made_up").values.tolist() == list(range(1, steps + 1))
    assert reason_of(run) == ("finished", "")


def test_a_training_goes_on_while_its_child_stands_still_and_what_is_dropped_is_counted(
    tmp_path: Path, play: Play
) -> None:
    script = play(
        MODEL
        + """
import signal
watcher = tl.watch(model, optimizer, run, every=1, budget=None)
pid = watcher._parts[0].child.pid
for step in range(120):
    if step == 40:
        os.kill(pid, signal.SIGSTOP)
    train_step(torch.randn(4, 8))
num_waiting = watcher._parts[0].child.ring.num_waiting
os.kill(pid, signal.SIGCONT)
watcher.close()
say("trained", watcher.dropped["0.weight.Grad"], num_waiting, watcher.num_restarts)
""",
    )

    num_dropped, num_waiting, num_restarts = map(int, script.hear("trained"))

    # It did not wait: the ring was full, and stayed so.
    assert num_dropped >= 80 - num_waiting
    assert num_waiting > 0
    assert num_restarts == 0
    run = tmp_path / "run"
    assert num_lost(run, "0.weight.Grad") == num_dropped
    assert len(seen_steps(run, "0.weight.Grad")) == 120 - num_dropped


def test_a_program_that_simply_ends_has_a_finished_run_and_workers_change_nothing(
    tmp_path: Path, play: Play
) -> None:
    script = play(
        MODEL
        + """
from torch.utils.data import DataLoader

watcher = tl.watch(model, optimizer, run, every=1, budget=None)
say("child", watcher._parts[0].child.pid)
# Workers are forks of this process, and end before it does.
for batch in DataLoader(torch.randn(40, 8), batch_size=4, num_workers=2):
    train_step(batch)
""",
        fresh_children=True,
    )
    pid = script.hear_pid()

    code, _, err = script.end()

    assert (code, err) == (0, "")
    assert not is_running(pid)
    assert seen_steps(tmp_path / "run", "0.weight.Grad") == list(range(10))
    assert num_lost(tmp_path / "run", "0.weight.Grad") == 0
    assert reason_of(tmp_path / "run") == ("finished", "")


def test_what_is_logged_after_the_child_was_given_up_is_in_the_run(tmp_path: Path, play: Play) -> None:
    script = play(
        MODEL
        + """
import signal
watcher = tl.watch(model, optimizer, run, every=1, budget=None)
child, steps = watcher._parts[0].child, 0
after = 0
while after < 20:
    train_step(torch.randn(4, 8))
    watcher.log(loss=float(steps))
    steps += 1
    after += child.is_given_up
    if not child.is_given_up and child.is_alive():
        os.kill(child.pid, signal.SIGKILL)
    time.sleep(0.01)
watcher.close()
say("trained", steps)
""",
    )

    (steps,) = map(int, script.hear("trained"))
    script.end()

    run = tmp_path / "run"
    with open_run(run) as saved:
        losses = saved.scalars("loss")
        assert losses.steps.tolist() == losses.values.tolist() == list(range(steps))
    assert num_lost(run, "0.weight.Grad") > 0


@pytest.mark.parametrize("method", ["spawn"])
def test_without_a_guard_tl_watch_says_what_to_do(method: str, tmp_path: Path, play: Play) -> None:
    # It is run again in a fresh interpreter: without an optimizer, for which torch imports much.
    text = f"""
import torcheer as tl
from torch import nn
tl.watch(nn.Linear(8, 2), run=run, start_method={method!r})
"""
    script = play(text, fresh_children=True)

    code, _, err = script.end()

    assert code == 1
    assert "InspectorError" in err
    assert 'if __name__ == "__main__":' in err
    assert err.count("Traceback") == 1


def test_what_a_killed_training_could_not_say_any_more_is_counted(tmp_path: Path, play: Play) -> None:
    script = play(
        MODEL
        + """
import signal
watcher = tl.watch(model, optimizer, run, every=1, budget=None)
pid = watcher._parts[0].child.pid
say("child", pid)
for step in range(1000):
    train_step(torch.randn(4, 8))
    watcher.log(made_up=float(step))
    if step == 100:
        watcher.flush()
        os.kill(pid, signal.SIGSTOP)
time.sleep(0.7)  # a kill may take the last half second of what was logged
say("trained")
time.sleep(60)
""",
    )
    pid = script.hear_pid()
    script.hear("trained")

    script.kill()
    os.kill(pid, signal.SIGCONT)
    wait_for_end(pid)

    run = tmp_path / "run"
    for name in ("0.Act", "2.weight.Grad"):
        num_seen = len(seen_steps(run, name))
        assert 0 < num_seen < 1000
        assert num_seen + num_lost(run, name) == 1000
    with open_run(run) as saved:
        assert len(saved.scalars("made_up").steps) == 1000
