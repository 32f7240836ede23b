"""How wide a text is in the font of the pictures, so that boxes can be made to fit.

The numbers are the advance widths of Inter, in 2048ths of the font size, of the characters that turn up in
pictures; a test compares them with the font files.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

FONT_FAMILY = "Inter"
# Where a viewer does not have Inter: fonts that are hardly wider, as `system-ui` often is.
FONT_STACK = (
    "Inter, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, Liberation Sans, system-ui, sans-serif"
)
REGULAR, BOLD = 400, 600

_UNITS = 2048
_FOREIGN = 1400  # of a character that is not listed: about the widest letter, as it is set in another font
_FOREIGN_WIDE = 2600

_LISTED = (
    "".join(map(chr, range(0x20, 0x7F)))
    + "".join(chr(code) for code in range(0xA0, 0x100) if code != 0xAD)
    + "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρςστυφχψω"
    + "–—‘’“”•…←↑→↓↔↖↗↘↙↻∂∑−√∞∫≈≠≤≥"
)
_REGULAR_UNITS = """
576 589 954 1297 1314 2011 1319 614 747 747 1026 1355 590 942 590 738 1292 833 1249 1265 1323 1215 1270 1159
1267 1270 590 618 1355 1355 1355 1047 1978 1413 1340 1496 1478 1231 1209 1528 1522 550 1169 1376 1158 1850
1543 1566 1308 1566 1318 1314 1322 1524 1413 2018 1397 1390 1288 747 738 747 965 934 661 1150 1254 1170 1254
1194 758 1256 1211 496 496 1124 496 1794 1210 1228 1254 1254 771 1081 670 1211 1151 1676 1118 1151 1131 873
681 873 1355 576 589 1170 1251 1484 1126 553 1164 1210 1872 929 1193 1355 1364 978 933 1355 905 913 661 1200
1234 590 549 623 988 1193 1643 1735 1806 1047 1413 1413 1413 1413 1413 1413 2035 1496 1231 1231 1231 1231
550 550 550 550 1505 1543 1566 1566 1566 1566 1566 1355 1566 1524 1524 1524 1524 1390 1302 1262 1150 1150
1150 1150 1150 1150 1879 1170 1194 1194 1194 1194 496 496 496 496 1193 1210 1228 1228 1228 1228 1228 1355
1228 1211 1211 1211 1211 1151 1254 1151 1413 1340 1185 1395 1231 1288 1522 1566 550 1376 1413 1850 1543 1344
1566 1522 1308 1411 1322 1390 1803 1397 1802 1577 1360 1220 1151 1196 1100 1043 1211 1272 564 1076 1314 1200
1202 1144 1228 1239 1254 1166 1278 954 1211 1476 1165 1593 1648 1024 2048 534 534 902 902 1152 1770 1954
1708 1954 1708 2746 1588 1588 1588 1588 1954 1298 1299 1355 1289 1917 748 1355 1355 1355 1355
"""
_BOLD_UNITS = """
516 658 1071 1318 1332 2057 1357 667 764 764 1105 1378 653 953 653 776 1351 866 1276 1303 1364 1254 1310
1180 1311 1310 653 674 1378 1378 1378 1113 2046 1490 1350 1509 1479 1240 1204 1534 1527 567 1187 1440 1158
1889 1555 1574 1321 1583 1336 1332 1352 1507 1490 2089 1474 1461 1336 764 776 764 986 961 719 1176 1278 1193
1278 1211 796 1281 1254 536 536 1166 536 1844 1253 1247 1278 1278 813 1125 723 1254 1202 1719 1165 1205 1159
931 735 931 1378 516 658 1193 1289 1534 1154 647 1164 1253 1872 943 1299 1378 1359 925 938 1378 929 949 719
1258 1229 653 680 663 998 1299 1702 1781 1858 1113 1490 1490 1490 1490 1490 1490 2075 1509 1240 1240 1240
1240 567 567 567 567 1539 1555 1574 1574 1574 1574 1574 1378 1574 1507 1507 1507 1507 1461 1347 1318 1176
1176 1176 1176 1176 1176 1869 1193 1211 1211 1211 1211 536 536 536 536 1216 1253 1247 1247 1247 1247 1247
1378 1247 1254 1254 1254 1254 1205 1278 1205 1490 1350 1190 1479 1240 1336 1527 1574 567 1440 1490 1889 1555
1386 1574 1527 1321 1417 1352 1461 1821 1474 1821 1593 1401 1239 1202 1225 1128 1077 1254 1280 610 1160 1370
1258 1240 1144 1247 1285 1278 1191 1315 1014 1253 1582 1210 1665 1688 1024 2048 602 602 1038 1027 1031 1958
1954 1805 1954 1805 2746 1598 1598 1598 1598 1954 1347 1443 1378 1343 1978 783 1378 1378 1378 1378
"""


def _table(units: str) -> dict[str, int]:
    return dict(zip(_LISTED, map(int, units.split()), strict=True))


ADVANCES = {REGULAR: _table(_REGULAR_UNITS), BOLD: _table(_BOLD_UNITS)}


@lru_cache(maxsize=65536)
def text_width(text: str, size: float, weight: int = REGULAR) -> float:
    """In pixels; a little too wide rather than too narrow for characters that Inter does not have."""
    advances = ADVANCES[weight]
    try:
        units = sum([advances[character] for character in text])
    except KeyError:
        units = sum(advances[c] if c in advances else _foreign(c) for c in text)
    return units * size / _UNITS


def is_measured(text: str) -> bool:
    """Whether the font of the pictures has all of it, so that its width is certain."""
    advances = ADVANCES[REGULAR]
    return all(character in advances for character in text)


def fitted(text: str, width: float, size: float, weight: int = REGULAR) -> str:
    """A text, with its middle left out where it is too wide: an address tells most at its ends."""
    if text_width(text, size, weight) <= width:
        return text
    low, high = 0, len(text)
    while low < high:  # the most characters that fit
        middle = (low + high + 1) // 2
        if text_width(_without_middle(text, middle), size, weight) <= width:
            low = middle
        else:
            high = middle - 1
    return _without_middle(text, low)


def printable(words: str) -> str:
    """On one line, and without what XML cannot hold."""
    if words.isprintable():
        return words
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in words
    )


def _without_middle(text: str, num_kept: int) -> str:
    tail = num_kept // 2
    return text[: num_kept - tail] + "…" + text[len(text) - tail :]


def _foreign(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return _FOREIGN_WIDE if unicodedata.east_asian_width(character) in "WF" else _FOREIGN


def wrapped(words: str, width: float, size: float) -> list[str]:
    """The words in rows that are no wider than that; one word alone is cut where it is wider."""
    rows: list[str] = []
    for word in words.split(" "):
        longer = f"{rows[-1]} {word}" if rows else word
        if rows and text_width(longer, size) <= width:
            rows[-1] = longer
        else:
            rows.append(fitted(word, width, size))
    return rows
