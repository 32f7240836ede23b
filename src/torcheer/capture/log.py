"""`log_forward_pass`: every operation of a forward pass, in one line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import nn

from torcheer.capture.capturing import Order, capture
from torcheer.capture.editing.editor import Edits, read_edits
from torcheer.capture.history import ModelHistory
from torcheer.capture.inputs import bind, check_model, input_tensors
from torcheer.capture.saving import Selection, Treatment, select
from torcheer.capture.state import seed_everything
from torcheer.capture.walk import ModelWalk
from torcheer.errors import InputError
from torcheer.models import unwrapped_model

if TYPE_CHECKING:
    from torcheer.graph import Drawing, DrawingOptions

_LEVELS = ("op", "aten")
_VIS_OPTIONS = ("none", "rolled", "unrolled")


def log_forward_pass(
    model: nn.Module,
    input_args: Any = None,
    input_kwargs: Mapping[str, Any] | None = None,
    *,
    layers_to_save: Any = "all",
    keep_unsaved_layers: bool = True,
    output_device: str | torch.device = "same",
    activation_postfunc: Callable[[torch.Tensor], Any] | None = None,
    detach_saved_tensors: bool = False,
    save_function_args: bool = False,
    vis_opt: str = "none",
    random_seed: int | None = None,
    stop_after: int | str | None = None,
    save_gradients: Any = False,
    level: str = "op",
    edit: Edits | None = None,
    **drawing_options: Unpack[DrawingOptions],
) -> ModelHistory:
    """Run a forward pass and return every operation of it.

    - `model`: any `nn.Module`, as it is. Its result, random draws and buffers are those of a plain forward.
    - `input_args`, `input_kwargs`: what forward takes: a tensor, a list or tuple of arguments, a dict of
      named ones, nested as you like.
    - `layers_to_save`: `'all'`, `'none'`, a list of labels, module addresses, indices or parts of labels, or
      a function of an op. Only what is chosen is kept alive.
    - `keep_unsaved_layers`: False leaves ops without a saved value out of the listing.
    - `output_device`: where saved values go; `'same'` leaves them where they are.
    - `activation_postfunc`: applied to each value before it is kept.
    - `detach_saved_tensors`: True cuts saved values from the autograd graph.
    - `save_function_args`: keep the inputs of each saved op too.
    - `vis_opt`: `'rolled'` or `'unrolled'` also draws the pass; `vis_outpath`, `vis_nesting_depth`,
      `vis_direction` and the other options of `history.draw` say where and how.
    - `random_seed`: seeds torch, NumPy and Python before the pass, as if you had done so yourself.
    - `stop_after`: end the pass as soon as this layer is there.
    - `save_gradients`: True keeps, after any `backward()` through the pass, the gradient of every op; or
      name layers as in `layers_to_save`.
    - `level`: `'aten'` also records the ATen calls below each op and below each autograd node.
    - `edit`: `{layer: function}` replaces the output of a layer on its way by what the function makes of it.
      A list of pairs will do too, and a tensor in the place of a function.
    """
    check_model(model)
    drawing = _drawing_wanted(vis_opt, drawing_options)
    if level not in _LEVELS:
        raise InputError(f"level must be one of {', '.join(map(repr, _LEVELS))}, not {level!r}.")
    _check_options(input_kwargs, output_device, activation_postfunc, random_seed)
    call = bind(model, input_args, input_kwargs)
    walk = ModelWalk(unwrapped_model(model))
    inputs = [name for name, _ in input_tensors(walk.root, call)]
    save = select(layers_to_save, walk, inputs, "layers_to_save")
    stop = select(stop_after, walk, inputs, "stop_after")
    treatment = Treatment(
        postfunc=activation_postfunc, detach=detach_saved_tensors, device=str(output_device)
    )
    if random_seed is not None:
        seed_everything(random_seed)
    order = Order(
        save=save,
        stop=stop,
        treatment=treatment,
        keep_arguments=save_function_args,
        keep_unsaved=keep_unsaved_layers,
        gradients=_gradients_wanted(save_gradients, walk, inputs),
        aten=level == "aten",
        edits=tuple(read_edits(edit, walk, inputs)),
    )
    history = capture(model, walk, order, call)
    if drawing is not None:
        from torcheer.capture.drawing import draw_and_show

        draw_and_show(history, drawing)
    return history


def _drawing_wanted(vis_opt: str, options: DrawingOptions) -> Drawing | None:
    """What is to be drawn, checked before the model runs; None for nothing."""
    if vis_opt not in _VIS_OPTIONS:
        raise InputError(f"vis_opt must be one of {', '.join(map(repr, _VIS_OPTIONS))}, not {vis_opt!r}.")
    if vis_opt == "none" and not options:
        return None
    from torcheer.graph import read_options

    drawing = read_options("unrolled" if vis_opt == "none" else vis_opt, options)
    if vis_opt == "none":
        text = f"{', '.join(options)}: nothing is drawn unless vis_opt is 'unrolled' or 'rolled'."
        warnings.warn(text, stacklevel=3)
        return None
    return drawing


def _gradients_wanted(save_gradients: Any, walk: ModelWalk, inputs: list[str]) -> Selection:
    if isinstance(save_gradients, bool) or save_gradients is None:
        return Selection(everything=bool(save_gradients))
    return select(save_gradients, walk, inputs, "save_gradients")


def _check_options(input_kwargs: Any, output_device: Any, activation_postfunc: Any, random_seed: Any) -> None:
    """Say what is wrong before the model runs."""
    if input_kwargs is not None and not isinstance(input_kwargs, Mapping):
        raise InputError(f"input_kwargs must be a dict of named arguments, not {input_kwargs!r}.")
    if activation_postfunc is not None and not callable(activation_postfunc):
        raise InputError(f"activation_postfunc must be a function of a tensor, not {activation_postfunc!r}.")
    if random_seed is not None and (isinstance(random_seed, bool) or not isinstance(random_seed, int)):
        raise InputError(f"random_seed must be a whole number, not {random_seed!r}.")
    if output_device != "same":
        try:
            torch.device(output_device)
        except RuntimeError as error:
            raise InputError(
                f"output_device must be 'same' or a device such as 'cpu' or 'cuda:0', not {output_device!r}."
            ) from error
