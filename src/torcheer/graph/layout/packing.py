"""Put the pieces of a group that no wire connects side by side."""

from __future__ import annotations

from math import sqrt

from torcheer.graph.layout.boxes import Spacing
from torcheer.graph.layout.pieces import Frame, Laid


def pack(laid: list[Laid], frame: Frame, spacing: Spacing) -> tuple[float, float]:
    """Put the parts side by side: those with ports in one row, then large ones, then small ones."""
    if len(laid) == 1:
        return laid[0].width, laid[0].bottom
    tallest = max(one.bottom for one in laid) - frame.top
    with_ports = [one for one in laid if one.has_ports]
    others = [one for one in laid if not one.has_ports]
    large = [one for one in others if one.bottom - frame.top > tallest / 2]
    small = [one for one in others if one.bottom - frame.top <= tallest / 2]
    x, bottom = 0.0, 0.0
    for one in with_ports:
        one.x = x
        x += one.width + spacing.between_parts
        bottom = max(bottom, one.bottom)
    for parts in (large, small):
        x, bottom = _shelve(parts, x, bottom, frame, spacing)
    return x - spacing.between_parts, bottom


def _shelve(
    parts: list[Laid], left: float, bottom: float, frame: Frame, spacing: Spacing
) -> tuple[float, float]:
    """Put parts in rows that together are about as wide as high."""
    if not parts:
        return left, bottom
    gap = spacing.between_parts
    area = sum((one.width + gap) * (one.bottom - frame.top + gap) for one in parts)
    most = max(sqrt(area * 1.6), max(one.width for one in parts))
    x = y = row_height = right = 0.0
    for one in parts:
        if x and x + one.width > most:
            x, y, row_height = 0.0, y + row_height + gap, 0.0
        one.x, one.y = left + x, y
        x += one.width + gap
        right = max(right, x)
        row_height = max(row_height, one.bottom - frame.top)
        bottom = max(bottom, y + one.bottom)
    return left + right, bottom
