"""The types of the wire for the page: `python -m torcheer.app.typescript` prints web/src/wire.ts."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

from msgspec import Struct
from msgspec import inspect as shapes

from torcheer.app.dispatch import ANSWERS, QUESTIONS
from torcheer.graph import OpKind
from torcheer.learn import Form, NodeKind
from torcheer.run import Kind, State
from torcheer.tensorfile import TensorKind
from torcheer.training.control import Level
from torcheer.training.control import State as ControlState

_HEAD: Final = (
    "/** What the page and the server say to each other. Generated: `python -m torcheer.app.typescript`. */\n"
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
_UNIONS: Final[dict[str, Sequence[type[Struct]]]] = {"Question": QUESTIONS, "Answer": ANSWERS}
_PLAIN: Final[dict[type[shapes.Type], str]] = {
    shapes.IntType: "number",
    shapes.FloatType: "number",
    shapes.StrType: "string",
    shapes.BoolType: "boolean",
    shapes.NoneType: "null",
}
# `  label: str  # what it is`
_FIELD_COMMENT: Final = re.compile(r"^\s+(\w+): .*?  # (.*)$", re.MULTILINE)


def typescript() -> str:
    parts = [_HEAD]
    parts += [f"export type {name} = {_choices(get_args(alias))};\n" for name, alias in _CHOICES.items()]
    structs = [struct for union in _UNIONS.values() for struct in union]
    parts += [_declaration(struct) for struct in _with_those_inside(structs)]
    for name, union in _UNIONS.items():
        members = " | ".join(struct.__name__ for struct in union)
        parts.append(f"export type {name} = {members};\n")
    return "\n".join(parts)


def _with_those_inside(structs: list[type[Struct]]) -> Iterator[type[Struct]]:
    """All structs that can be met, each once, those inside another before it."""
    seen: dict[type[Struct], None] = {}

    def visit(struct: type[Struct]) -> None:
        if struct in seen:
            return
        for field in _shape(struct).fields:
            for inner in _structs_in(field.type):
                visit(inner)
        seen[struct] = None

    for struct in structs:
        visit(struct)
    return iter(seen)


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
    head = f"/** {inspect.cleandoc(struct.__doc__ or '')} */\n"
    if shape.array_like:
        members = ", ".join(f"{field.encode_name}: {_type(field.type)}" for field in shape.fields)
        return f"{head}export type {struct.__name__} = [{members}];\n"
    lines = [] if shape.tag_field is None else [f"  {shape.tag_field}: {json.dumps(shape.tag)};"]
    comments = dict(_FIELD_COMMENT.findall(inspect.getsource(struct)))
    for field in shape.fields:
        if field.name in comments:
            lines.append(f"  /** {comments[field.name].replace('None', 'null')} */")
        lines.append(f"  {field.encode_name}: {_type(field.type)};")
    return f"{head}export interface {struct.__name__} {{\n" + "".join(f"{line}\n" for line in lines) + "}\n"


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
            return " | ".join(dict.fromkeys(_type(inner) for inner in shape.types))  # int and float are one
        case shapes.LiteralType():
            # In the order in which they stand in the code, which msgspec does not keep.
            names = [name for name, alias in _CHOICES.items() if set(get_args(alias)) == set(shape.values)]
            return names[0] if names else _choices(sorted(shape.values, key=str))
        case _:
            return _PLAIN[type(shape)]


def _choices(values: Any) -> str:
    return " | ".join(json.dumps(value) for value in values)


if __name__ == "__main__":
    sys.stdout.write(typescript())
