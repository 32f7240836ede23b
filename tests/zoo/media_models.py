"""transformers: models of images, video, sound, series, and of several of these at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.zoo.specimen import Example, Loops, Shelf, image, load_transformers

SHELF = Shelf()

VOCAB = 99
_SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
_VIT = {**_SMALL, "image_size": 32, "patch_size": 8}
_TEXT = {**_SMALL, "vocab_size": VOCAB, "max_position_embeddings": 32}
_STAGES = {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "image_size": 32, "patch_size": 2}


def _make(model: str, config: str, sizes: dict[str, Any], **kwargs: Any) -> Example:
    transformers = load_transformers()
    made = getattr(transformers, config)(**sizes)
    return Example(getattr(transformers, model)(made), (), kwargs)


def _text(length: int = 10, *, batch: int = 1) -> Tensor:
    return torch.randint(3, VOCAB, (batch, length))


# --- images: name, model, configuration, sizes, image size, facts

_IMAGES: tuple[tuple[str, str, str, dict[str, Any], int, dict[str, Any]], ...] = (
    ("vit", "ViTForImageClassification", "ViTConfig", _VIT, 32, {}),
    ("deit", "DeiTForImageClassificationWithTeacher", "DeiTConfig", _VIT, 32, {}),
    ("beit", "BeitForImageClassification", "BeitConfig", _VIT, 32, {}),
    ("data2vec_vision", "Data2VecVisionModel", "Data2VecVisionConfig", _VIT, 32, {}),
    ("dinov2", "Dinov2Model", "Dinov2Config", _VIT, 32, {}),
    ("dinov3", "DINOv3ViTModel", "DINOv3ViTConfig", _VIT, 32, {}),
    ("vit_mae", "ViTMAEForPreTraining", "ViTMAEConfig", {
        **_VIT, "decoder_hidden_size": 16, "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 2,
        "decoder_intermediate_size": 32}, 32, {}),
    ("ijepa", "IJepaModel", "IJepaConfig", _VIT, 32, {}),
    ("swin", "SwinForImageClassification", "SwinConfig", _STAGES, 32, {}),
    ("swinv2", "Swinv2ForImageClassification", "Swinv2Config", _STAGES, 32, {}),
    ("swin2sr", "Swin2SRForImageSuperResolution", "Swin2SRConfig", {
        **_STAGES, "patch_size": 1, "upscale": 2}, 16, {}),
    ("cvt", "CvtForImageClassification", "CvtConfig", {
        "embed_dim": [16, 32, 48], "num_heads": [1, 2, 3], "depth": [1, 2, 3]}, 32, {}),
    ("pvt", "PvtForImageClassification", "PvtConfig", {
        "image_size": 64, "depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 64, 64],
        "num_attention_heads": [1, 2, 4, 4]}, 64, {}),
    ("segformer", "SegformerForSemanticSegmentation", "SegformerConfig", {
        "depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 32, 64], "num_attention_heads": [1, 2, 2, 4],
        "decoder_hidden_size": 32}, 64, {}),
    ("glpn", "GLPNForDepthEstimation", "GLPNConfig", {
        "depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 32, 64], "num_attention_heads": [1, 2, 2, 4],
        "decoder_hidden_size": 16}, 64, {}),
    ("dpt", "DPTForDepthEstimation", "DPTConfig", {
        **_VIT, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 16, 16, 32],
        "fusion_hidden_size": 16, "is_hybrid": False}, 32, {}),
    ("levit", "LevitForImageClassification", "LevitConfig", {
        "image_size": 64, "hidden_sizes": [16, 32, 48], "num_attention_heads": [1, 2, 3], "depths": [1, 1, 1],
        "key_dim": [8, 8, 8]}, 64, {}),
    ("mobilevit", "MobileViTForSemanticSegmentation", "MobileViTConfig", {"image_size": 64}, 64, {}),
    ("convnext", "ConvNextForImageClassification", "ConvNextConfig", {
        "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}, 32, {}),
    ("poolformer", "PoolFormerForImageClassification", "PoolFormerConfig", {
        "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}, 64, {}),
    ("focalnet", "FocalNetForImageClassification", "FocalNetConfig", {
        "image_size": 32, "embed_dim": 16, "depths": [1, 1]}, 32, {}),
    ("hiera", "HieraForImageClassification", "HieraConfig", {
        "embed_dim": 16, "image_size": [32, 32], "patch_stride": [2, 2], "patch_size": [3, 3],
        "patch_padding": [1, 1], "depths": [1, 1, 1], "num_heads": [1, 2, 4], "num_query_pool": 2,
        "masked_unit_size": [4, 4]}, 32, {"loops": Loops.SOME}),
    ("bit", "BitForImageClassification", "BitConfig", {
        "embedding_size": 16, "hidden_sizes": [32, 32, 64, 64], "depths": [1, 1, 1, 1], "num_groups": 4}, 32, {}),
    ("imagegpt", "ImageGPTForImageClassification", "ImageGPTConfig", {
        "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": VOCAB}, 16, {}),
    ("upernet", "UperNetForSemanticSegmentation", "UperNetConfig", {"hidden_size": 16, "pool_scales": [1, 2],
        "auxiliary_channels": 8}, 64, {}),
    ("yolos", "YolosForObjectDetection", "YolosConfig", {
        **_VIT, "image_size": [32, 32], "num_detection_tokens": 5}, 32, {}),
    ("superpoint", "SuperPointForKeypointDetection", "SuperPointConfig", {
        "encoder_hidden_sizes": [8, 8, 16, 16], "decoder_hidden_size": 16, "keypoint_decoder_dim": 65,
        "descriptor_decoder_dim": 16}, 64, {}),
    ("seggpt", "SegGptModel", "SegGptConfig", {
        **_SMALL, "image_size": [64, 32], "patch_size": 8, "decoder_hidden_size": 8, "mlp_dim": 32,
        "pretrain_image_size": 32, "merge_index": 0, "intermediate_hidden_state_indices": [0, 1]}, 32, {}),
)  # fmt: skip


def _image_input(name: str, size: int) -> dict[str, Tensor]:
    if name == "imagegpt":
        return {"input_ids": torch.randint(0, VOCAB - 1, (2, size))}
    if name == "seggpt":
        return {
            "pixel_values": image(32), "prompt_pixel_values": image(32), "prompt_masks": image(32),
        }  # fmt: skip
    return {"pixel_values": image(size)}


def _add_image(
    name: str, model: str, config: str, sizes: dict[str, Any], size: int, facts: dict[str, Any]
) -> None:
    @SHELF.add(f"transformers/{name}", **facts)
    def build() -> Example:
        return _make(model, config, sizes, **_image_input(name, size))


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
    return load_transformers().ResNetConfig(
        embedding_size=8,
        hidden_sizes=[16, 16, 32, 32],
        depths=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
    )


def _detr_like(model: str, config: str, **more: Any) -> Example:
    sizes = {**_DETR, **more, "backbone_config": _small_resnet()}
    return _make(model, config, sizes, pixel_values=image(64))


@SHELF.add("transformers/detr")
def _detr() -> Example:
    return _detr_like("DetrForObjectDetection", "DetrConfig")


@SHELF.add("transformers/conditional_detr")
def _conditional_detr() -> Example:
    return _detr_like("ConditionalDetrForObjectDetection", "ConditionalDetrConfig")


@SHELF.add("transformers/deformable_detr")
def _deformable_detr() -> Example:
    return _detr_like(
        "DeformableDetrForObjectDetection", "DeformableDetrConfig", num_feature_levels=3,
        encoder_n_points=2, decoder_n_points=2,
    )  # fmt: skip


@SHELF.add("transformers/dab_detr")
def _dab_detr() -> Example:
    sizes = {**_DETR, "hidden_size": 32}
    del sizes["d_model"]
    return _make(
        "DabDetrForObjectDetection", "DabDetrConfig", {**sizes, "backbone_config": _small_resnet()},
        pixel_values=image(64),
    )  # fmt: skip


@SHELF.add("transformers/rt_detr")
def _rt_detr() -> Example:
    transformers = load_transformers()
    backbone = transformers.RTDetrResNetConfig(
        embedding_size=8, hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    sizes = {
        "backbone_config": backbone, "encoder_hidden_dim": 32, "encoder_in_channels": [16, 32, 32], "d_model": 32,
        "encoder_layers": 1, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_queries": 6,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "decoder_in_channels": [32, 32, 32],
        "decoder_n_points": 2, "num_denoising": 0, "num_labels": 5, "use_timm_backbone": False,
    }  # fmt: skip
    return _make("RTDetrForObjectDetection", "RTDetrConfig", sizes, pixel_values=image(64))


@SHELF.add("transformers/maskformer")
def _maskformer() -> Example:
    transformers = load_transformers()
    backbone = transformers.SwinConfig(**{**_STAGES, "depths": [1, 1, 1, 1], "num_heads": [2, 2, 2, 2]},
        out_features=["stage1", "stage2", "stage3", "stage4"])  # fmt: skip
    decoder = transformers.DetrConfig(**{**_DETR, "backbone_config": _small_resnet()})
    sizes = {
        "backbone_config": backbone, "decoder_config": decoder, "fpn_feature_size": 32, "mask_feature_size": 32,
        "num_labels": 5,
    }  # fmt: skip
    return _make("MaskFormerForInstanceSegmentation", "MaskFormerConfig", sizes, pixel_values=image(64))


@SHELF.add("transformers/mask2former")
def _mask2former() -> Example:
    transformers = load_transformers()
    backbone = transformers.SwinConfig(**{**_STAGES, "depths": [1, 1, 1, 1], "num_heads": [2, 2, 2, 2]},
        out_features=["stage1", "stage2", "stage3", "stage4"])  # fmt: skip
    sizes = {
        "backbone_config": backbone, "feature_size": 32, "mask_feature_size": 32, "hidden_dim": 32,
        "encoder_feedforward_dim": 32, "dim_feedforward": 32, "encoder_layers": 1, "decoder_layers": 2,
        "num_attention_heads": 4, "num_queries": 6, "num_labels": 5, "feature_strides": [4, 8, 16, 32],
    }  # fmt: skip
    return _make("Mask2FormerForUniversalSegmentation", "Mask2FormerConfig", sizes, pixel_values=image(64))


@SHELF.add("transformers/sam")
def _sam() -> Example:
    sizes = {
        "vision_config": {
            **_SMALL, "image_size": 64, "patch_size": 16, "output_channels": 16, "window_size": 2,
            "global_attn_indexes": [1], "num_pos_feats": 8, "mlp_dim": 32,
        },
        "prompt_encoder_config": {"hidden_size": 16, "image_size": 64, "patch_size": 16, "mask_input_channels": 4},
        "mask_decoder_config": {
            "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "mlp_dim": 32,
            "iou_head_hidden_dim": 16,
        },
    }  # fmt: skip
    points = torch.tensor([[[[20.0, 30.0], [40.0, 12.0]]]])
    return _make("SamModel", "SamConfig", sizes, pixel_values=image(64), input_points=points)


# --- video


@SHELF.add("transformers/timesformer")
def _timesformer() -> Example:
    sizes = {**_VIT, "num_frames": 4}
    return _make(
        "TimesformerForVideoClassification", "TimesformerConfig", sizes, pixel_values=torch.randn(1, 4, 3, 32, 32)
    )


@SHELF.add("transformers/videomae")
def _videomae() -> Example:
    sizes = {**_VIT, "num_frames": 4, "tubelet_size": 2}
    return _make(
        "VideoMAEForVideoClassification", "VideoMAEConfig", sizes, pixel_values=torch.randn(1, 4, 3, 32, 32)
    )


@SHELF.add("transformers/vivit")
def _vivit() -> Example:
    sizes = {**_VIT, "num_frames": 4, "tubelet_size": [2, 8, 8]}
    return _make("VivitForVideoClassification", "VivitConfig", sizes, pixel_values=torch.randn(1, 4, 3, 32, 32))


# --- sound

_WHISPER = {
    "vocab_size": VOCAB, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_source_positions": 50,
    "max_target_positions": 20, "num_mel_bins": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 1,
}  # fmt: skip
_WAVE = {
    **_SMALL, "vocab_size": VOCAB, "conv_dim": [16, 16], "conv_kernel": [8, 4], "conv_stride": [4, 4],
    "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


@SHELF.add("transformers/whisper", quick=True)
def _whisper() -> Example:
    return _make(
        "WhisperForConditionalGeneration", "WhisperConfig", _WHISPER,
        input_features=torch.randn(1, 16, 100), decoder_input_ids=_text(8),
    )  # fmt: skip


@SHELF.add("transformers/wav2vec2")
def _wav2vec2() -> Example:
    return _make("Wav2Vec2ForCTC", "Wav2Vec2Config", _WAVE, input_values=torch.randn(2, 800))


@SHELF.add("transformers/wav2vec2_conformer")
def _wav2vec2_conformer() -> Example:
    sizes = {**_WAVE, "position_embeddings_type": "relative", "max_source_positions": 64}
    return _make("Wav2Vec2ConformerForCTC", "Wav2Vec2ConformerConfig", sizes, input_values=torch.randn(2, 800))


@SHELF.add("transformers/hubert")
def _hubert() -> Example:
    return _make("HubertForCTC", "HubertConfig", _WAVE, input_values=torch.randn(2, 800))


@SHELF.add("transformers/hubert, training", training=True)
def _hubert_training() -> Example:
    """With dropout, skipped layers and masked time, which NumPy and torch draw."""
    sizes = {**_WAVE, "mask_time_length": 2, "mask_time_prob": 0.3, "layerdrop": 0.3}
    return _make("HubertModel", "HubertConfig", sizes, input_values=torch.randn(2, 800))


@SHELF.add("transformers/wavlm")
def _wavlm() -> Example:
    return _make("WavLMForCTC", "WavLMConfig", _WAVE, input_values=torch.randn(2, 800))


@SHELF.add("transformers/sew")
def _sew() -> Example:
    return _make("SEWForCTC", "SEWConfig", _WAVE, input_values=torch.randn(2, 800))


@SHELF.add("transformers/audio_spectrogram_transformer")
def _spectrogram() -> Example:
    sizes = {**_SMALL, "patch_size": 4, "frequency_stride": 4, "time_stride": 4, "max_length": 24, "num_mel_bins": 16}
    return _make("ASTForAudioClassification", "ASTConfig", sizes, input_values=torch.randn(1, 24, 16))


@SHELF.add("transformers/speech_to_text")
def _speech_to_text() -> Example:
    sizes = {
        **_WHISPER, "max_source_positions": 100, "input_feat_per_channel": 16, "conv_channels": 16,
        "num_conv_layers": 2,
    }  # fmt: skip
    return _make(
        "Speech2TextForConditionalGeneration", "Speech2TextConfig", sizes,
        input_features=torch.randn(1, 60, 16), decoder_input_ids=_text(8),
    )  # fmt: skip


@SHELF.add("transformers/encodec")
def _encodec() -> Example:
    """A codec with an LSTM between two towers of convolutions."""
    sizes = {
        "num_filters": 4, "hidden_size": 16, "codebook_size": 16, "codebook_dim": 16, "upsampling_ratios": [4, 2],
        "num_lstm_layers": 1, "target_bandwidths": [6.0], "sampling_rate": 8000,
    }  # fmt: skip
    return _make("EncodecModel", "EncodecConfig", sizes, input_values=torch.randn(1, 1, 400))


@SHELF.add("transformers/univnet")
def _univnet() -> Example:
    sizes = {
        "model_in_channels": 8, "model_hidden_channels": 8, "num_mel_bins": 10, "resblock_kernel_sizes": [3, 3],
        "resblock_stride_sizes": [2, 2], "resblock_dilation_sizes": [[1, 3], [1, 3]],
        "kernel_predictor_num_blocks": 1, "kernel_predictor_hidden_channels": 8,
    }  # fmt: skip
    return _make(
        "UnivNetModel", "UnivNetConfig", sizes,
        input_features=torch.randn(1, 6, 10), noise_sequence=torch.randn(1, 6, 8),
    )  # fmt: skip


@SHELF.add("transformers/clap")
def _clap() -> Example:
    sizes = {
        "audio_config": {
            "spec_size": 32, "patch_size": 4, "patch_stride": [4, 4], "window_size": 2, "patch_embeds_hidden_size": 8,
            "depths": [1, 1], "num_attention_heads": [2, 2], "num_mel_bins": 16, "hidden_size": 16,
            "num_hidden_layers": 2, "enable_fusion": False,
        },
        "text_config": {**_TEXT, "projection_dim": 16, "pad_token_id": 0},
        "projection_dim": 16,
    }  # fmt: skip
    return _make("ClapModel", "ClapConfig", sizes, input_ids=_text(), input_features=torch.randn(1, 1, 32, 16))


# --- text with images


@SHELF.add("transformers/clip", quick=True)
def _clip() -> Example:
    sizes = {"text_config": {**_TEXT, "eos_token_id": 2}, "vision_config": _VIT, "projection_dim": 16}
    return _make("CLIPModel", "CLIPConfig", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/clip, training", training=True)
def _clip_training() -> Example:
    sizes = {"text_config": {**_TEXT, "eos_token_id": 2}, "vision_config": _VIT, "projection_dim": 16}
    pair = {"input_ids": _text(batch=2), "pixel_values": image(32, batch=2), "return_loss": True}
    return _make("CLIPModel", "CLIPConfig", sizes, **pair)


@SHELF.add("transformers/siglip")
def _siglip() -> Example:
    sizes = {"text_config": _TEXT, "vision_config": _VIT}
    return _make("SiglipModel", "SiglipConfig", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/clipseg")
def _clipseg() -> Example:
    sizes = {
        "text_config": {**_TEXT, "eos_token_id": 2}, "vision_config": _VIT, "projection_dim": 16,
        "extract_layers": [0, 1], "reduce_dim": 8, "decoder_num_attention_heads": 2, "decoder_intermediate_size": 16,
    }  # fmt: skip
    return _make("CLIPSegForImageSegmentation", "CLIPSegConfig", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/owlvit")
def _owlvit() -> Example:
    sizes = {"text_config": _TEXT, "vision_config": _VIT, "projection_dim": 32}
    return _make(
        "OwlViTForObjectDetection", "OwlViTConfig", sizes, input_ids=_text(batch=2), pixel_values=image(32)
    )


@SHELF.add("transformers/groupvit")
def _groupvit() -> Example:
    sizes = {
        "text_config": {**_TEXT, "eos_token_id": 2},
        "vision_config": {
            **_VIT, "depths": [1, 1, 1], "num_group_tokens": [8, 4, 0], "num_output_groups": [8, 4, 0],
        },
        "projection_dim": 16, "projection_intermediate_dim": 16,
    }  # fmt: skip
    return _make("GroupViTModel", "GroupViTConfig", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/blip")
def _blip() -> Example:
    text = {**_TEXT, "encoder_hidden_size": 32, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
        "sep_token_id": 2}  # fmt: skip
    sizes = {"text_config": text, "vision_config": _VIT, "projection_dim": 16}
    return _make("BlipForConditionalGeneration", "BlipConfig", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/blip_2")
def _blip_2() -> Example:
    sizes = {
        "vision_config": _VIT,
        "qformer_config": {**_TEXT, "encoder_hidden_size": 32},
        "text_config": {
            "model_type": "opt", "vocab_size": VOCAB, "hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 1,
            "num_attention_heads": 4, "max_position_embeddings": 64, "word_embed_proj_dim": 32,
        },
        "num_query_tokens": 4, "image_token_index": VOCAB - 1,
    }  # fmt: skip
    ids = _text(10)
    ids[:, :4] = VOCAB - 1
    return _make("Blip2ForConditionalGeneration", "Blip2Config", sizes, input_ids=ids, pixel_values=image(32))


@SHELF.add("transformers/llava")
def _llava() -> Example:
    sizes = {
        "vision_config": {"model_type": "clip_vision_model", **_VIT},
        "text_config": {"model_type": "llama", **_TEXT, "max_position_embeddings": 64},
        "image_token_index": VOCAB - 1, "vision_feature_layer": -1,
    }  # fmt: skip
    ids = _text(20)
    ids[:, 1:17] = VOCAB - 1
    return _make("LlavaForConditionalGeneration", "LlavaConfig", sizes, input_ids=ids, pixel_values=image(32))


@SHELF.add("transformers/qwen2_vl")
def _qwen2_vl() -> Example:
    sizes = {
        "text_config": {
            **_TEXT, "num_key_value_heads": 2, "max_position_embeddings": 64,
            "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0},
        },
        "vision_config": {
            "depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "patch_size": 4, "mlp_ratio": 2,
            "spatial_merge_size": 2, "temporal_patch_size": 2,
        },
        "image_token_id": VOCAB - 1, "video_token_id": VOCAB - 2, "vision_start_token_id": VOCAB - 3,
        "vision_end_token_id": VOCAB - 4,
    }  # fmt: skip
    ids = torch.randint(3, VOCAB - 5, (1, 12))
    ids[:, 1] = VOCAB - 3
    ids[:, 2:6] = VOCAB - 1
    ids[:, 6] = VOCAB - 4
    return _make(
        "Qwen2VLForConditionalGeneration", "Qwen2VLConfig", sizes, input_ids=ids,
        pixel_values=torch.randn(16, 3 * 2 * 4 * 4), image_grid_thw=torch.tensor([[1, 4, 4]]),
        mm_token_type_ids=(ids == VOCAB - 1).long(),
    )  # fmt: skip


@SHELF.add("transformers/vilt")
def _vilt() -> Example:
    sizes = {**_VIT, "vocab_size": VOCAB, "max_position_embeddings": 32, "max_image_length": -1}
    return _make("ViltModel", "ViltConfig", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/visual_bert")
def _visual_bert() -> Example:
    sizes = {**_TEXT, "visual_embedding_dim": 16}
    return _make(
        "VisualBertModel", "VisualBertConfig", sizes, input_ids=_text(), visual_embeds=torch.randn(1, 5, 16)
    )


@SHELF.add("transformers/lxmert")
def _lxmert() -> Example:
    sizes = {**_SMALL, "vocab_size": VOCAB, "l_layers": 1, "x_layers": 1, "r_layers": 1, "visual_feat_dim": 16}
    del sizes["num_hidden_layers"]
    return _make(
        "LxmertModel", "LxmertConfig", sizes, input_ids=_text(), visual_feats=torch.randn(1, 5, 16),
        visual_pos=torch.rand(1, 5, 4),
    )  # fmt: skip


@SHELF.add("transformers/flava")
def _flava() -> Example:
    sizes = {
        "image_config": _VIT, "text_config": _TEXT, "multimodal_config": _SMALL, "hidden_size": 32,
        "projection_dim": 16,
    }  # fmt: skip
    return _make("FlavaModel", "FlavaConfig", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/git")
def _git() -> Example:
    sizes = {**_TEXT, "vision_config": _VIT, "max_position_embeddings": 64}
    return _make("GitForCausalLM", "GitConfig", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/layoutlm")
def _layoutlm() -> Example:
    sizes = {**_TEXT, "max_2d_position_embeddings": 100}
    corners = torch.randint(0, 50, (1, 10, 2))
    boxes = torch.cat([corners, corners + torch.randint(1, 40, (1, 10, 2))], -1)
    return _make("LayoutLMForTokenClassification", "LayoutLMConfig", sizes, input_ids=_text(), bbox=boxes)


@SHELF.add("transformers/layoutlmv3")
def _layoutlmv3() -> Example:
    sizes = {
        **_TEXT, "max_2d_position_embeddings": 100, "coordinate_size": 6, "shape_size": 4, "input_size": 32,
        "patch_size": 8, "rel_pos_bins": 8, "max_rel_pos": 16, "rel_2d_pos_bins": 8, "max_rel_2d_pos": 16,
    }  # fmt: skip
    corners = torch.randint(0, 50, (1, 10, 2))
    boxes = torch.cat([corners, corners + torch.randint(1, 40, (1, 10, 2))], -1)
    return _make(
        "LayoutLMv3Model", "LayoutLMv3Config", sizes, input_ids=_text(), bbox=boxes, pixel_values=image(32)
    )


@SHELF.add("transformers/trocr")
def _trocr() -> Example:
    """A ViT that reads and a decoder that writes."""
    transformers = load_transformers()
    decoder = transformers.TrOCRConfig(
        vocab_size=VOCAB, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=64,
        max_position_embeddings=32, is_decoder=True, add_cross_attention=True, cross_attention_hidden_size=32,
    )  # fmt: skip
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.ViTConfig(**_VIT), decoder
    )
    model = transformers.VisionEncoderDecoderModel(config)
    return Example(model, (), {"pixel_values": image(32), "decoder_input_ids": _text(8)})


# --- series


@SHELF.add("transformers/time_series_transformer")
def _time_series() -> Example:
    sizes = {
        "prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "num_time_features": 2, "d_model": 16,
        "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
        "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
    }  # fmt: skip
    series = {
        "past_values": torch.randn(2, 10), "past_time_features": torch.randn(2, 10, 2),
        "past_observed_mask": torch.ones(2, 10), "future_values": torch.randn(2, 4),
        "future_time_features": torch.randn(2, 4, 2),
    }  # fmt: skip
    return _make("TimeSeriesTransformerModel", "TimeSeriesTransformerConfig", sizes, **series)


@SHELF.add("transformers/autoformer")
def _autoformer() -> Example:
    sizes = {
        "prediction_length": 4, "context_length": 8, "label_length": 4, "lags_sequence": [1, 2],
        "num_time_features": 2, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
        "moving_average": 3,
    }  # fmt: skip
    series = {
        "past_values": torch.randn(2, 10), "past_time_features": torch.randn(2, 10, 2),
        "past_observed_mask": torch.ones(2, 10), "future_values": torch.randn(2, 4),
        "future_time_features": torch.randn(2, 4, 2),
    }  # fmt: skip
    return _make("AutoformerModel", "AutoformerConfig", sizes, **series)


@SHELF.add("transformers/patchtst")
def _patchtst() -> Example:
    sizes = {
        "num_input_channels": 2, "context_length": 16, "patch_length": 4, "patch_stride": 4, "d_model": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 32, "prediction_length": 4,
    }  # fmt: skip
    return _make("PatchTSTForPrediction", "PatchTSTConfig", sizes, past_values=torch.randn(2, 16, 2))


@SHELF.add("transformers/patchtsmixer")
def _patchtsmixer() -> Example:
    sizes = {
        "num_input_channels": 2, "context_length": 16, "patch_length": 4, "patch_stride": 4, "d_model": 16,
        "num_layers": 2, "prediction_length": 4, "mode": "mix_channel",
    }  # fmt: skip
    return _make("PatchTSMixerForPrediction", "PatchTSMixerConfig", sizes, past_values=torch.randn(2, 16, 2))


@SHELF.add("transformers/decision_transformer")
def _decision_transformer() -> Example:
    sizes = {"state_dim": 5, "act_dim": 3, "hidden_size": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
        "max_ep_len": 20}  # fmt: skip
    return _make(
        "DecisionTransformerModel", "DecisionTransformerConfig", sizes,
        states=torch.randn(1, 4, 5), actions=torch.randn(1, 4, 3), rewards=torch.randn(1, 4, 1),
        returns_to_go=torch.randn(1, 4, 1), timesteps=torch.arange(4)[None], attention_mask=torch.ones(1, 4),
    )  # fmt: skip
