"""Saved passes: a shelf of files and folders, and a file as a source, read without torch."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

import msgspec
import numpy

from torcheer.app.passes.pass_values import PassValues, Read, StoredPass
from torcheer.app.passes.source import PassListing, PassSource
from torcheer.errors import FileFormatError, InputError
from torcheer.graph import (
    DOCUMENT_VERSION,
    NO_FIGURE,
    PassDocument,
    check_document,
    no_params_reason,
    readable_bytes,
)
from torcheer.run import LinkRule, links_within
from torcheer.tensorfile import (
    Figures,
    TensorBytes,
    TensorKind,
    TensorView,
    Window,
    figures_of,
    look_at,
    share_of,
)

_ENDING: Final = ".safetensors"
_MAX_PASSES: Final = 1000
_HEAD_BYTES: Final = 4096  # enough to see whose file it is


class SavedPasses:
    """Saved passes by the paths of their files, or of folders with such files in them."""

    def __init__(self, paths: Sequence[Path], links: LinkRule | None = None) -> None:
        self._paths = [Path(os.path.abspath(path)) for path in paths]
        self._base: Path | None = None  # the folder from which all names begin
        with suppress(ValueError):  # there is none, as on two drives
            folders = [path if path.is_dir() else path.parent for path in self._paths]
            self._base = Path(os.path.commonpath(folders))
        self._links = links or links_within(*self._paths)

    def listing(self) -> Sequence[PassListing]:
        return [listing for listing, _ in self._all()]

    def source(self, pass_id: str) -> PassSource | None:
        # By looking through the list: an id never becomes a path.
        found = next((path for listing, path in self._all() if listing.id == pass_id), None)
        return None if found is None else open_pass_file(found)

    def _all(self) -> list[tuple[PassListing, Path]]:
        """Each file once, in the order of the paths, those of a folder by their names."""
        found = []
        for file in dict.fromkeys(file for path in self._paths for file in _files(path, self._links)):
            with suppress(OSError):  # a file that has just gone
                found.append((self._listing(file, file.stat()), file))
        return found[:_MAX_PASSES]

    def _listing(self, file: Path, status: os.stat_result) -> PassListing:
        # The same while the file is the same, also for the next server; it tells nobody the path.
        text = f"{file}\0{status.st_size}\0{status.st_mtime_ns}".encode("utf-8", "surrogateescape")
        changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(status.st_mtime_ns // 10**9))
        return PassListing(
            id=hashlib.blake2s(text, digest_size=10).hexdigest(),
            name=str(file.relative_to(self._base) if self._base else file).removesuffix(_ENDING),
            detail=f"{readable_bytes(status.st_size)}, saved {changed}",
        )


def _files(path: Path, links: LinkRule) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    try:
        children = sorted(path.iterdir())
    except OSError:
        return  # a folder that has gone, or is closed to us, has no passes for now
    for child in children:
        if child.suffix == _ENDING and (not child.is_symlink() or links.allows(child)) and _is_pass(child):
            yield child


def _is_pass(path: Path) -> bool:
    """Whether a file says that it is one of ours: other tensors, such as weights, are not shown."""
    try:
        # A pipe would keep us waiting.
        if not path.is_file():
            return False
        with open(path, "rb") as file:
            return b'"torcheer.' in file.read(_HEAD_BYTES)
    except OSError:
        return False


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


_VERSION = 1  # of the file, as capture/keeping/stored.py has it
_METADATA_KEY = "torcheer.history"
_STRUCTURE = "torcheer.structure"
_DOCUMENT = "torcheer.document"
_MAX_TEXT_BYTES = 1 << 29

_decode_structure = msgspec.json.Decoder(StoredPass).decode


def open_pass_file(path: str | os.PathLike[str]) -> PassFile:
    """Open a pass that `history.save` wrote. Its values are read when they are asked for."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InputError(
            f"a saved pass is opened by a path such as 'pass.safetensors', not {path!r}."
        ) from None
    if sys.byteorder != "little":
        raise InputError("saved passes have the lowest byte first: this machine has it last.")
    if os.path.isdir(name):
        raise FileFormatError(
            f"{name} is no ordinary file but a folder: name a file that history.save wrote."
        )
    file = TensorBytes(name)
    _check_version(file)
    document = _document(file)
    text = _text(file, _STRUCTURE)
    try:
        structure = _decode_structure(text)
        check_document(document)
        values = PassValues(structure, file)
        return PassFile(file, _as_kept(document, values), values)
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise file.broken(f"its structure is wrong: {str(error)[:200]}") from error


def _check_version(file: TensorBytes) -> None:
    version = file.metadata.get(_METADATA_KEY)
    if version is None or _STRUCTURE not in file:
        raise file.broken(
            "it is a safetensors file without a pass in it", "Name a file that history.save wrote."
        )
    if not (version.isascii() and version.isdigit() and len(version) < 5) or version == "0":
        raise file.broken(f"its version is {version[:20]!r}")
    if int(version) > _VERSION:
        _refuse_newer(file, version, _VERSION)


def _refuse_newer(file: TensorBytes, version: object, known: int) -> NoReturn:
    what = f"it is in version {version} of the format, of a newer torcheer; this one knows {known}"
    raise file.broken(what, "Update torcheer: pip install --upgrade torcheer.")


def _document(file: TensorBytes) -> PassDocument:
    if _DOCUMENT not in file:
        raise file.broken(
            "it was saved by an older torcheer, without what a page needs",
            "Save it again: tl.load_history(path).save(path).",
        )
    text = _text(file, _DOCUMENT)
    try:
        return decode_document(text)
    except NewerDocumentError as error:
        _refuse_newer(file, error, DOCUMENT_VERSION)
    except ValueError as error:
        raise file.broken(str(error)) from error


def _text(file: TensorBytes, name: str) -> memoryview:
    if file.num_bytes(name) > _MAX_TEXT_BYTES:
        raise file.broken("its structure is larger than any that torcheer writes")
    return file.read_once(name).data


def _as_kept(document: PassDocument, values: PassValues) -> PassDocument:
    """The document with what the file really has: no values of parameters, for one."""
    if len(document.ops) != values.num_ops or [one.address for one in document.params] != values.params:
        raise ValueError("its document is that of another pass")
    replace = msgspec.structs.replace
    ops = [
        replace(op, has_value=values.has_output(i), has_grad=values.has_grad(i))
        for i, op in enumerate(document.ops)
    ]
    params = [replace(one, has_value=False, has_grad=values.has_grad(one.address)) for one in document.params]
    return replace(document, ops=ops, params=params)


class PassFile:
    """A pass in a file, by what the page asks of it."""

    def __init__(self, file: TensorBytes, document: PassDocument, values: PassValues) -> None:
        self._file = file
        self._document = document
        self._values = values
        self._figures: dict[tuple[str, int], Figures] = {}

    @property
    def name(self) -> str:
        return self._document.model_name

    def document(self) -> PassDocument:
        return self._document

    def tensor(self, kind: TensorKind, index: int, window: Window | None) -> tuple[TensorView, bytes] | str:
        read = self._read(kind, index)
        if isinstance(read, str):
            return read
        array, dtype, note = read
        return look_at(array, dtype, window, figures=self._figures_of(kind, index, read), note=note)

    def figures(self, name: str) -> list[float | None] | str:
        if name not in ("zeros", "nonfinite"):
            return NO_FIGURE.format(name=name[:20])
        shares: list[float | None] = []
        for op in range(len(self._document.ops)):
            known = self._figures.get(("output", op))
            if known is None:
                read = self._read("output", op)
                known = None if isinstance(read, str) else self._figures_of("output", op, read)
            shares.append(None if known is None else share_of(known, name))
        return shares

    def _figures_of(self, kind: str, index: int, read: Read) -> Figures:
        if (kind, index) not in self._figures:
            self._figures[kind, index] = figures_of(read[0], read[1])
        return self._figures[kind, index]

    def _read(self, kind: TensorKind, index: int) -> Read | str:
        entries = self._document.params if kind in ("param", "param_grad") else self._document.ops
        if not 0 <= index < len(entries):
            what = "parameter" if kind in ("param", "param_grad") else "op"
            raise InputError(f"there is no {what} number {index}: {len(entries)} is their number.")
        try:
            with numpy.errstate(all="ignore"):
                return self._read_kind(kind, index)
        except FileFormatError:
            raise
        except (ValueError, TypeError, IndexError, ArithmeticError) as error:
            raise self._file.broken(f"a value cannot be made of its parts ({str(error)[:120]})") from error
        except MemoryError:
            return "there is not enough memory to read it."

    def _read_kind(self, kind: TensorKind, index: int) -> Read | str:
        if kind == "output":
            return self._values.output(index, self._document.ops[index].label)
        if kind == "param":
            return no_params_reason()
        if kind == "grad":
            return self._values.grad(index, self._document.ops[index].label)
        address = self._document.params[index].address
        return self._values.grad(address, address)
