"""Choose what of a run's network goes into a page of limited size, and write it as JSON.

Values go in as they are where all of them fit, else as levels of two bytes. The page has the moments and the
items of which there are values, and its notes say what is not in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from torcheer.app.embedding import escaped
from torcheer.app.frames import as_json
from torcheer.app.netmessages import (
    NetMomentsAnswer,
    NetMomentsQuestion,
    NetSceneAnswer,
    NetSceneQuestion,
    NetVariable,
)
from torcheer.app.netpieces import Number, Pieces, Wanted
from torcheer.app.netwishes import Wish, wishes
from torcheer.app.runmessages import RunListing
from torcheer.app.runs.listing import clipped, countable, finite
from torcheer.app.runs.netfeed import look_at_scene
from torcheer.app.runs.netfinding import Found, Stretch, find
from torcheer.app.runs.netmoments import Moments, moments_of
from torcheer.app.runs.netranges import weight_series
from torcheer.app.runs.nets import Nets, RankNet
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.summary import Summary
from torcheer.netview import RECEIVED, SENT, WEIGHT

_RANK: Final = 0
_FRAME_BYTES: Final = 140  # of a frame besides the numbers of its pieces, at most
_NUMBER_BYTES: Final = 8
_REST_BYTES: Final = 6000  # of the run, of notes and names
_MOST_MISSES: Final = 16  # wishes for which there was no room
_PART_OF_A_WEIGHT: Final = 4  # one weight takes at most such a part of what is left


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Subject:
    """A run as of now, and what a page could show of it."""

    net: RankNet
    scene: NetSceneAnswer
    moments: Moments
    variables: Sequence[str]  # of layers, the one that is wanted most first
    weights: Sequence[str]  # their series
    whats: Sequence[str]  # variables of weights: Wt, Grad…

    @property
    def num_moments(self) -> int:
        return len(self.moments.steps)

    @property
    def num_items(self) -> int:
        return max(1, self.scene.num_items)

    def step(self, moment: int) -> int:
        return int(self.moments.steps[moment])


class EmbeddedNet(NamedTuple):
    """What a page says of a network: one JSON text, in pieces, in which nothing means anything to HTML."""

    data: list[bytes]
    has_no_room: bool  # for any of the values that there are


def embedded_net(
    run: OpenRun, budget: int, max_bytes: int, on_written: Callable[[int], None] = lambda _: None
) -> EmbeddedNet:
    """Layers, connections and variables are always in it. `budget` is what the page's limit, `max_bytes`,
    leaves for the data."""
    with run.lock:
        subject = _looked_at(run)
        fixed = as_json(
            (subject.scene, _moments_answer(subject, range(subject.num_moments)), subject.weights)
        )
        room = budget - len(escaped(fixed)) - _REST_BYTES
        chosen = _chosen(subject, room, on_written) if max_bytes else _Chosen(subject, 0, on_written)
    return EmbeddedNet(chosen.written(_listing(run), max_bytes), chosen.has_no_room)


def _chosen(subject: _Subject, room: int, on_written: Callable[[int], None]) -> _Chosen:
    """How small values become is known when they are written: so all of them are tried as they are, until
    one has no room."""
    exact = _Chosen(subject, room, on_written, is_exact=True)
    if exact.put_everything():
        return exact
    exact.take_back()
    rounded = _Chosen(subject, room, on_written)
    rounded.put_all()
    return rounded


def _looked_at(run: OpenRun) -> _Subject:
    nets = Nets()
    frames = look_at_scene(nets, run, NetSceneQuestion(id=0, run_id=run.place.id, rank=_RANK), None).frames
    scene = msgspec.json.decode(frames[0], type=NetSceneAnswer)
    moments = moments_of(nets, run, NetMomentsQuestion(id=0, run_id=run.place.id, rank=_RANK))
    net = nets.look(run, _RANK)
    of_layers = {name for layer in scene.scene.layers for name in layer.variables}
    weights = [one.weight for one in scene.scene.connections if one.weight and one.form != "attention"]
    return _Subject(
        net=net,
        scene=scene,
        moments=moments,
        variables=[one.name for one in scene.variables if one.name in of_layers],
        weights=[name for name in dict.fromkeys(weights) if name in net.index.series],
        whats=[one.removeprefix(RECEIVED) for one in net.net.weight_variables if one.startswith(RECEIVED)],
    )


def _moments_answer(subject: _Subject, kept: Sequence[int]) -> NetMomentsAnswer:
    """Nothing will come to a page that is one file."""
    now = subject.moments
    return NetMomentsAnswer(
        id=0,
        is_all=True,
        steps=[countable(subject.step(at)) or 0 for at in kept],
        times=[finite(float(now.times[at])) or 0.0 for at in kept],
        counters={name: [texts[at] for at in kept] for name, texts in now.counters.items()},
        ranges=now.ranges,
        is_running=False,
    )


def _listing(run: OpenRun) -> RunListing:
    """What the page shows of the run. A file may be mailed: it does not say where it was made."""
    summary = Summary(run)
    summary.update()
    return msgspec.structs.replace(summary.listing, host="", spark_name="", spark=(), metrics=(), tags=())


class _Chosen:
    """What goes in. Filled wish by wish."""

    def __init__(
        self, subject: _Subject, room: int, on_written: Callable[[int], None], *, is_exact: bool = False
    ) -> None:
        self._subject = subject
        self._on_written = on_written
        self._pieces = Pieces(subject.net.reader, room, on_written, is_exact=is_exact)
        self._frames: list[bytes] = []  # of layers
        self._weights: list[bytes] = []
        self._variables: set[str] = set()  # of which there is something: Act, r.Wt…
        self._heavy: list[str] = []  # weights for which there was no room
        self._kept: set[int] = set()  # moments
        self._lost: set[int] = set()
        self._num_items = 0  # of the last moment

    @property
    def has_no_room(self) -> bool:
        return self._pieces.has_refused and not self._pieces.texts

    def put_everything(self) -> bool:
        """False, and half done, where something has no room."""
        for wish in self._wishes():
            self._put(wish)
            if self._pieces.has_refused:
                return False
        return True

    def put_all(self) -> None:
        """All for which there is room."""
        num_misses = 0
        for wish in self._wishes():
            if num_misses < _MOST_MISSES and wish.moment not in self._lost:
                num_misses += not self._put(wish)

    def take_back(self) -> None:
        """Something else is written instead."""
        self._on_written(-sum(len(text) for text in self._pieces.texts))

    def _wishes(self) -> list[Wish]:
        subject = self._subject
        return wishes(subject.num_moments, subject.variables, subject.whats, subject.num_items)

    def _put(self, wish: Wish) -> bool:
        return self._put_weights(wish) if wish.is_of_weights else self._put_values(wish)

    def _put_values(self, wish: Wish) -> bool:
        """All layers or none; but of the first wish, all for which there is room."""
        subject = self._subject
        net, step = subject.net, subject.step(wish.moment)
        entries: list[Number | Found] = [
            find(net.net, net.index, layer.name, wish.variable, step, wish.item)
            if wish.variable in layer.variables
            else None
            for layer in subject.scene.scene.layers
        ]
        wanted = [Wanted(one.stretch, one) for one in entries if isinstance(one, Found)]
        self._pieces.left -= (frame_bytes := _frame_bytes(entries))
        numbers = self._pieces.put_all(wanted)
        is_main = wish.variable == subject.variables[0] and wish.item == 0
        if numbers is None and self._frames:
            self._pieces.left += frame_bytes
            self._lost |= {wish.moment} if is_main else set()
            return False
        if numbers is None:
            numbers = self._pieces.put_some(wanted, 1)
        rest = iter(numbers)
        pieces = [next(rest) if isinstance(one, Found) else one for one in entries]
        self._add(self._frames, wish, pieces)
        self._kept |= {wish.moment} if is_main and not self.has_no_room else set()
        if wish.variable == subject.variables[0] and wish.moment == subject.num_moments - 1:
            self._num_items += wish.item == self._num_items
        return True

    def _put_weights(self, wish: Wish) -> bool:
        """Each for which there is room: a weight is of use without the others."""
        entries: list[Wanted | str] = [self._weight(name, wish) for name in self._subject.weights]
        wanted = [one for one in entries if isinstance(one, Wanted)]
        if (frame_bytes := _frame_bytes(entries)) > self._pieces.left:
            self._pieces.has_refused = True
            return False
        self._pieces.left -= frame_bytes
        # Where everything goes in, nothing else needs what one weight takes.
        part = 1 if self._pieces.is_exact else _PART_OF_A_WEIGHT
        rest = iter(self._pieces.put_some(wanted, part))
        pieces = [next(rest) if isinstance(one, Wanted) else one for one in entries]
        self._add(self._weights, wish, pieces)
        if (wish.variable, wish.moment) == (WEIGHT, self._subject.num_moments - 1):
            weights = self._subject.weights
            self._heavy = [name for name, one in zip(weights, pieces, strict=True) if one is None]
        return not wanted or any(isinstance(one, int) for one in pieces)

    def _weight(self, weight: str, wish: Wish) -> Wanted | str:
        name = weight_series(weight, wish.variable)
        series = self._subject.net.index.series.get(name)
        mark = None if series is None else series.last_up_to(self._subject.step(wish.moment))
        if series is None:
            return f"{name} was not recorded"
        if mark is None:
            return f"{name} was first recorded at step {series.marks[0].step}"
        return Wanted(Stretch(mark, 0, math.prod(mark.outline.shape)), None)

    def _add(self, frames: list[bytes], wish: Wish, pieces: Sequence[Number]) -> None:
        if any(isinstance(one, int) for one in pieces):
            ends = (RECEIVED, SENT) if wish.is_of_weights else ("",)
            self._variables |= {end + wish.variable for end in ends}
        step = countable(self._subject.step(wish.moment)) or 0
        frame = {"step": step, "variable": wish.variable, "item": wish.item, "pieces": pieces}
        frames.append(escaped(as_json(frame)))

    # --- as JSON -------------------------------------------------------------------------------------

    def written(self, listing: RunListing, max_bytes: int) -> list[bytes]:
        subject = self._subject
        # Where no values have room, the last moment is there to say so.
        kept = sorted(self._kept) or range(subject.num_moments)[-1:]
        variables = [one for one in subject.scene.variables if self._is_shown(one.name)]
        said = [subject.scene.note, *self._notes(), *self._left_out(variables)]
        scene = msgspec.structs.replace(
            subject.scene,
            variables=variables,
            num_items=max(1, self._num_items),
            ranks=[_RANK],
            note=" ".join(filter(None, said)),
        )
        head = {
            "scene": scene,
            "moments": _moments_answer(subject, kept),
            "run": listing,
            "weights": subject.weights,
            "max_bytes": max_bytes,
            "is_exact": self._pieces.is_exact,
        }
        return [
            escaped(as_json(head))[:-1],
            *_joined(b',"frames":[', self._frames),
            *_joined(b'],"weight_frames":[', self._weights),
            *_joined(b'],"pieces":[', self._pieces.texts),
            b"]}",
        ]

    def _is_shown(self, variable: str) -> bool:
        """Of attention there are weights where there are values of the layers that attend."""
        is_attention = variable in (RECEIVED + WEIGHT, SENT + WEIGHT) and self._has_attention
        return not self._variables or variable in self._variables or is_attention

    @property
    def _has_attention(self) -> bool:
        return any(one.form == "attention" and one.weight for one in self._subject.scene.scene.connections)

    def _left_out(self, variables: Sequence[NetVariable]) -> list[str]:
        names = [one.name for one in self._subject.scene.variables if one not in variables]
        names += self._heavy if RECEIVED + WEIGHT in self._variables else []
        return [f"Not in it: {clipped(', '.join(names), 200)}."] if names else []

    def _notes(self) -> list[str]:
        """What a reader must know: how much of the run is in the file."""
        subject = self._subject
        parts = []
        for num, num_all, what in (
            (len(self._kept), subject.num_moments, "moments"),
            (max(1, self._num_items), subject.num_items, "items"),
        ):
            if num < num_all:
                parts.append(f"{num:,} of {num_all:,} {what}")
        notes = [f"In this file: {' and '.join(parts)}."] if parts else []
        if self._kept and not self._pieces.is_exact:
            notes.append("Values are rounded (≈).")
        return notes


def _frame_bytes(entries: Sequence[object]) -> int:
    whys = [one for one in entries if isinstance(one, str)]
    return _FRAME_BYTES + _NUMBER_BYTES * len(entries) + (len(escaped(as_json(whys))) if whys else 0)


def _joined(before: bytes, parts: Sequence[bytes]) -> list[bytes]:
    return [before, *(b"," + part if at else part for at, part in enumerate(parts))]
