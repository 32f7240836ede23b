"""Read plain data and numpy's arrays out of a pickle, without unpickling it.

A pickle is a program: what `pickle.load` runs may import and call anything. Here pickletools decodes the
opcodes, which runs nothing, and only those that make plain data are carried out. A name in the file is never
imported: it is looked up in a table of a few known ones, and what they stand for is done in picklednumpy.py.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from typing import Any, Final

from torcheer.errors import FileFormatError
from torcheer.training.data.picklednumpy import BLANKS, Known, build, call, known_name

_MAX_OPCODES: Final = 4_000_000  # the largest file of CIFAR-100 has 300,000; each may take some 70 bytes
_KEYS: Final = (str, bytes, int)  # the hash of anything else may take forever to compute


class RefusedPickle(ValueError):  # noqa: N818 - caught below, never seen outside
    """The file asks for more than data."""


def read_plain_pickle(content: bytes, source: str) -> Any:
    """Dicts, lists, tuples, texts, bytes, whole numbers and arrays; anything else is refused by its name.

    `source` is what errors call the file. No size that the file declares is allocated before as many bytes
    are seen to be there.
    """
    machine = _Machine()
    try:
        return machine.run(content)
    except RefusedPickle as error:
        raise FileFormatError(
            f"{source} is refused, nothing of it was run: {error}, and a data set has no need of it. Get the "
            "file again from where it is published."
        ) from None
    except (ValueError, LookupError, TypeError, OverflowError) as error:
        raise FileFormatError(
            f"{source} is no pickle of a data set, or is damaged: {error}. Get the file again from where it "
            "is published."
        ) from error


class _Machine:
    """The stack, the marks on it, and the memo that a pickle works with."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(io.BytesIO(content))):
            if number >= _MAX_OPCODES:
                raise RefusedPickle(f"it has more than {_MAX_OPCODES:,} instructions")
            step = _STEPS.get(opcode.name)
            if step is None:
                named = f" {_quoted(str(argument))}" if isinstance(argument, str) else ""
                raise RefusedPickle(f"it has the instruction {opcode.name}{named}")
            step(self, argument)
        if len(self.stack) != 1 or self.marks:
            raise ValueError("it ends in the middle")
        return self.stack[0]

    def pop(self) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise ValueError("it takes what it never put there")
        return self.stack.pop()

    def pop_to_mark(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def top(self, kind: type) -> Any:
        """What the next instruction adds to."""
        item = self.pop()
        if type(item) is not kind:
            raise ValueError(f"something is added to what is no {kind.__name__}")
        self.stack.append(item)
        return item


# --- the instructions ------------------------------------------------------------------------------------


def _nothing(machine: _Machine, argument: Any) -> None:
    pass


def _push(machine: _Machine, argument: Any) -> None:
    machine.stack.append(argument)


def _push_new(make: Callable[[], Any]) -> Callable[[_Machine, Any], None]:
    return lambda machine, argument: machine.stack.append(make())


def _mark(machine: _Machine, argument: Any) -> None:
    machine.marks.append(len(machine.stack))


def _pop(machine: _Machine, argument: Any) -> None:
    if machine.marks and machine.marks[-1] == len(machine.stack):
        machine.marks.pop()
    else:
        machine.pop()


def _pop_to_mark(machine: _Machine, argument: Any) -> None:
    machine.pop_to_mark()


def _duplicate(machine: _Machine, argument: Any) -> None:
    item = machine.pop()
    machine.stack += [item, item]


def _put(machine: _Machine, argument: int | None) -> None:
    item = machine.pop()
    machine.stack.append(item)
    machine.memo[len(machine.memo) if argument is None else argument] = item


def _get(machine: _Machine, argument: int) -> None:
    item = machine.memo[argument]
    # An array is remembered before its numbers come.
    machine.stack.append(item.made if isinstance(item, BLANKS) and item.made is not None else item)


def _tuple_of(size: int) -> Callable[[_Machine, Any], None]:
    def step(machine: _Machine, argument: Any) -> None:
        items = [machine.pop() for _ in range(size)]
        machine.stack.append(tuple(reversed(items)))

    return step


def _append(machine: _Machine, argument: Any) -> None:
    item = machine.pop()
    machine.top(list).append(item)


def _extend(machine: _Machine, argument: Any) -> None:
    items = machine.pop_to_mark()
    machine.top(list).extend(items)


def _set_item(machine: _Machine, argument: Any) -> None:
    value, key = machine.pop(), machine.pop()
    _fill(machine.top(dict), [key, value])


def _set_items(machine: _Machine, argument: Any) -> None:
    items = machine.pop_to_mark()
    _fill(machine.top(dict), items)


def _make_dict(machine: _Machine, argument: Any) -> None:
    filled: dict[Any, Any] = {}
    _fill(filled, machine.pop_to_mark())
    machine.stack.append(filled)


def _fill(target: dict[Any, Any], items: list[Any]) -> None:
    for key, value in zip(items[::2], items[1::2], strict=True):
        if type(key) not in _KEYS:
            raise ValueError(f"a key is no text but a {type(key).__name__}")
        target[key] = value


def _name(machine: _Machine, argument: str) -> None:
    _push_known(machine, *argument.split(" ", 1))


def _name_from_stack(machine: _Machine, argument: Any) -> None:
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str:
        raise ValueError("a name is no text")
    _push_known(machine, module, name)


def _push_known(machine: _Machine, module: str, name: str = "") -> None:
    known = known_name(module, name)
    if known is None:
        raise RefusedPickle(f"it asks for {_quoted(f'{module}.{name}')}")
    machine.stack.append(known)


def _call(machine: _Machine, argument: Any) -> None:
    arguments, what = machine.pop(), machine.pop()
    if not isinstance(what, Known) or type(arguments) is not tuple:
        raise ValueError("it calls what cannot be called")
    machine.stack.append(call(what, arguments))


def _build(machine: _Machine, argument: Any) -> None:
    state, item = machine.pop(), machine.pop()
    if not isinstance(item, BLANKS) or type(state) is not tuple:
        raise ValueError(f"a {type(item).__name__} is given a state")
    machine.stack.append(build(item, state))


def _quoted(text: str) -> str:
    """A name out of the file, as safe to print as it is short."""
    return repr(text if len(text) <= 80 else f"{text[:80]}…")


_STEPS: Final[dict[str, Callable[[_Machine, Any], None]]] = {
    **dict.fromkeys("PROTO FRAME STOP".split(), _nothing),
    **dict.fromkeys("NONE INT LONG BININT BININT1 BININT2 LONG1 LONG4".split(), _push),
    **dict.fromkeys("STRING BINSTRING SHORT_BINSTRING".split(), _push),
    **dict.fromkeys("UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8".split(), _push),
    **dict.fromkeys("BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8".split(), _push),
    "NEWTRUE": _push_new(lambda: True),
    "NEWFALSE": _push_new(lambda: False),
    "EMPTY_LIST": _push_new(list),
    "EMPTY_DICT": _push_new(dict),
    "EMPTY_TUPLE": _push_new(tuple),
    "MARK": _mark,
    "POP": _pop,
    "POP_MARK": _pop_to_mark,
    "DUP": _duplicate,
    **dict.fromkeys("PUT BINPUT LONG_BINPUT MEMOIZE".split(), _put),
    **dict.fromkeys("GET BINGET LONG_BINGET".split(), _get),
    "LIST": lambda machine, argument: machine.stack.append(machine.pop_to_mark()),
    "TUPLE": lambda machine, argument: machine.stack.append(tuple(machine.pop_to_mark())),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "DICT": _make_dict,
    "APPEND": _append,
    "APPENDS": _extend,
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "GLOBAL": _name,
    "STACK_GLOBAL": _name_from_stack,
    "REDUCE": _call,
    "BUILD": _build,
}
