"""A film of at most so many frames that spans all of a training, however long that becomes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from torcheer.inspector.recording.colours import Pixels
from torcheer.inspector.recording.films.film import Film

# An odd number: see the marks of `h264.Encoder`.
_THIN_BY: Final = 3

Draw = Callable[[], Pixels]


class SpanningFilm:
    """Takes every frame, then every third, every ninth…; those taken before are thinned alike.

    The last one given, if it was not taken, waits: it is drawn when the film is finished, and is the first to
    go when the film goes on.
    """

    def __init__(self, film: Film, max_frames: int) -> None:
        self._film = film
        self._max_frames = max_frames
        self._stride = 1
        self._num_given = 0
        self._waiting: tuple[int, Draw] | None = None
        self._has_extra = False  # the last frame is there out of turn

    @property
    def path(self) -> Path:
        return self._film.path

    def add(self, step: int, draw: Draw) -> None:
        """Whatever is not drawn now may be drawn later: `draw` must not need anything that changes."""
        place = self._num_given
        self._num_given += 1
        self._remove_extra()
        if place % self._stride == 0 and self._film.num_frames >= self._max_frames:
            self._thin()
        if place % self._stride:
            self._waiting = step, draw
            return
        self._waiting = None
        self._film.append(draw(), step)

    def finish(self) -> None:
        if self._waiting is not None:
            step, draw = self._waiting
            if self._film.num_frames >= self._max_frames:
                self._make_room()
            self._film.append(draw(), step)
            # A film of a single frame has no other that it could be out of turn with.
            self._waiting, self._has_extra = None, self._max_frames > 1
        self._film.finish()

    def _remove_extra(self) -> None:
        if self._has_extra:
            self._film.keep(range(self._film.num_frames - 1))
            self._has_extra = False

    def _thin(self) -> None:
        """Until there is room again. Of a single frame nothing can be left out: the first one stays."""
        self._film.keep(range(0, self._film.num_frames, _THIN_BY))
        self._stride *= _THIN_BY

    def _make_room(self) -> None:
        if self._max_frames > 1:
            self._thin()
        else:
            self._film.keep(())
