"""Take a page apart: its elements, its data; and a front end that stands in for the real one."""

import json
from html.parser import HTMLParser
from typing import Any

import torch
from torch import nn

from torcheer.app.html_page import Bundle
from torcheer.app.passes.pass_page import one_file_page
from torcheer.capture.page_source import HistorySource

SCRIPT = "const end = '</script>', comment = '<!--';\r\ndocument.title += end + comment;"
STANDIN = Bundle(
    script=SCRIPT, style="body::after { content: '</style>' }", worker="postMessage('</SCRIPT>')"
)
HOSTILE = "</script><img src=x onerror=alert(1)>&amp;<!--\u2028\u2029\0'\"\ud800\u202e"

CLASS_NAME = HOSTILE.replace("\ud800", "").replace("\0", "")  # of what a class cannot be called


class Elements(HTMLParser):
    """Every element with its attributes and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))
        self._is_open = True

    def handle_endtag(self, tag: str) -> None:
        self._is_open = False

    def handle_data(self, data: str) -> None:
        if self.found and self._is_open:
            tag, attrs, text = self.found[-1]
            self.found[-1] = (tag, attrs, text + data)

    def named(self, name: str) -> str:
        return next(text for _, attrs, text in self.found if attrs.get("id") == name)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attrs, text) for name, attrs, text in self.found if name == tag]


def data_of(html: str) -> Any:
    return json.loads(Elements(html).named("torcheer-data"))


def page_of(history: Any, max_bytes: int = 20_000_000) -> str:
    return one_file_page(HistorySource(history), max_bytes=max_bytes, bundle=STANDIN)


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3, 3, 3, padding=1) for _ in range(30)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x
