"""A page between the cells of a notebook."""

from __future__ import annotations

import html

from torcheer.desktop import display_inline

HEIGHT = 640  # of the page between the cells, in pixels


class InlinePage:
    """A page in a frame of its own, which can reach nothing of the notebook around it."""

    def __init__(self, page: str, height: int = HEIGHT, title: str = "A pass through a model") -> None:
        self._page = page
        self._title = title
        self._height = height

    def _repr_html_(self) -> str:
        # In plain letters, so that it is read alike in whatever encoding a notebook is exported: its own
        # code runs only if it is, letter by letter, what its policy says.
        page = html.escape(self._page).encode("ascii", "xmlcharrefreplace").decode()
        # Scripts, but without the notebook's own origin: names in a page are strangers' texts.
        return (
            f'<iframe title="{html.escape(self._title)}" sandbox="allow-scripts" '
            f'srcdoc="{page}" width="100%" height="{self._height}" '
            'style="border: 1px solid rgba(128, 128, 128, 0.4); border-radius: 6px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<a torcheer page of {len(self._page):,} characters: a notebook shows it>"


def show_inline(page: InlinePage) -> None:
    display_inline(page)
