"""Known architectures, run in other ways: other number types, compiled, scripted, rewritten, in parallel."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import prune

from tests.zoo.decoder_models import GROUPED
from tests.zoo.specimen import Example, Shelf, image, load
from tests.zoo.text import GPT, SMALL, padding, reader, text

SHELF = Shelf()


def _resnet(**options: Any) -> nn.Module:
    model: nn.Module = load("torchvision").models.resnet18(weights=None, num_classes=10, **options)
    return model


class _Autocast(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.model(*args, **kwargs)


@SHELF.add("wrapped/resnet18, autocast", quick=True)
def _resnet_autocast() -> Example:
    return Example(_Autocast(_resnet()), (image(64),))


@SHELF.add("wrapped/gpt2, autocast training", training=True)
def _gpt2_autocast() -> Example:
    ids = text()
    made = reader("GPT2LMHeadModel", GPT, input_ids=ids, labels=ids.clone(), use_cache=False)
    return Example(_Autocast(made.model), (), made.kwargs)


@SHELF.add("wrapped/llama, bfloat16")
def _llama_bfloat16() -> Example:
    made = reader("LlamaForCausalLM", GROUPED, input_ids=text())
    return made._replace(model=made.model.to(torch.bfloat16))


@SHELF.add("wrapped/bert, float64")
def _bert_float64() -> Example:
    made = reader("BertForMaskedLM", SMALL, input_ids=text(), attention_mask=padding())
    return made._replace(model=made.model.to(torch.float64))


@SHELF.add("wrapped/resnet18, channels last")
def _resnet_channels_last() -> Example:
    layout = torch.channels_last
    return Example(_resnet().to(memory_format=layout), (image(64).to(memory_format=layout),))


@SHELF.add("wrapped/resnet18, compiled")
def _resnet_compiled() -> Example:
    """Captured as the eager model that it is."""
    return Example(torch.compile(_resnet(), backend="eager"), (image(64),))


@SHELF.add("wrapped/resnet18, scripted", copies=False)
def _resnet_scripted() -> Example:
    return Example(torch.jit.script(_resnet().eval()), (image(64),))


@SHELF.add("wrapped/resnet18, traced", copies=False)
def _resnet_traced() -> Example:
    model = _resnet().eval()
    return Example(torch.jit.trace(model, image(64)), (image(64),))


@SHELF.add("wrapped/resnet18, features by fx", copies=False)
def _resnet_features() -> Example:
    """A graph module, whose forward is code that nobody wrote to a file."""
    extract = load("torchvision.models.feature_extraction").create_feature_extractor
    return Example(extract(_resnet(), ["layer1", "layer3", "fc"]), (image(64),))


@SHELF.add("wrapped/resnet18, fused batch norm")
def _resnet_fused() -> Example:
    from torch.fx.experimental.optimization import fuse

    return Example(fuse(_resnet().eval()), (image(64),))


@SHELF.add("wrapped/resnet18, data parallel")
def _resnet_parallel() -> Example:
    return Example(nn.DataParallel(_resnet()), (image(64, batch=2),))


@SHELF.add("wrapped/resnet18, spectral norm, training", training=True)
def _resnet_spectral() -> Example:
    model = _resnet()
    for module in list(model.modules()):
        if isinstance(module, nn.Conv2d):
            nn.utils.parametrizations.spectral_norm(module)
    return Example(model, (image(64, batch=2),))


@SHELF.add("wrapped/resnet18, pruned")
def _resnet_pruned() -> Example:
    model = _resnet()
    for module in list(model.modules()):
        if isinstance(module, nn.Conv2d):
            with torch.no_grad():  # else the pruned weight drags a graph along, and cannot be copied
                prune.l1_unstructured(module, "weight", amount=0.5)
    return Example(model, (image(64),))


@SHELF.add("wrapped/resnet18, group norm, training", training=True)
def _resnet_group_norm() -> Example:
    return Example(_resnet(norm_layer=lambda width: nn.GroupNorm(8, width)), (image(64, batch=2),))


@SHELF.add("wrapped/llama, checkpointed training", training=True)
def _llama_checkpointed() -> Example:
    made = reader("LlamaForCausalLM", GROUPED, input_ids=text(), use_cache=False)
    made.model.gradient_checkpointing_enable()
    return made


@SHELF.add("wrapped/llama, eager attention, all hidden states")
def _llama_eager() -> Example:
    sizes = dict(GROUPED, attn_implementation="eager")
    wanted = {"output_hidden_states": True, "output_attentions": True}
    return reader("LlamaForCausalLM", sizes, input_ids=text(), **wanted)


@SHELF.add("wrapped/llama, left padding and embeddings as input")
def _llama_embeddings() -> Example:
    mask = padding().flip(1)
    return reader("LlamaForCausalLM", GROUPED, inputs_embeds=torch.randn(2, 12, 32), attention_mask=mask)


@SHELF.add("wrapped/bert, a tuple instead of an object")
def _bert_tuple() -> Example:
    return reader("BertModel", SMALL, input_ids=text(), return_dict=False)


@SHELF.add("wrapped/mlp, dynamically quantized")
def _mlp_quantized() -> Example:
    from torch.ao.quantization import quantize_dynamic

    model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 8)).eval()
    return Example(quantize_dynamic(model, {nn.Linear}), (torch.randn(3, 16),))


@SHELF.add("wrapped/mlp, an ensemble by vmap")
def _ensemble() -> Example:
    return Example(_Ensemble(), (torch.randn(5, 8),))


class _Ensemble(nn.Module):
    """Four networks as one: their parameters stacked, one call."""

    def __init__(self) -> None:
        super().__init__()
        members = [nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)) for _ in range(4)]
        params, _ = torch.func.stack_module_state(members)
        self.stacked = nn.ParameterDict(
            {k.replace(".", "_"): nn.Parameter(v.detach()) for k, v in params.items()}
        )
        self._names = {name.replace(".", "_"): name for name in params}
        self._template = [copy.deepcopy(members[0]).to("meta")]  # in a list: not one of its modules

    def forward(self, x: Tensor) -> Tensor:
        def one(params: dict[str, Tensor], x: Tensor) -> Tensor:
            out: Tensor = torch.func.functional_call(self._template[0], params, (x,))
            return out

        params = {self._names[name]: param for name, param in self.stacked.items()}
        return torch.vmap(one, in_dims=(0, None))(params, x).mean(0)


@SHELF.add("wrapped/mlp, a potential and its forces by autograd", training=True)
def _forces() -> Example:
    """As in molecular dynamics: the output holds a gradient that forward itself takes."""
    return Example(_Forces(), (torch.randn(6, 3),))


class _Forces(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, places: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            places = places.detach().requires_grad_()
            energy = self.energy(places).sum()
            (slope,) = torch.autograd.grad(energy, places, create_graph=True)
        return energy, -slope
