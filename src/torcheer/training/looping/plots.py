"""Which scalars of a training are shown together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from torcheer.training.control.protocol import Plot, PlotLine

_LABELS: Final = {"epoch": "train", "train": "trial", "test": "test"}


def default_plots(statistics: Sequence[str], *, has_errors: bool, has_test: bool) -> list[Plot]:
    """Loss and accuracy of training and test beside each other, the gradients, and what the setup adds."""
    plots = [_pair("loss", has_test, "train/loss")]
    if has_errors:
        plots.append(_pair("accuracy", has_test))
    plots += [_pair(name, has_test) for name in statistics]
    plots.append(Plot(title="gradient norm", lines=[PlotLine(name="train/grad_norm", label="trial")]))
    plots.append(Plot(title="learning rate", lines=[PlotLine(name="train/lr", label="trial")]))
    return plots


def plots_of(given: Mapping[str, Sequence[str]]) -> list[Plot]:
    return [
        Plot(title=title, lines=[PlotLine(name=name, label=_label(name)) for name in _listed(names)])
        for title, names in given.items()
    ]


def _pair(name: str, has_test: bool, *others: str) -> Plot:
    names = [f"epoch/{name}", *([f"test/{name}"] if has_test else []), *others]
    return Plot(title=name, lines=[PlotLine(name=one, label=_label(one)) for one in names])


def _label(name: str) -> str:
    """`epoch/loss` is that of training, over an epoch; `train/loss` that of each trial."""
    return _LABELS.get(name.partition("/")[0], name)


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names
