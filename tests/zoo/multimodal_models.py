"""transformers: models of text together with images or sound."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.zoo.specimen import Example, Shelf, from_config, image, load

SHELF = Shelf()

VOCAB = 99
_SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
_VIT = dict(_SMALL, image_size=32, patch_size=8)
_TEXT = dict(_SMALL, vocab_size=VOCAB, max_position_embeddings=32)


def _text(length: int = 10, *, batch: int = 1) -> Tensor:
    return torch.randint(3, VOCAB, (batch, length))


@SHELF.add("transformers/clap")
def _clap() -> Example:
    sizes = {
        "audio_config": {"spec_size": 32, "patch_size": 4, "patch_stride": [4, 4], "window_size": 2,
        "patch_embeds_hidden_size": 8, "depths": [1, 1], "num_attention_heads": [2, 2], "num_mel_bins": 16,
        "hidden_size": 16, "num_hidden_layers": 2, "enable_fusion": False, }, "text_config": dict(_TEXT,
        projection_dim=16, pad_token_id=0), "projection_dim": 16,
    }  # fmt: skip
    return from_config("ClapModel", sizes, input_ids=_text(), input_features=torch.randn(1, 1, 32, 16))


# --- text with images


@SHELF.add("transformers/clip", quick=True)
def _clip() -> Example:
    sizes = {"text_config": dict(_TEXT, eos_token_id=2), "vision_config": _VIT, "projection_dim": 16}
    return from_config("CLIPModel", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/clip, training", training=True)
def _clip_training() -> Example:
    sizes = {"text_config": dict(_TEXT, eos_token_id=2), "vision_config": _VIT, "projection_dim": 16}
    pair = {"input_ids": _text(batch=2), "pixel_values": image(32, batch=2), "return_loss": True}
    return from_config("CLIPModel", sizes, **pair)


@SHELF.add("transformers/siglip", notes=("fused kernel",))
def _siglip() -> Example:
    sizes = {"text_config": _TEXT, "vision_config": _VIT}
    return from_config("SiglipModel", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/clipseg")
def _clipseg() -> Example:
    sizes = {
        "text_config": dict(_TEXT, eos_token_id=2), "vision_config": _VIT, "projection_dim": 16,
        "extract_layers": [0, 1], "reduce_dim": 8, "decoder_num_attention_heads": 2,
        "decoder_intermediate_size": 16,
    }  # fmt: skip
    return from_config("CLIPSegForImageSegmentation", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/owlvit")
def _owlvit() -> Example:
    sizes = {"text_config": _TEXT, "vision_config": _VIT, "projection_dim": 32}
    return from_config("OwlViTForObjectDetection", sizes, input_ids=_text(batch=2), pixel_values=image(32))


@SHELF.add("transformers/groupvit")
def _groupvit() -> Example:
    sizes = {
        "text_config": dict(_TEXT, eos_token_id=2), "vision_config": dict(_VIT, depths=[1, 1, 1],
        num_group_tokens=[8, 4, 0], num_output_groups=[8, 4, 0], ), "projection_dim": 16,
        "projection_intermediate_dim": 16,
    }  # fmt: skip
    return from_config("GroupViTModel", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/blip", loops=2)
def _blip() -> Example:
    """The last norm of its vision tower runs again on a token of its own result."""
    text = dict(_TEXT, encoder_hidden_size=32, bos_token_id=1, eos_token_id=2, pad_token_id=0,
        sep_token_id=2)  # fmt: skip
    sizes = {"text_config": text, "vision_config": _VIT, "projection_dim": 16}
    return from_config("BlipForConditionalGeneration", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/blip_2", loops=2)
def _blip_2() -> Example:
    """As BLIP does, it runs a norm on its own result."""
    sizes = {
        "vision_config": _VIT, "qformer_config": dict(_TEXT, encoder_hidden_size=32),
        "text_config": {"model_type": "opt", "vocab_size": VOCAB, "hidden_size": 32, "ffn_dim": 64,
        "num_hidden_layers": 1, "num_attention_heads": 4, "max_position_embeddings": 64,
        "word_embed_proj_dim": 32, }, "num_query_tokens": 4, "image_token_index": VOCAB - 1,
    }  # fmt: skip
    ids = _text(10)
    ids[:, :4] = VOCAB - 1
    return from_config("Blip2ForConditionalGeneration", sizes, input_ids=ids, pixel_values=image(32))


@SHELF.add("transformers/llava")
def _llava() -> Example:
    sizes = {
        "vision_config": {"model_type": "clip_vision_model", **_VIT}, "text_config": {"model_type": "llama",
        **_TEXT, "max_position_embeddings": 64}, "image_token_index": VOCAB - 1, "vision_feature_layer": -1,
    }  # fmt: skip
    ids = _text(20)
    ids[:, 1:17] = VOCAB - 1
    return from_config("LlavaForConditionalGeneration", sizes, input_ids=ids, pixel_values=image(32))


@SHELF.add("transformers/qwen2_vl")
def _qwen2_vl() -> Example:
    sizes = {
        "text_config": dict(_TEXT, num_key_value_heads=2, max_position_embeddings=64,
        rope_parameters={"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}, ),
        "vision_config": {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "patch_size": 4,
        "mlp_ratio": 2, "spatial_merge_size": 2, "temporal_patch_size": 2, }, "image_token_id": VOCAB - 1,
        "video_token_id": VOCAB - 2, "vision_start_token_id": VOCAB - 3, "vision_end_token_id": VOCAB - 4,
    }  # fmt: skip
    ids = torch.randint(3, VOCAB - 5, (1, 12))
    ids[:, 1] = VOCAB - 3
    ids[:, 2:6] = VOCAB - 1
    ids[:, 6] = VOCAB - 4
    return from_config(
        "Qwen2VLForConditionalGeneration", sizes, input_ids=ids,
        pixel_values=torch.randn(16, 3 * 2 * 4 * 4), image_grid_thw=torch.tensor([[1, 4, 4]]),
        mm_token_type_ids=(ids == VOCAB - 1).long(),
    )  # fmt: skip


@SHELF.add("transformers/vilt")
def _vilt() -> Example:
    sizes = dict(_VIT, vocab_size=VOCAB, max_position_embeddings=32, max_image_length=-1)
    return from_config("ViltModel", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/visual_bert")
def _visual_bert() -> Example:
    sizes = dict(_TEXT, visual_embedding_dim=16)
    return from_config("VisualBertModel", sizes, input_ids=_text(), visual_embeds=torch.randn(1, 5, 16))


@SHELF.add("transformers/lxmert")
def _lxmert() -> Example:
    sizes = dict(
        _SMALL,
        vocab_size=VOCAB,
        l_layers=1,
        x_layers=1,
        r_layers=1,
        visual_feat_dim=16,
    )
    del sizes["num_hidden_layers"]
    return from_config(
        "LxmertModel", sizes, input_ids=_text(), visual_feats=torch.randn(1, 5, 16),
        visual_pos=torch.rand(1, 5, 4),
    )  # fmt: skip


@SHELF.add("transformers/flava")
def _flava() -> Example:
    sizes = {
        "image_config": _VIT, "text_config": _TEXT, "multimodal_config": _SMALL, "hidden_size": 32,
        "projection_dim": 16,
    }  # fmt: skip
    return from_config("FlavaModel", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/git")
def _git() -> Example:
    sizes = dict(_TEXT, vision_config=_VIT, max_position_embeddings=64)
    return from_config("GitForCausalLM", sizes, input_ids=_text(), pixel_values=image(32))


@SHELF.add("transformers/layoutlm")
def _layoutlm() -> Example:
    sizes = dict(_TEXT, max_2d_position_embeddings=100)
    corners = torch.randint(0, 50, (1, 10, 2))
    boxes = torch.cat([corners, corners + torch.randint(1, 40, (1, 10, 2))], -1)
    return from_config("LayoutLMForTokenClassification", sizes, input_ids=_text(), bbox=boxes)


@SHELF.add("transformers/layoutlmv3")
def _layoutlmv3() -> Example:
    sizes = dict(_TEXT, max_2d_position_embeddings=100, coordinate_size=6, shape_size=4, input_size=32,
        patch_size=8, rel_pos_bins=8, max_rel_pos=16, rel_2d_pos_bins=8, max_rel_2d_pos=16,
    )  # fmt: skip
    corners = torch.randint(0, 50, (1, 10, 2))
    boxes = torch.cat([corners, corners + torch.randint(1, 40, (1, 10, 2))], -1)
    return from_config("LayoutLMv3Model", sizes, input_ids=_text(), bbox=boxes, pixel_values=image(32))


@SHELF.add("transformers/trocr")
def _trocr() -> Example:
    """A ViT that reads and a decoder that writes."""
    transformers = load("transformers")
    decoder = transformers.TrOCRConfig(
        vocab_size=VOCAB, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=64,
        max_position_embeddings=32, is_decoder=True, add_cross_attention=True, cross_attention_hidden_size=32,
    )  # fmt: skip
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.ViTConfig(**_VIT), decoder
    )
    model = transformers.VisionEncoderDecoderModel(config)
    return Example(model, (), {"pixel_values": image(32), "decoder_input_ids": _text(8)})
