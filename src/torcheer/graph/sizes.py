"""Numbers as people read them."""

from __future__ import annotations


def readable_bytes(num_bytes: float) -> str:
    """`4.8 MB`: powers of 1024, one decimal."""
    size = float(num_bytes)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(size) < 1024 or unit == "TB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


def readable_count(count: int | None) -> str:
    """`1.43 G`: powers of 1000, three digits; a dash for what is not defined."""
    if count is None:
        return "–"
    value = float(count)
    for unit in ("", "K", "M", "G", "T", "P"):
        if abs(value) < 1000 or unit == "P":
            return f"{count}" if not unit else f"{value:.3g} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def readable_seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds * 1e6:.0f} µs"
