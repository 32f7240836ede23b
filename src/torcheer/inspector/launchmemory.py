"""What was told to a child and may not be on disk yet: told again to the next one, when it is killed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from torcheer.inspector.messages import Lost, Message, Numbers

_QUESTION_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 30.0  # after which it is asked again
_MOST_MESSAGES: Final = 20_000
_MOST_WAITING: Final = 2_000  # messages that the child has not taken


class Unsettled:
    """Messages in the order in which they were told, until the child says that they are on disk."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._num_settled, self._num_told = 0, 0  # of all there ever were
        self._ticket = 0
        self._asked: tuple[int, int] | None = None  # the ticket, and how many it stands for
        self._asked_at = 0.0
        self._too_many: dict[str, int] = {}  # numbers that were never sent, by name
        self._steps: list[int] = []  # theirs: the first and the last

    @property
    def are_many(self) -> bool:
        """Too many to keep them all in memory."""
        return len(self._messages) > _MOST_MESSAGES // 2

    def remember(self, message: Message, *, is_sent: bool = True) -> None:
        if not is_sent and len(self._messages) >= _MOST_MESSAGES:
            self._only_count(message)
            return
        self._messages.append(message)
        self._num_told += 1
        if len(self._messages) > _MOST_MESSAGES:  # they were sent; only a kill could lose them
            self._messages.popleft()
            self._num_settled += 1

    def remember_all(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.remember(message)

    def may_send(self, message: Numbers, num_waiting: int) -> bool:
        """False: the child has not listened for long. The numbers, which were told last, are only counted."""
        if num_waiting < _MOST_WAITING:
            return True
        self._messages.pop()
        self._num_told -= 1
        self._only_count(message)
        return False

    def _only_count(self, message: Message) -> None:
        counts: Mapping[str, int] = {}
        steps = self._steps
        if isinstance(message, Numbers):
            counts, steps = dict.fromkeys(message.values, 1), [message.step, *steps]
        elif isinstance(message, Lost):
            counts, steps = message.counts, [message.first_step, message.last_step, *steps]
        for name, count in counts.items():
            self._too_many[name] = self._too_many.get(name, 0) + count
        self._steps = [min(steps), max(steps)] if steps else []

    def overflow(self, num_waiting: int, num_told: int = 0) -> Lost | None:
        """What was only counted, as soon as the child listens again. `num_told`: numbers so far."""
        if not self._too_many or num_waiting:
            return None
        counts, self._too_many = self._too_many, {}
        (first, last), self._steps = self._steps, []
        return Lost(
            reason="full",
            counts=counts,
            first_step=first,
            last_step=last,
            time=time.time(),
            num_told=num_told,
        )

    def overflows(self) -> list[Lost]:
        """The same, where nobody will listen any more."""
        overflow = self.overflow(0)
        return [] if overflow is None else [overflow]

    def question(self, now: float) -> int | None:
        """The ticket with which to ask what is on disk, where it is time for that. They are below 0."""
        patience = _QUESTION_SECONDS if self._asked is None else _ANSWER_SECONDS
        if not self._messages or now - self._asked_at < patience:
            return None
        self._asked_at = now
        self._ticket -= 1
        self._asked = self._ticket, self._num_told
        return self._ticket

    def settle(self, ticket: int) -> None:
        """The answer came."""
        if self._asked is None or self._asked[0] != ticket:
            return
        count = self._asked[1]
        self._asked = None
        while self._num_settled < count and self._messages:
            self._messages.popleft()
            self._num_settled += 1

    def settle_all(self) -> None:
        """The child ended in order, and has written all that it was told."""
        self._num_settled += len(self._messages)
        self._messages.clear()
        self._asked = None

    def all_again(self) -> list[Message]:
        """For a new child."""
        self._asked = None
        self.remember_all(self.overflows())
        return list(self._messages)
