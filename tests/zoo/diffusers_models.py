"""diffusers: networks that take noise away, and a whole pipeline of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.zoo.specimen import Example, Shelf, load

SHELF = Shelf()

_SMALL: dict[str, Any] = {
    "sample_size": 8,
    "in_channels": 2,
    "out_channels": 2,
    "layers_per_block": 1,
    "block_out_channels": (8, 16),
    "norm_num_groups": 4,
    "attention_head_dim": 4,
}


def _unet(**options: Any) -> nn.Module:
    blocks = {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    }
    model: nn.Module = load("diffusers").UNet2DModel(**{**_SMALL, **blocks, **options})
    return model


@SHELF.add("diffusers/unet2d", quick=True)
def _unet2d() -> Example:
    return Example(_unet(), (torch.randn(1, 2, 8, 8), torch.tensor([7])))


@SHELF.add("diffusers/unet2d, training with dropout", training=True)
def _unet2d_training() -> Example:
    model = _unet(dropout=0.1, num_class_embeds=5)
    return Example(model, (torch.randn(2, 2, 8, 8), torch.tensor([7, 3]), torch.tensor([1, 4])))


@SHELF.add("diffusers/unet2d_condition")
def _unet2d_condition() -> Example:
    model = load("diffusers").UNet2DConditionModel(
        **{**_SMALL, "cross_attention_dim": 12},
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )
    return Example(model, (torch.randn(1, 2, 8, 8), torch.tensor([7]), torch.randn(1, 5, 12)))


class _Pipeline(nn.Module):
    """A pipeline is no module, and its forward turns pictures into NumPy: these are its steps up to there."""

    def __init__(self, unet: nn.Module) -> None:
        super().__init__()
        diffusers = load("diffusers")
        self.unet = unet
        self.pipeline = diffusers.DDPMPipeline(unet, diffusers.DDPMScheduler(num_train_timesteps=20))
        self.pipeline.set_progress_bar_config(disable=True)

    def forward(self, noise: Tensor) -> Tensor:
        scheduler = self.pipeline.scheduler
        scheduler.set_timesteps(3)
        image = noise
        for time in scheduler.timesteps:
            predicted = self.unet(image, time).sample
            image = scheduler.step(predicted, time, image).prev_sample
        return (image / 2 + 0.5).clamp(0, 1)


@SHELF.add("diffusers/ddpm", loops=3, sources="the scheduler keeps its tables outside of any module")
def _ddpm() -> Example:
    return Example(_Pipeline(_unet()), (torch.randn(1, 2, 8, 8),))
