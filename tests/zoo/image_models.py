"""transformers: models of images and video."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.zoo.specimen import Example, Shelf, from_config, image, load

SHELF = Shelf()

VOCAB = 99
_SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
_VIT = dict(_SMALL, image_size=32, patch_size=8)
_STAGES = {
    "embed_dim": 16,
    "depths": [1, 1],
    "num_heads": [2, 4],
    "window_size": 4,
    "image_size": 32,
    "patch_size": 2,
}

# --- images: name, model, configuration, sizes, image size, facts

_IMAGES: tuple[tuple[str, str, dict[str, Any], int, dict[str, Any]], ...] = (
    ("vit", "ViTForImageClassification", _VIT, 32, {}),
    ("deit", "DeiTForImageClassificationWithTeacher", _VIT, 32, {}),
    ("beit", "BeitForImageClassification", _VIT, 32, {}),
    ("data2vec_vision", "Data2VecVisionModel", _VIT, 32, {}),
    ("dinov2", "Dinov2Model", _VIT, 32, {}),
    ("dinov3", "DINOv3ViTModel", _VIT, 32, {}),
    ("vit_mae", "ViTMAEForPreTraining", dict(_VIT, decoder_hidden_size=16, decoder_num_hidden_layers=1,
        decoder_num_attention_heads=2, decoder_intermediate_size=32), 32, {"constant_outputs": ("mask",
        "ids_restore")}),
    ("ijepa", "IJepaModel", _VIT, 32, {}),
    ("swin", "SwinForImageClassification", _STAGES, 32, {}),
    ("swinv2", "Swinv2ForImageClassification", _STAGES, 32, {}),
    ("swin2sr", "Swin2SRForImageSuperResolution", dict(_STAGES, patch_size=1, upscale=2), 16, {}),
    ("cvt", "CvtForImageClassification", {"embed_dim": [16, 32, 48], "num_heads": [1, 2, 3], "depth": [1, 2,
        3]}, 32, {}),
    ("pvt", "PvtForImageClassification", {"image_size": 64, "depths": [1, 1, 1, 1], "hidden_sizes": [16, 32,
        64, 64], "num_attention_heads": [1, 2, 4, 4]}, 64, {}),
    ("segformer", "SegformerForSemanticSegmentation", {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 32,
        64], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 32}, 64, {}),
    ("glpn", "GLPNForDepthEstimation", {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 32, 64],
        "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 16}, 64, {}),
    ("dpt", "DPTForDepthEstimation", dict(_VIT, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 16, 16, 32], fusion_hidden_size=16, is_hybrid=False), 32, {}),
    ("levit", "LevitForImageClassification", {"image_size": 64, "hidden_sizes": [16, 32, 48],
        "num_attention_heads": [1, 2, 3], "depths": [1, 1, 1], "key_dim": [8, 8, 8]}, 64, {}),
    ("mobilevit", "MobileViTForSemanticSegmentation", {"image_size": 64}, 64, {}),
    ("convnext", "ConvNextForImageClassification", {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]},
        32, {}),
    ("poolformer", "PoolFormerForImageClassification", {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24,
        32]}, 64, {}),
    ("focalnet", "FocalNetForImageClassification", {"image_size": 32, "embed_dim": 16, "depths": [1, 1]}, 32,
        {}),
    ("hiera", "HieraForImageClassification", {"embed_dim": 16, "image_size": [32, 32], "patch_stride": [2, 2],
        "patch_size": [3, 3], "patch_padding": [1, 1], "depths": [1, 1, 1], "num_heads": [1, 2, 4],
        "num_query_pool": 2, "masked_unit_size": [4, 4]}, 32, {"loops": 2}),
    ("bit", "BitForImageClassification", {"embedding_size": 16, "hidden_sizes": [32, 32, 64, 64],
        "depths": [1, 1, 1, 1], "num_groups": 4}, 32, {}),
    ("imagegpt", "ImageGPTForImageClassification", {"n_embd": 32, "n_layer": 2, "n_head": 4,
        "n_positions": 64, "vocab_size": VOCAB}, 16, {}),
    ("upernet", "UperNetForSemanticSegmentation", {"hidden_size": 16, "pool_scales": [1, 2],
        "auxiliary_channels": 8}, 64, {}),
    ("yolos", "YolosForObjectDetection", dict(_VIT, image_size=[32, 32], num_detection_tokens=5), 32, {}),
    ("superpoint", "SuperPointForKeypointDetection", {"encoder_hidden_sizes": [8, 8, 16, 16],
        "decoder_hidden_size": 16, "keypoint_decoder_dim": 65, "descriptor_decoder_dim": 16}, 64,
        {"loops": 2, "constant_outputs": ("mask",)}),
    ("seggpt", "SegGptModel", dict(_SMALL, image_size=[64, 32], patch_size=8, decoder_hidden_size=8,
        mlp_dim=32, pretrain_image_size=32, merge_index=0, intermediate_hidden_state_indices=[0, 1]), 32, {}),
)  # fmt: skip


def _image_input(name: str, size: int) -> dict[str, Tensor]:
    if name == "imagegpt":
        return {"input_ids": torch.randint(0, VOCAB - 1, (2, size))}
    if name == "seggpt":
        return {
            "pixel_values": image(32), "prompt_pixel_values": image(32), "prompt_masks": image(32),
        }  # fmt: skip
    return {"pixel_values": image(size)}


def _add_image(name: str, model: str, sizes: dict[str, Any], size: int, facts: dict[str, Any]) -> None:
    @SHELF.add(f"transformers/{name}", **facts)
    def build() -> Example:
        return from_config(model, sizes, **_image_input(name, size))


for _row in _IMAGES:
    _add_image(*_row)


# --- finding objects

_DETR = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "num_queries": 6,
    "use_timm_backbone": False,
    "use_pretrained_backbone": False,
    "num_labels": 5,
}


def _small_resnet() -> Any:
    return load("transformers").ResNetConfig(
        embedding_size=8,
        hidden_sizes=[16, 16, 32, 32],
        depths=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
    )


def _detr_like(model: str, **more: Any) -> Example:
    sizes = dict(_DETR, **more, backbone_config=_small_resnet())
    return from_config(model, sizes, pixel_values=image(64))


@SHELF.add("transformers/detr")
def _detr() -> Example:
    return _detr_like("DetrForObjectDetection")


@SHELF.add("transformers/conditional_detr")
def _conditional_detr() -> Example:
    return _detr_like("ConditionalDetrForObjectDetection")


@SHELF.add("transformers/deformable_detr", constant_outputs=("reference_points",))
def _deformable_detr() -> Example:
    return _detr_like(
        "DeformableDetrForObjectDetection", num_feature_levels=3,
        encoder_n_points=2, decoder_n_points=2,
    )  # fmt: skip


@SHELF.add("transformers/dab_detr", loops=8)
def _dab_detr() -> Example:
    """Its decoder layers share the heads that refine the boxes."""
    sizes = dict(_DETR, hidden_size=32)
    del sizes["d_model"]
    return from_config(
        "DabDetrForObjectDetection", {**sizes, "backbone_config": _small_resnet()},
        pixel_values=image(64),
    )  # fmt: skip


@SHELF.add("transformers/rt_detr", loops=2)
def _rt_detr() -> Example:
    """Its decoder layers share the head that places the queries."""
    transformers = load("transformers")
    backbone = transformers.RTDetrResNetConfig(
        embedding_size=8, hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    sizes = {
        "backbone_config": backbone, "encoder_hidden_dim": 32, "encoder_in_channels": [16, 32, 32],
        "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
        "num_queries": 6, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "decoder_in_channels": [32, 32, 32], "decoder_n_points": 2, "num_denoising": 0, "num_labels": 5,
        "use_timm_backbone": False,
    }  # fmt: skip
    return from_config("RTDetrForObjectDetection", sizes, pixel_values=image(64))


@SHELF.add("transformers/maskformer")
def _maskformer() -> Example:
    transformers = load("transformers")
    backbone = transformers.SwinConfig(**dict(_STAGES, depths=[1, 1, 1, 1], num_heads=[2, 2, 2, 2]),
        out_features=["stage1", "stage2", "stage3", "stage4"])  # fmt: skip
    decoder = transformers.DetrConfig(**dict(_DETR, backbone_config=_small_resnet()))
    sizes = {
        "backbone_config": backbone, "decoder_config": decoder, "fpn_feature_size": 32,
        "mask_feature_size": 32, "num_labels": 5,
    }  # fmt: skip
    return from_config("MaskFormerForInstanceSegmentation", sizes, pixel_values=image(64))


@SHELF.add("transformers/mask2former", loops=2, notes=("fused kernel",))
def _mask2former() -> Example:
    """Its decoder layers share the head that predicts the masks."""
    transformers = load("transformers")
    backbone = transformers.SwinConfig(**dict(_STAGES, depths=[1, 1, 1, 1], num_heads=[2, 2, 2, 2]),
        out_features=["stage1", "stage2", "stage3", "stage4"])  # fmt: skip
    sizes = {
        "backbone_config": backbone, "feature_size": 32, "mask_feature_size": 32, "hidden_dim": 32,
        "encoder_feedforward_dim": 32, "dim_feedforward": 32, "encoder_layers": 1, "decoder_layers": 2,
        "num_attention_heads": 4, "num_queries": 6, "num_labels": 5, "feature_strides": [4, 8, 16, 32],
    }  # fmt: skip
    return from_config("Mask2FormerForUniversalSegmentation", sizes, pixel_values=image(64))


@SHELF.add("transformers/sam")
def _sam() -> Example:
    sizes = {
        "vision_config": dict(_SMALL, image_size=64, patch_size=16, output_channels=16, window_size=2,
        global_attn_indexes=[1], num_pos_feats=8, mlp_dim=32, ), "prompt_encoder_config": {"hidden_size": 16,
        "image_size": 64, "patch_size": 16, "mask_input_channels": 4},
        "mask_decoder_config": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "mlp_dim": 32, "iou_head_hidden_dim": 16, },
    }  # fmt: skip
    points = torch.tensor([[[[20.0, 30.0], [40.0, 12.0]]]])
    return from_config("SamModel", sizes, pixel_values=image(64), input_points=points)


# --- video


@SHELF.add("transformers/timesformer")
def _timesformer() -> Example:
    sizes = dict(_VIT, num_frames=4)
    return from_config(
        "TimesformerForVideoClassification",
        sizes,
        pixel_values=torch.randn(1, 4, 3, 32, 32),
    )


@SHELF.add("transformers/videomae", sources="its table of positions is a plain attribute, not a buffer")
def _videomae() -> Example:
    sizes = dict(_VIT, num_frames=4, tubelet_size=2)
    return from_config("VideoMAEForVideoClassification", sizes, pixel_values=torch.randn(1, 4, 3, 32, 32))


@SHELF.add("transformers/vivit")
def _vivit() -> Example:
    sizes = dict(_VIT, num_frames=4, tubelet_size=[2, 8, 8])
    return from_config("VivitForVideoClassification", sizes, pixel_values=torch.randn(1, 4, 3, 32, 32))
