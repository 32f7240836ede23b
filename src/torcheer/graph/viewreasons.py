"""Why a value cannot be shown, and what to do: in the same words for passes in memory and in files."""

from __future__ import annotations

from torcheer.graph.tensorfigures import Figures

SHAPE_ONLY = "shape-only: the pass ran on meta or fake tensors, which have shapes and no values."
NO_FIGURE = "there is no figure {name!r}: 'zeros' and 'nonfinite' are there."


def not_saved_reason(label: str) -> str:
    return f"not saved: capture with layers_to_save='all', or with {label!r} among layers_to_save."


def no_params_reason() -> str:
    return (
        "a saved pass has the shapes of parameters, not their values: write the page of the history that was "
        "captured, with to_html, to see them."
    )


def no_grad_reason(name: str, num_backward_passes: int) -> str:
    if not num_backward_passes:
        return "no gradients: capture with save_gradients=True then backward() or history.log_backward(loss)."
    return f"no gradient of {name} was kept: none reached it, or save_gradients did not ask for it."


def share_of(figures: Figures, name: str) -> float | None:
    """The share of an op's values that are zero, or that are no numbers."""
    if not figures.num_elements:
        return None
    counted = figures.num_zeros if name == "zeros" else figures.num_nan + figures.num_inf
    return counted / figures.num_elements
