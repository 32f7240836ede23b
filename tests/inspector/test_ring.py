"""Shared memory, the ring in it, and the channel beside it."""

import gc
import os
import socket
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torcheer.inspector.frame_format import Plan, Row
from torcheer.inspector.protocol import (
    Channel,
    Close,
    NewPlan,
    Numbers,
    Raised,
    Ready,
    ToChild,
    ToParent,
    Wake,
)
from torcheer.inspector.ring import Ring


def channels(ours: socket.socket, theirs: socket.socket) -> tuple[Channel[ToParent], Channel[ToChild]]:
    return Channel(ours, ToParent), Channel(theirs, ToChild)


def num_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_two_who_hold_the_descriptor_see_the_same_bytes() -> None:
    one = Ring.of_size(2, 4096)
    other = Ring(os.dup(one.descriptor), 2, 4096)
    one.slot(1)[100:105] = b"hello"
    assert other.slot(1)[100:105] == b"hello"
    one.close()
    assert other.slot(1)[100:105] == b"hello"
    other.close()


def test_memory_has_no_name_that_could_be_left_behind() -> None:
    before = set(os.listdir("/dev/shm"))
    ring = Ring.of_size(1, 1 << 20)
    assert set(os.listdir("/dev/shm")) == before
    ring.close()


def test_nothing_is_left_of_rings_that_are_closed() -> None:
    gc.collect()
    before = num_descriptors()
    for _ in range(20):
        ring = Ring.of_size(4, 4096)
        view = numpy.frombuffer(ring.slot(0), "u1")
        ring.close()
        del view
    del ring
    gc.collect()
    assert num_descriptors() == before


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 5))
def test_what_is_put_into_a_ring_comes_out_once_and_in_order(moves: list[bool], num_slots: int) -> None:
    filling = Ring.of_size(num_slots, 64)
    emptying = Ring(os.dup(filling.descriptor), num_slots, 64)
    put, taken = [], []
    for number, is_put in enumerate(moves):
        if is_put and filling.num_waiting < filling.num_slots:
            filling.slot(filling.num_filled)[:8] = number.to_bytes(8, "little")
            filling.publish()
            put.append(number)
        elif not is_put and emptying.num_waiting:
            taken.append(int.from_bytes(emptying.slot(emptying.num_given_back)[:8], "little"))
            emptying.give_back()
    assert filling.num_waiting == len(put) - len(taken) <= num_slots
    assert taken == put[: len(taken)]
    filling.close()
    emptying.close()


def test_messages_come_as_they_were_sent_and_bring_their_descriptors() -> None:
    ours, theirs = socket.socketpair()
    parent, child = channels(ours, theirs)
    ring = Ring.of_size(1, 4096)
    ring.slot(0)[:3] = b"abc"
    row = Row(name="a.Act", layer="a", variable="Act", role="activation")
    plan = Plan(number=3, rows=(row,), sample_elements=8, num_slots=2)
    parent.send(Numbers(step=-3, time=1.5, values={"loss": float("nan")}))
    parent.send(NewPlan(plan=plan), ring.descriptor)
    parent.send(Wake())
    ring.close()

    heard = list(child.hear())
    assert [type(message) for message in heard] == [Numbers, NewPlan, Wake]
    assert heard[1] == NewPlan(plan=plan)
    received = Ring(child.take_descriptor(), 1, 4096)
    assert received.slot(0)[:3] == b"abc"
    received.close()
    child.send(Ready())
    assert list(parent.hear()) == [Ready()]
    parent.close()
    assert list(child.hear()) == []
    assert not child.is_open
    child.close()


def test_a_training_never_waits_for_a_child_that_does_not_listen() -> None:
    ours, theirs = socket.socketpair()
    parent, child = channels(ours, theirs)
    sent = [
        Numbers(step=step, time=0.0, values={f"name {n}": 1.0 for n in range(100)}) for step in range(2000)
    ]
    for message in sent:
        parent.send(message)
    assert parent.num_waiting > 0

    heard = []
    while len(heard) < len(sent):
        heard += child.hear()
        parent.pump()
    assert heard == sent
    parent.close()
    child.close()


def test_descriptors_that_were_never_taken_are_closed() -> None:
    gc.collect()
    before = num_descriptors()
    ours, theirs = socket.socketpair()
    parent, child = channels(ours, theirs)
    ring = Ring.of_size(1, 4096)
    plan = Plan(number=0, rows=(), sample_elements=8, num_slots=2)
    for _ in range(3):
        parent.send(NewPlan(plan=plan), ring.descriptor)
    assert len(list(child.hear())) == 3
    ring.close()
    parent.close()
    child.close()
    assert num_descriptors() == before


def test_a_message_that_is_none_ends_the_talk_and_takes_no_memory() -> None:
    ours, theirs = socket.socketpair()
    child: Channel[ToChild] = Channel(theirs, ToChild)
    ours.send(b"\xff\xff\xff\xff" + b"rubbish")
    assert list(child.hear()) == []
    assert not child.is_open
    ours.close()
    child.close()


@pytest.mark.parametrize("message", [Close(reason="it died"), Wake()])
def test_words_to_the_child_are_no_words_to_the_parent(message: Close | Wake) -> None:
    ours, theirs = socket.socketpair()
    parent, child = channels(ours, theirs)
    parent.send(message)
    assert list(child.hear()) == [message]
    raised = Raised(
        alarm="nan", layer="a", variable="Act", step=1, time=0.0, value=None, threshold=None, message="NaN"
    )
    child.send(raised)
    assert list(parent.hear()) == [raised]
    parent.close()
    child.close()
