"""A cache: the values that were asked for last, up to so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """For many threads. The last value stays, whatever its size. Where sizes are 1, it counts values."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self.num_bytes = 0

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._values

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Value, num_bytes: int = 1) -> None:
        """Also where its size has changed."""
        with self._lock:
            self.num_bytes += num_bytes - self._values.get(key, (None, 0))[1]
            self._values[key] = value, num_bytes
            self._values.move_to_end(key)
            while self.num_bytes > self._most_bytes and len(self._values) > 1:
                self.num_bytes -= self._values.popitem(last=False)[1][1]

    def drop(self, first: object) -> None:
        """Forget all whose key is a tuple that begins with this object."""
        with self._lock:
            for key in [key for key in self._values if isinstance(key, tuple) and key[0] is first]:
                self.num_bytes -= self._values.pop(key)[1]
