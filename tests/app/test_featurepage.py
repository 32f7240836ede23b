"""Features, shown from the program that has them."""

from __future__ import annotations

from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import numpy
import pytest

from tests.features.making import made_features
from torcheer.app import serve
from torcheer.errors import InputError
from torcheer.features import open_features


def test_the_page_is_served_and_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(serve, "open_in_browser", opened.append)
    made_features(tmp_path / "set", {"conv": numpy.zeros((4, 3), numpy.float32)})

    address = open_features(tmp_path / "set").show()

    assert opened == [address]
    assert address.endswith("#features")
    assert address in capsys.readouterr().out
    with build_opener(HTTPCookieProcessor()).open(address.partition("#")[0]) as answer:
        assert b"<title>" in answer.read()


def test_features_elsewhere_are_shown_from_the_shell() -> None:
    with pytest.raises(InputError, match="torcheer view memory://set"):
        serve.show_features("memory://set")
