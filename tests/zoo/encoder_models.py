"""transformers: models that read text, and models that read one text and write another."""

from __future__ import annotations

from typing import Any

import torch

from tests.zoo.specimen import Example, Shelf, load
from tests.zoo.text import SMALL, VOCAB, Row, padding, reader, text

SHELF = Shelf()

_SCRIPTED = {"sources": "constants of its scripted functions, which no call makes"}

_BART = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 2,
}
_T5 = {
    "d_model": 32,
    "d_ff": 64,
    "d_kv": 8,
    "num_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}

# Encoders, each with a padding mask
_ENCODERS: tuple[Row, ...] = (
    ("bert", "BertForMaskedLM", SMALL, {"quick": True}),
    ("roberta", "RobertaForSequenceClassification", SMALL, {}),
    ("albert", "AlbertForMaskedLM", dict(SMALL, embedding_size=16, num_hidden_layers=3), {"quick": True,
        "loops": 3}),
    ("distilbert", "DistilBertForMaskedLM", {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4,
        "max_position_embeddings": 64}, {}),
    ("electra", "ElectraForPreTraining", dict(SMALL, embedding_size=16), {}),
    ("deberta", "DebertaForMaskedLM", dict(SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"],
        position_biased_input=False), _SCRIPTED),
    ("deberta_v2", "DebertaV2ForMaskedLM", dict(SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"],
        position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True, conv_kernel_size=3), _SCRIPTED),
    ("xlnet", "XLNetLMHeadModel", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}, {}),
    ("xlm", "XLMWithLMHeadModel", {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64},
        {}),
    ("mpnet", "MPNetForMaskedLM", SMALL, {}),
    ("mobilebert", "MobileBertForMaskedLM", dict(SMALL, embedding_size=16, intra_bottleneck_size=16), {}),
    ("squeezebert", "SqueezeBertForMaskedLM", dict(SMALL, embedding_size=32), {}),
    ("convbert", "ConvBertForMaskedLM", dict(SMALL, embedding_size=32, head_ratio=2, conv_kernel_size=3,
        num_groups=1), {}),
    ("modernbert", "ModernBertForMaskedLM", dict(SMALL, local_attention=4, global_attn_every_n_layers=2,
        cls_token_id=1, sep_token_id=2), {}),
    ("roformer", "RoFormerForMaskedLM", dict(SMALL, embedding_size=32), {}),
    ("rembert", "RemBertForMaskedLM", dict(SMALL, input_embedding_size=16, output_embedding_size=16), {}),
    ("megatron_bert", "MegatronBertForMaskedLM", SMALL, {}),
    ("ibert", "IBertForMaskedLM", SMALL, {}),
    ("esm", "EsmForMaskedLM", dict(SMALL, mask_token_id=4, position_embedding_type="rotary",
        token_dropout=True), {}),
    ("longformer", "LongformerForMaskedLM", dict(SMALL, attention_window=4), {}),
    ("funnel", "FunnelForMaskedLM", {"d_model": 32, "d_inner": 64, "n_head": 4, "d_head": 8,
        "block_sizes": [1, 1], "num_decoder_layers": 1}, {}),
    ("yoso", "YosoForMaskedLM", dict(SMALL, use_expectation=True), {}),
    ("luke", "LukeForMaskedLM", dict(SMALL, entity_vocab_size=20, entity_emb_size=16), {}),
    ("tapas", "TapasForMaskedLM", SMALL, {}),
    ("canine", "CanineModel", dict(SMALL, num_hash_buckets=32, num_hash_functions=4,
        local_transformer_stride=4, downsampling_rate=2, upsampling_kernel_size=2), {}),
)  # fmt: skip


# Encoders with a decoder
_TRANSLATORS: tuple[Row, ...] = (
    ("t5", "T5ForConditionalGeneration", _T5, {"quick": True}),
    ("mt5", "MT5ForConditionalGeneration", _T5, {}),
    ("longt5", "LongT5ForConditionalGeneration", dict(_T5, encoder_attention_type="transient-global",
        local_radius=3, global_block_size=4), {}),
    ("switch_transformers", "SwitchTransformersForConditionalGeneration", dict(_T5, num_experts=4,
        expert_capacity=8, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1), {}),
    ("nllb_moe", "NllbMoeForConditionalGeneration", dict(_BART, num_experts=4, expert_capacity=8,
        encoder_sparse_step=2, decoder_sparse_step=2), {}),
    ("bart", "BartForConditionalGeneration", _BART, {}),
    ("mbart", "MBartForConditionalGeneration", _BART, {}),
    ("pegasus", "PegasusForConditionalGeneration", _BART, {}),
    ("pegasus_x", "PegasusXForConditionalGeneration", dict(_BART, num_global_tokens=2, block_size=4), {}),
    ("marian", "MarianMTModel", _BART, {}),
    ("m2m_100", "M2M100ForConditionalGeneration", _BART, {}),
    ("blenderbot", "BlenderbotForConditionalGeneration", _BART, {}),
    ("led", "LEDForConditionalGeneration", {**{k: v for k,
        v in _BART.items() if k != "max_position_embeddings"}, "attention_window": 4,
        "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}, {}),
    ("prophetnet", "ProphetNetForConditionalGeneration", {"hidden_size": 32, "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64, "num_encoder_layers": 2, "num_decoder_layers": 2,
        "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "ngram": 2, "num_buckets": 8,
        "relative_max_distance": 16, "max_position_embeddings": 64, "decoder_start_token_id": 2}, {}),
)  # fmt: skip


def _add_encoder(name: str, model: str, sizes: dict[str, Any], facts: dict[str, Any]) -> None:
    @SHELF.add(f"transformers/{name}", **facts)
    def build() -> Example:
        return reader(model, sizes, input_ids=text(16), attention_mask=padding(16))


def _add_translator(name: str, model: str, sizes: dict[str, Any], facts: dict[str, Any]) -> None:
    @SHELF.add(f"transformers/{name}", **facts)
    def build() -> Example:
        texts = {"input_ids": text(), "attention_mask": padding(), "decoder_input_ids": text(8)}
        return reader(model, sizes, **texts)


for _row in _ENCODERS:
    _add_encoder(*_row)
for _row in _TRANSLATORS:
    _add_translator(*_row)


@SHELF.add("transformers/bert, training", training=True)
def _bert_training() -> Example:
    texts = {"input_ids": text(), "attention_mask": padding(), "labels": torch.tensor([0, 1])}
    return reader("BertForSequenceClassification", SMALL, **texts)


@SHELF.add("transformers/t5, training", training=True)
def _t5_training() -> Example:
    return reader("T5ForConditionalGeneration", _T5, input_ids=text(), labels=text(8), use_cache=False)


@SHELF.add("transformers/big_bird")
def _big_bird() -> Example:
    """Long enough for its block-sparse attention, which draws its blocks with NumPy."""
    sizes = dict(SMALL, block_size=4, num_random_blocks=1, max_position_embeddings=128)
    return reader("BigBirdForMaskedLM", sizes, input_ids=text(64))


@SHELF.add("transformers/reformer")
def _reformer() -> Example:
    """Reversible residuals, locality-sensitive hashing, axial positions."""
    sizes = {
        "hidden_size": 32, "feed_forward_size": 64, "num_attention_heads": 2, "attention_head_size": 16,
        "attn_layers": ["local", "lsh"], "axial_pos_shape": [4, 8], "axial_pos_embds_dim": [16, 16],
        "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4, "num_hashes": 2, "num_buckets": 4,
        "max_position_embeddings": 32, "is_decoder": False, "hash_seed": 0,
    }  # fmt: skip
    return reader("ReformerForMaskedLM", sizes, input_ids=text(32))


@SHELF.add("transformers/nystromformer", loops=6)
def _nystromformer() -> Example:
    """Inverts a matrix by iteration. (With a padding mask this version of it raises.)"""
    sizes = dict(SMALL, num_landmarks=4, segment_means_seq_len=16, inv_coeff_init_option=False)
    return reader("NystromformerForMaskedLM", sizes, input_ids=text(16))


@SHELF.add("transformers/fnet")
def _fnet() -> Example:
    """Fourier transforms in the place of attention."""
    return reader("FNetForMaskedLM", SMALL, input_ids=text())


@SHELF.add("transformers/perceiver")
def _perceiver() -> Example:
    sizes = {
        "d_model": 32, "d_latents": 32, "num_latents": 8, "num_self_attends_per_block": 2,
        "num_self_attention_heads": 4, "num_cross_attention_heads": 4, "max_position_embeddings": 16,
        "qk_channels": 32, "v_channels": 32,
    }  # fmt: skip
    return reader("PerceiverForMaskedLM", sizes, inputs=text(16), attention_mask=padding(16))


@SHELF.add("transformers/dpr")
def _dpr() -> Example:
    return reader("DPRQuestionEncoder", dict(SMALL, projection_dim=16), input_ids=text())


@SHELF.add("transformers/encoder_decoder")
def _encoder_decoder() -> Example:
    """A BERT that reads and another that writes."""
    transformers = load("transformers")

    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.BertConfig(vocab_size=VOCAB, **SMALL),
        transformers.BertConfig(vocab_size=VOCAB, **SMALL, is_decoder=True, add_cross_attention=True),
    )
    model = transformers.EncoderDecoderModel(config)
    return Example(model, (), {"input_ids": text(), "decoder_input_ids": text(8)})
