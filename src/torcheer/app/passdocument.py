"""Read the document of a pass from JSON that need not be what it says it is."""

from __future__ import annotations

import msgspec

from torcheer.graph import DOCUMENT_VERSION, PassDocument, check_document

_decode = msgspec.json.Decoder(PassDocument).decode


class NewerDocumentError(ValueError):
    """It was written by a newer torcheer. The message is the version it has."""


class _Versioned(msgspec.Struct, frozen=True):
    """All that is needed to say that a document is too new."""

    version: int = 1


def decode_document(text: bytes | memoryview) -> PassDocument:
    """The document, not checked yet. ValueError says what is wrong with it."""
    try:
        version = msgspec.json.decode(text, type=_Versioned).version
        if version > DOCUMENT_VERSION:
            raise NewerDocumentError(str(version))
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"its document is wrong: {str(error)[:200]}") from error


def without_values(document: PassDocument) -> PassDocument:
    """The document of a pass whose tensors are not kept. ValueError where it cannot be shown."""
    check_document(document)
    replace = msgspec.structs.replace
    ops = [replace(op, has_value=False, has_grad=False) for op in document.ops]
    params = [replace(param, has_value=False, has_grad=False) for param in document.params]
    return replace(document, ops=ops, params=params)
