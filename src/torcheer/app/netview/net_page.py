"""The NetView of a run: served beside the program that records it, in a notebook, or as one HTML file.

A file of limited size holds values as they are where all of them fit, else as levels of two bytes. It has the
moments and items of which there are values, and its notes say what is not in it.
"""

from __future__ import annotations

import base64
import math
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy

from torcheer.app.html_page import (
    MAX_BYTES,
    MAX_NOTEBOOK_BYTES,
    Bundle,
    checked_bytes,
    frame_of,
    read_bundle,
    show_inline,
    write_file,
)
from torcheer.app.netview import net_messages as messages
from torcheer.app.netview.net_reader import (
    Found,
    Nets,
    RankNet,
    Stretch,
    find,
    levels_of,
    on_units,
    read_stretches,
    weight_mark,
    weight_series,
)
from torcheer.app.netview.net_values import look_at_scene, moments_of
from torcheer.app.passes.pass_page import escaped, joined
from torcheer.app.runs.open_run import ArrayCache, OpenRun, RunPlace
from torcheer.app.runs.run_messages import IndexAnswer, RunIndex, RunListing, RunsAnswer, SeriesListing
from torcheer.app.runs.run_shelf import Summary
from torcheer.app.server import address_of, announced
from torcheer.app.wire import as_json, clipped, countable
from torcheer.desktop import in_notebook
from torcheer.graph import PARTS, Progress
from torcheer.netview import RECEIVED, SENT, WEIGHT, Axes, axes_of_weights
from torcheer.run import Connection, RunReader, WarningsOnce
from torcheer.tensorfile import Array

_FURTHEST: Final = 4096  # what is wanted less than that is not considered: no file has room for it


class Wish(NamedTuple):
    """One variable at a moment: of an item in all layers, or of all weights."""

    moment: int  # its number, the first is 0
    variable: str  # Act; of weights Wt, Grad, Delta
    item: int
    is_of_weights: bool


def moments_in_order(num_moments: int) -> list[int]:
    """Their numbers: the last, the first, and then ever more, the nearer to the last the denser."""
    if num_moments < 2:
        return list(range(num_moments))
    last = num_moments - 1
    # 1, 2, 4, 8… from the end, then 3, 6, 12…, then 5, 10, 20…: by what is left without the factors of two.
    between = sorted(range(1, last), key=lambda far: (far // (far & -far), far))
    return [last, 0, *(last - far for far in between)]


def wishes(num_moments: int, variables: Sequence[str], weights: Sequence[str], num_items: int) -> list[Wish]:
    """All that a page could show, what is wanted most first. `weights` are variables of weights."""
    moments = moments_in_order(num_moments)
    ranked = [(name, False) for name in variables]
    # The weights themselves are what somebody looks at next.
    ranked[1:1] = [(name, True) for name in weights[:1]]
    ranked += [(name, True) for name in weights[1:]]
    found: list[tuple[int, int, Wish]] = []
    for rank, (name, is_of_weights) in enumerate(ranked):
        for item in range(1 if is_of_weights else num_items):
            distance = (1 + rank) * (1 + 2 * item)
            if distance > _FURTHEST:
                break
            for order, moment in enumerate(moments[: _FURTHEST // distance]):
                found.append((distance * (1 + order), order, Wish(moment, name, item, is_of_weights)))
    found.sort(key=lambda one: one[:2])
    return [wish for _, _, wish in found]


_LEAST_TO_DEFLATE: Final = 256
_WORTH_IT: Final = 0.9  # deflated, it must be that much smaller
_GONE: Final = "this record is damaged, or was thinned out this moment"


class Wanted(NamedTuple):
    """The values of a layer, or a weight as it was recorded."""

    stretch: Stretch
    found: Found | None  # None for a weight

    @property
    def key(self) -> tuple[str, Stretch]:
        return ("" if self.found is None else self.found.layer.name), self.stretch

    @property
    def num_values(self) -> int:
        return self.stretch.size if self.found is None else self.found.layer.grid.num_units


def _text(one: Wanted, numbers: Array, is_exact: bool) -> bytes:
    """Nothing of it means anything to HTML: it is numbers and base64."""
    mark = one.stretch.mark
    values, is_there = (numbers, None) if one.found is None else on_units(one.found, numbers)
    head: dict[str, object] = {"step": countable(mark.step) or 0, "count": len(values)}
    if is_exact and is_there is None:
        with numpy.errstate(all="ignore"):
            exact: Array = values.astype("<f4")
            if not numpy.all((exact == values) | (values != values)):  # four bytes do not hold them
                exact = values.astype("<f8")
        head["encoding"], data = f"f{exact.itemsize}", exact.tobytes()
    else:
        levels = levels_of(values, is_there)
        head |= {"encoding": "u2", "low": levels.low, "high": levels.high}
        data = levels.codes.astype("<u2", copy=False).tobytes()
    if len(data) >= _LEAST_TO_DEFLATE:
        deflated = zlib.compress(data)
        if len(deflated) < _WORTH_IT * len(data):
            head["deflated"], data = True, deflated
    return b"".join((as_json(head)[:-1], b',"data":"', base64.b64encode(data), b'"}'))


_RANK: Final = 0
_FRAME_BYTES: Final = 140  # of a frame besides the numbers of its pieces, at most
_NUMBER_BYTES: Final = 8
_REST_BYTES: Final = 6000  # of the run, of notes and names
_MOST_MISSES: Final = 16  # wishes for which there was no room
_PART_OF_A_WEIGHT: Final = 4  # one weight takes at most such a part of what is left
_HOPE: Final = 8  # more than so many times what there is room for is not even tried

Number = int | str | None  # of a piece; or why there is none; None where there was no room


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Subject:
    """A run as of now, and what a page could show of it."""

    net: RankNet
    scene: messages.NetSceneAnswer
    moments: messages.NetMomentsAnswer
    variables: Sequence[str]  # of layers, the one that is wanted most first
    weights: Sequence[str]  # their series
    whats: Sequence[str]  # variables of weights: Wt, Grad…
    axes: Sequence[Axes | None]  # for each connection, which weights lie between which units

    @property
    def num_moments(self) -> int:
        return len(self.moments.steps)

    @property
    def num_items(self) -> int:
        return max(1, self.scene.num_items)


def embedded_net(run: OpenRun, budget: int, max_bytes: int) -> tuple[list[bytes], bool]:
    """What a page says of a network: one JSON text, in pieces, in which nothing means anything to HTML; and
    whether it has no room for any of the values that there are.

    Layers, connections and variables are always in it. `budget` is what the page's limit, `max_bytes`,
    leaves for the data.
    """
    with run.lock:
        subject = _looked_at(run)
        fixed = as_json(
            (
                subject.scene,
                _moments_answer(subject, range(subject.num_moments)),
                subject.weights,
                subject.axes,
            )
        )
        room = budget - len(escaped(fixed)) - _REST_BYTES
        chosen = _chosen(subject, room) if max_bytes else _Chosen(subject, 0)
    summary = Summary(run)
    summary.update()
    # A file may be mailed: it does not say where it was made.
    listing = msgspec.structs.replace(summary.listing, host="", spark_name="", spark=(), metrics=(), tags=())
    return chosen.written(listing, max_bytes), chosen.has_no_room


def _chosen(subject: _Subject, room: int) -> _Chosen:
    """How small values become is known when they are written: so all of them are tried as they are, until
    one has no room."""
    wanted = wishes(subject.num_moments, subject.variables, subject.whats, subject.num_items)
    with Progress("writing the page", len(wanted), PARTS) as progress, subject.net.reader.holding():
        for is_exact, most_misses in ((True, 1), (False, _MOST_MISSES)):
            chosen = _Chosen(subject, room, is_exact=is_exact)
            num_misses = 0
            for num_done, wish in enumerate(wanted):
                progress.reach(num_done, len(wanted))
                if num_misses < most_misses:
                    is_put = chosen.put(wish)
                    num_misses += chosen.has_refused if is_exact else not is_put
            if not chosen.has_refused:
                break
        return chosen


def _looked_at(run: OpenRun) -> _Subject:
    nets = Nets()
    frames, _ = look_at_scene(
        nets, run, messages.NetSceneQuestion(id=0, run_id=run.place.id, rank=_RANK), None
    )
    scene = msgspec.json.decode(frames[0], type=messages.NetSceneAnswer)
    moments = moments_of(nets, run, messages.NetMomentsQuestion(id=0, run_id=run.place.id, rank=_RANK))
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
        axes=[
            _axes_of(net, one, moments.steps[-1] if moments.steps else 0) for one in scene.scene.connections
        ],
    )


def _axes_of(net: RankNet, connection: Connection, step: int) -> Axes | None:
    layers = net.net.layers
    shape: Sequence[int] = ()
    if connection.form == "attention":
        # A variable of a layer, each item of which has its own.
        named = [layer for (layer, _), series in net.net.series.items() if series == connection.weight]
        shape = layers[named[0]].shape if named else ()
    elif connection.weight:
        mark = weight_mark(net, connection.weight, step)
        shape = () if isinstance(mark, str) else mark.outline.shape
    source, target = layers.get(connection.source), layers.get(connection.target)
    if connection.form == "attention" and len(shape) == 2:
        shape = (1, *shape)  # a mean over heads has none of them
    if not shape or source is None or target is None:
        return None
    return axes_of_weights(connection, shape, source.shape, target.shape)


def _index_of(run_id: str) -> IndexAnswer:
    """What the list of runs needs to know: there is a network in it."""
    network = SeriesListing(
        kind="netview",
        name="netview",
        count=1,
        last_step=0,
        last_time=0.0,
        last_value=None,
        num_bad=0,
        first_bad_step=None,
        description="",
    )
    return IndexAnswer(id=0, runs=[RunIndex(run_id=run_id, is_all=True, series=[network])])


def _moments_answer(subject: _Subject, kept: Sequence[int]) -> messages.NetMomentsAnswer:
    """Nothing will come to a page that is one file."""
    now = subject.moments
    return msgspec.structs.replace(
        now,
        steps=[now.steps[at] for at in kept],
        times=[now.times[at] for at in kept],
        counters={name: [texts[at] for at in kept] for name, texts in now.counters.items()},
        is_running=False,
    )


class _Chosen:
    """What goes in. Filled wish by wish."""

    def __init__(self, subject: _Subject, room: int, *, is_exact: bool = False) -> None:
        self.has_refused = False  # something for which there was no room
        self._subject = subject
        self._is_exact = is_exact  # values go in as they are, not as levels
        self._left = room  # bytes
        self._texts: list[bytes] = []  # of pieces
        self._known: dict[tuple[str, Stretch], int | str] = {}  # numbers of pieces, or why there is none
        self._frames: list[bytes] = []  # of layers
        self._weights: list[bytes] = []
        self._variables: set[str] = set()  # of which there is something: Act, r.Wt…
        self._heavy: list[str] = []  # weights for which there was no room
        self._kept: set[int] = set()  # moments
        self._lost: set[int] = set()
        self._num_items = 0  # of the last moment

    @property
    def has_no_room(self) -> bool:
        return self.has_refused and not self._texts

    def put(self, wish: Wish) -> bool:
        """Layers all or none, but of the first wish those for which there is room. Weights each for which
        there is room: one is of use without the others. False where there was none."""
        if wish.moment in self._lost:
            return True
        subject, step = self._subject, self._subject.moments.steps[wish.moment]
        entries = self._weights_of(wish, step) if wish.is_of_weights else self._values_of(wish, step)
        wanted = [one for one in entries if isinstance(one, Wanted)]
        # Where everything goes in, nothing else needs what one weight takes.
        part = _PART_OF_A_WEIGHT if wish.is_of_weights and not self._is_exact else 1
        is_some = wish.is_of_weights or not self._frames
        is_main = not wish.is_of_weights and (wish.variable, wish.item) == (subject.variables[0], 0)
        whys = [one for one in entries if isinstance(one, str)]
        frame_bytes = _FRAME_BYTES + _NUMBER_BYTES * len(entries)
        frame_bytes += len(escaped(as_json(whys))) if whys else 0
        if not self._add(wanted, frame_bytes, part, is_some=is_some):
            self._lost |= {wish.moment} if is_main else set()
            return False
        pieces = [self._known.get(one.key) if isinstance(one, Wanted) else one for one in entries]
        has_some = any(isinstance(one, int) for one in pieces)
        if has_some:
            ends = (RECEIVED, SENT) if wish.is_of_weights else ("",)
            self._variables |= {end + wish.variable for end in ends}
        frame = {"step": step, "variable": wish.variable, "item": wish.item, "pieces": pieces}
        (self._weights if wish.is_of_weights else self._frames).append(escaped(as_json(frame)))
        self._kept |= {wish.moment} if is_main and not self.has_no_room else set()
        if wish.moment == subject.num_moments - 1:
            self._note_last(wish, pieces)
        return has_some or not wanted or not wish.is_of_weights

    def _note_last(self, wish: Wish, pieces: Sequence[Number]) -> None:
        if wish.is_of_weights and wish.variable == WEIGHT:
            weights = self._subject.weights
            self._heavy = [name for name, one in zip(weights, pieces, strict=True) if one is None]
        elif not wish.is_of_weights and wish.variable == self._subject.variables[0]:
            self._num_items += wish.item == self._num_items

    def _values_of(self, wish: Wish, step: int) -> list[Wanted | str | None]:
        entries: list[Wanted | str | None] = []
        for layer in self._subject.scene.scene.layers:
            found: Found | str | None = None
            if wish.variable in layer.variables:
                found = find(self._subject.net, layer.name, wish.variable, step, wish.item)
            entries.append(Wanted(found.stretch, found) if isinstance(found, Found) else found)
        return entries

    def _weights_of(self, wish: Wish, step: int) -> list[Wanted | str | None]:
        entries: list[Wanted | str | None] = []
        for weight in self._subject.weights:
            mark = weight_mark(self._subject.net, weight_series(weight, wish.variable), step)
            whole = None if isinstance(mark, str) else Stretch(mark, 0, math.prod(mark.outline.shape))
            entries.append(str(mark) if whole is None else Wanted(whole, None))
        return entries

    def _add(self, wanted: Sequence[Wanted], frame_bytes: int, part: int, *, is_some: bool) -> bool:
        """Pieces that are not there yet, the small ones first, each of at most one part in so many of what is
        left; and room for their frame. Nothing where one has no room, unless some of them are enough."""
        left, num_texts = self._left, len(self._texts)
        fresh = {one.key: one for one in wanted if one.key not in self._known}
        self._left -= frame_bytes
        is_full = self._left < 0 and bool(self._frames)
        for one in sorted(fresh.values(), key=lambda one: one.num_values):
            room = max(0, self._left) // part
            has_hope = one.num_values * (4 if self._is_exact else 2) <= _HOPE * room
            text = self._text(one) if has_hope and not is_full else b""
            if isinstance(text, str):
                self._known[one.key] = text
            elif 0 < len(text) < room:
                self._known[one.key] = len(self._texts)
                self._texts.append(text)
                self._left -= len(text) + 1
            else:
                self.has_refused = True
                is_full |= not is_some
        if is_full:
            self.has_refused = True
            self._left = left
            del self._texts[num_texts:]
            for key in fresh:
                self._known.pop(key, None)
        return not is_full

    def _text(self, one: Wanted) -> bytes | str:
        (numbers,) = read_stretches(self._subject.net.reader, [one.stretch])
        return _GONE if numbers is None else _text(one, numbers, self._is_exact)

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
            "runs": RunsAnswer(id=0, folder="", is_all=True, runs=[listing], gone=[], note=""),
            "index": _index_of(listing.id),
            "weights": subject.weights,
            "axes": subject.axes,
            "max_bytes": max_bytes,
            "is_exact": self._is_exact,
        }
        return [
            escaped(as_json(head))[:-1],
            *joined(b',"frames":[', self._frames),
            *joined(b'],"weight_frames":[', self._weights),
            *joined(b'],"pieces":[', self._texts),
            b"]}",
        ]

    def _is_shown(self, variable: str) -> bool:
        """Of attention there are weights where there are values of the layers that attend."""
        if variable in (RECEIVED + WEIGHT, SENT + WEIGHT):
            connections = self._subject.scene.scene.connections
            if any(one.form == "attention" and one.weight for one in connections):
                return True
        return not self._variables or variable in self._variables

    def _left_out(self, variables: Sequence[messages.NetVariable]) -> list[str]:
        names = [one.name for one in self._subject.scene.variables if one not in variables]
        names += self._heavy if RECEIVED + WEIGHT in self._variables else []
        return [f"Not in it: {clipped(', '.join(names), 200)}."] if names else []

    def _notes(self) -> list[str]:
        subject = self._subject
        parts = []
        for num, num_all, what in (
            (len(self._kept), subject.num_moments, "moments"),
            (max(1, self._num_items), subject.num_items, "items"),
        ):
            if num < num_all:
                parts.append(f"{num:,} of {num_all:,} {what}")
        notes = [f"In this file: {' and '.join(parts)}."] if parts else []
        if self._kept and not self._is_exact:
            notes.append("Values are rounded (≈).")
        return notes


_RUN: Final = "file"  # its id in a page that has no other
_FRONT_END: Final = "netfile"
_HEIGHT: Final = 720  # between the cells of a notebook, in pixels

_Path = str | os.PathLike[str]


def show_net(folder: _Path) -> str | None:
    """Show the network of this run: in the notebook, if this is one, as it is now; else in the browser, where
    the page goes on as the run does. Returns the address of that page."""
    if in_notebook():
        page = net_file_page(folder, max_bytes=MAX_NOTEBOOK_BYTES)
        show_inline(page, _HEIGHT, "A network and its values")
        return None
    return announced("The NetView is", net_address(folder))


def net_address(folder: _Path) -> str:
    """Where the NetView of this run is served, beside the program, until that ends."""
    return address_of(folder, "netview")


def net_file_page(folder: _Path, *, max_bytes: int = MAX_BYTES, bundle: Bundle | None = None) -> str:
    """The page as text. It has at most `max_bytes`, unless front end and structure alone take more."""
    return b"".join(_pieces(folder, checked_bytes(max_bytes), bundle or read_bundle(_FRONT_END))).decode()


def write_net_page(folder: _Path, path: _Path, *, max_bytes: int = MAX_BYTES) -> str:
    """Write the page to a file, which is there when it is whole; returns where it is."""
    max_bytes = checked_bytes(max_bytes)
    bundle = read_bundle(_FRONT_END)
    return write_file(path, lambda: _pieces(folder, max_bytes, bundle), "netview.html")


def _pieces(folder: _Path, max_bytes: int, bundle: Bundle) -> Sequence[bytes]:
    path = Path(os.path.abspath(folder))
    before, after = frame_of(bundle, path.name, "a network and its values", "torcheer-net")
    room = max_bytes - len(before) - len(after)
    run = OpenRun(RunPlace(id=_RUN, name=path.name, path=path), RunReader, ArrayCache(1))
    try:
        data, has_no_room = embedded_net(run, room, max_bytes)
    finally:
        run.close()
    pieces = [before, *data, after]
    if has_no_room:
        WarningsOnce().tell(
            f"there are no values in the page of {path.name}: max_bytes is {max_bytes:,}, and the page "
            f"without them takes {sum(map(len, pieces)):,}. Give a larger max_bytes."
        )
    return pieces
