"""Wait until something can be read or written. With `poll`: `select` knows no descriptors above 1,023."""

from __future__ import annotations

import select


def wait_for(descriptor: int, seconds: float, *, reading: bool = True, writing: bool = False) -> bool:
    """Whether it can be, or the other side is gone."""
    poll = select.poll()
    poll.register(descriptor, reading * select.POLLIN | writing * select.POLLOUT)
    return bool(poll.poll(1000 * seconds))
