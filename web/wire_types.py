"""The types of the wire for the page: `python -m web.wire_types` prints web/src/wire.ts."""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, Final, get_args

from msgspec import Struct
from msgspec import inspect as shapes

from torcheer.app.dispatch import ANSWERS, QUESTIONS
from torcheer.graph import OpKind
from torcheer.learn import Form, NodeKind
from torcheer.run import Kind, ShownHead, State
from torcheer.tensorfile import TensorKind
from torcheer.training.control import Level
from torcheer.training.control import State as ControlState

_HEAD: Final = (
    "/** What the page and the server say to each other. Generated: `python -m web.wire_types`. */\n"
)
# Choices that have a name in Python have it in the page, too.
_CHOICES: Final = {
    "OpKind": OpKind,
    "TensorKind": TensorKind,
    "RecordKind": Kind,
    "RunState": State,
    "ControlState": ControlState,
    "StepLevel": Level,
    "LearnNodeKind": NodeKind,
    "LearnForm": Form,
}
_UNIONS: Final[dict[str, Sequence[type[Struct]]]] = {
    "Question": QUESTIONS,
    "Answer": ANSWERS,
    "ShownHead": get_args(ShownHead),
}
_PLAIN: Final[dict[type[shapes.Type], str]] = {
    shapes.IntType: "number",
    shapes.FloatType: "number",
    shapes.StrType: "string",
    shapes.BoolType: "boolean",
    shapes.NoneType: "null",
}
_WIDTH: Final = 110
# `    label: str  # what it is`
_FIELD_COMMENT: Final = re.compile(r"^\s+(\w+): .*?  # (.*)$", re.MULTILINE)


def typescript() -> str:
    aliases = [_alias(name, _choices(get_args(alias))) for name, alias in _CHOICES.items()]
    messages = [struct for union in _UNIONS.values() for struct in union]
    types = [_declaration(struct) for struct in _with_those_inside(messages)]
    unions = [_alias(name, [struct.__name__ for struct in union]) for name, union in _UNIONS.items()]
    text = _HEAD
    for before, one in pairwise(("", *aliases, *types, *unions)):
        text += one if _is_line(before) and _is_line(one) else f"\n{one}"
    return text


def _is_line(declaration: str) -> bool:
    return len(declaration.splitlines()) == 1 + declaration.startswith("/**")


def _with_those_inside(structs: Iterable[type[Struct]]) -> Iterator[type[Struct]]:
    """All structs that can be met, each once, after the one that it extends and those inside it."""
    seen: dict[type[Struct], None] = {}

    def visit(struct: type[Struct]) -> None:
        if struct in seen:
            return
        base = _base(struct)
        if base is not None:
            visit(base)
        for field in _shape(struct).fields:
            for inner in _structs_in(field.type):
                visit(inner)
        seen[struct] = None

    for struct in structs:
        visit(struct)
    return iter(seen)


def _base(struct: type[Struct]) -> type[Struct] | None:
    base = struct.__base__
    return base if base is not None and issubclass(base, Struct) and base.__struct_fields__ else None


def _name(struct: type[Struct]) -> str:
    """A base may have the name of the union of those that derive from it."""
    return f"{struct.__name__}Base" if struct.__name__ in _UNIONS else struct.__name__


def _shape(struct: type[Struct]) -> shapes.StructType:
    found = shapes.type_info(struct)
    assert isinstance(found, shapes.StructType)
    return found


def _structs_in(shape: shapes.Type) -> Iterator[type[Struct]]:
    match shape:
        case shapes.StructType():
            yield shape.cls
        case shapes.ListType() | shapes.CollectionType():
            yield from _structs_in(shape.item_type)
        case shapes.DictType():
            yield from _structs_in(shape.value_type)
        case shapes.UnionType():
            for inner in shape.types:
                yield from _structs_in(inner)


def _declaration(struct: type[Struct]) -> str:
    shape = _shape(struct)
    # What more a docstring says is for those who make the message.
    about = inspect.cleandoc(struct.__doc__ or "").partition("\n")[0]
    head = f"/** {about} */\n" if about else ""
    if shape.array_like:
        items = ", ".join(f"{name}: {kind}" for name, kind in _members(shape).items())
        return f"{head}export type {struct.__name__} = [{items}];\n"
    base = _base(struct)
    head += f"export interface {_name(struct)}" + (f" extends {_name(base)}" if base is not None else "")
    members = _members(shape, () if base is None else base.__struct_fields__)
    comments = dict(_FIELD_COMMENT.findall(inspect.getsource(struct)))
    inside = f"{head} {{ {'; '.join(f'{name}: {kind}' for name, kind in members.items())} }}"
    if not comments.keys() & members and len(inside.splitlines()[-1]) <= _WIDTH:
        return f"{inside}\n"
    lines = _fields(members, comments)
    return "\n".join((f"{head} {{", *lines, "}\n"))


def _members(shape: shapes.StructType, inherited: Sequence[str] = ()) -> dict[str, str]:
    """The tag, which only those have that are sent, and the fields."""
    is_sent = shape.tag_field is not None and shape.tag != shape.cls.__name__
    tag = {str(shape.tag_field): json.dumps(shape.tag)} if is_sent else {}
    fields = (field for field in shape.fields if field.name not in inherited)
    return tag | {field.encode_name: _type(field.type) for field in fields}


def _fields(members: Mapping[str, str], comments: Mapping[str, str]) -> Iterator[str]:
    """Those without a comment stand beside each other."""
    for is_noted, names in groupby(members, comments.__contains__):
        if is_noted:
            yield from (_noted(f"  {name}: {members[name]};", comments[name]) for name in names)
        else:
            yield from _wrapped(f"{name}: {members[name]};" for name in names)


def _noted(line: str, comment: str) -> str:
    comment = comment.replace("None", "null")
    noted = f"{line} // {comment}"
    return noted if len(noted) <= _WIDTH else f"  // {comment}\n{line}"


def _wrapped(parts: Iterable[str]) -> list[str]:
    # Spaces at which no line ends keep each part whole.
    lines = textwrap.wrap(" ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts), _WIDTH - 2)
    return [f"  {line}".replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _type(shape: shapes.Type) -> str:
    match shape:
        case shapes.StructType():
            return shape.cls.__name__
        case shapes.ListType() | shapes.CollectionType():
            inner = _type(shape.item_type)
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case shapes.DictType():
            return f"Record<string, {_type(shape.value_type)}>"
        case shapes.UnionType():
            names = list(dict.fromkeys(_type(inner) for inner in shape.types))  # int and float are one
            known = (name for name, union in _UNIONS.items() if {one.__name__ for one in union} == set(names))
            return next(known, " | ".join(names))
        case shapes.LiteralType():
            # In the order in which they stand in the code, which msgspec does not keep.
            names = [name for name, alias in _CHOICES.items() if set(get_args(alias)) == set(shape.values)]
            return names[0] if names else " | ".join(_choices(sorted(shape.values, key=str)))
        case _:
            return _PLAIN[type(shape)]


def _choices(values: Any) -> list[str]:
    return [json.dumps(value) for value in values]


def _alias(name: str, members: Sequence[str]) -> str:
    text = f"export type {name} = {' | '.join(members)};\n"
    if len(text) <= _WIDTH + 1:
        return text
    return "\n".join((f"export type {name} =", *_wrapped(f"| {one}" for one in members))) + ";\n"


if __name__ == "__main__":
    sys.stdout.write(typescript())
