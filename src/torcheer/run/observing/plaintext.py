"""Text that can stand in a run: any, with half characters written out."""

from __future__ import annotations

from typing import Any

from torcheer.run.observations import Encoded
from torcheer.run.records import TextHead


def plain_text(value: Any) -> str:
    """Half of a character, as in the name of a file that is no text, cannot be written as UTF-8."""
    text = value if isinstance(value, str) else str(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def text_of(value: Any) -> str:
    """What somebody wants to read: text, or bytes that are text, or anything that can be written."""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    return plain_text(value)


def encode_text(text: str) -> Encoded:
    return Encoded(TextHead(num_characters=len(text)), text.encode())
