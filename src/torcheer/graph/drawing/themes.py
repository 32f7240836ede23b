"""The colours of a picture, light and dark: the same values as in the web app's tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How the box of one kind of op is painted."""

    fill: str
    stroke: str
    dashes: str = ""
    radius: float = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """All colours of one theme."""

    canvas: str
    text: str
    text_2: str
    text_3: str
    line: str
    line_2: str
    wire: str
    condition: str
    gradient: str
    mark: str
    danger: str
    chip_fill: str
    chip_text: str
    group_fills: tuple[str, ...]  # by depth, in turn
    group_stroke: str
    looks: Mapping[str, Look]
    sequential: tuple[str, ...]
    ink_on_light: str
    ink_on_dark: str


LIGHT = Palette(
    canvas="#FFFFFF",
    text="#16191D",
    text_2="#4A525B",
    text_3="#626B75",
    line="#E3E6E9",
    line_2="#CDD2D8",
    wire="#7A838D",
    condition="#D67C0F",
    gradient="#9269F1",
    mark="#8A5A00",
    danger="#BF232B",
    chip_fill="#E4EEF7",
    chip_text="#0B4F7C",
    group_fills=("#F6F7F8", "#FFFFFF"),
    group_stroke="#CDD2D8",
    looks={
        "op": Look(fill="#FFFFFF", stroke="#AEB5BD"),
        "params": Look(fill="#E4E7EA", stroke="#99A1AA"),
        "input": Look(fill="#DDF3E2", stroke="#2F8F4E"),
        "output": Look(fill="#FBE2E2", stroke="#BF232B"),
        "buffer": Look(fill="#FFFFFF", stroke="#626B75", dashes="1.5 3"),
        "source": Look(fill="none", stroke="#AEB5BD", dashes="5 3"),
        "collapsed": Look(fill="#FFFFFF", stroke="#AEB5BD"),
        "collapsed_params": Look(fill="#E4E7EA", stroke="#99A1AA"),
    },
    sequential=(
        *("#ECF6F5", "#C1EAE4", "#93DBD2", "#60C2BB", "#2EA7A7"),
        *("#127E8E", "#0B6B89", "#104F7E", "#193866", "#1A224D"),
    ),
    ink_on_light="#16191D",
    ink_on_dark="#FFFFFF",
)

DARK = Palette(
    canvas="#111416",
    text="#E8EBEE",
    text_2="#AAB2BB",
    text_3="#8B949E",
    line="#262B30",
    line_2="#3A4149",
    wire="#818A94",
    condition="#EC7E07",
    gradient="#A79BFF",
    mark="#E6B450",
    danger="#FF7F7A",
    chip_fill="#182C3D",
    chip_text="#8CC4F2",
    group_fills=("#171A1E", "#111416"),
    group_stroke="#3A4149",
    looks={
        "op": Look(fill="#1C2024", stroke="#4C545D"),
        "params": Look(fill="#2E353C", stroke="#626C77"),
        "input": Look(fill="#15301F", stroke="#58BE7C"),
        "output": Look(fill="#3A1B1C", stroke="#FF7F7A"),
        "buffer": Look(fill="#1C2024", stroke="#8B949E", dashes="1.5 3"),
        "source": Look(fill="none", stroke="#4C545D", dashes="5 3"),
        "collapsed": Look(fill="#1C2024", stroke="#4C545D"),
        "collapsed_params": Look(fill="#2E353C", stroke="#626C77"),
    },
    sequential=(
        *("#1C2229", "#202E45", "#233B60", "#1D5276", "#146B88"),
        *("#1B909B", "#30A8A5", "#53C8B7", "#9AE2BE", "#DDFAC1"),
    ),
    ink_on_light="#101214",
    ink_on_dark="#E8EBEE",
)

PALETTES: Mapping[str, Palette] = {"light": LIGHT, "dark": DARK}
