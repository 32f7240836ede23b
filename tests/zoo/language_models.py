"""transformers: models of text. Decoders, encoders, both, experts and state spaces."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.zoo.specimen import Example, Loops, Shelf, load_transformers

SHELF = Shelf()

VOCAB = 99
_TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def _text(length: int = 12, *, batch: int = 2) -> Tensor:
    return torch.randint(3, VOCAB, (batch, length))


def _padding(length: int = 12) -> Tensor:
    """Two texts, the second four tokens shorter."""
    mask = torch.ones(2, length, dtype=torch.long)
    mask[1, -4:] = 0
    return mask


def _make(model: str, config: str, sizes: dict[str, Any], **kwargs: Any) -> Example:
    transformers = load_transformers()

    made = getattr(transformers, config)(**{"vocab_size": VOCAB, **_TOKENS, **sizes})
    return Example(getattr(transformers, model)(made), (), kwargs)


# What most configurations call their sizes.
_SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
_GROUPED = {**_SMALL, "num_key_value_heads": 2}
_GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
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
_MAMBA = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
_MAMBA2 = {
    **_MAMBA,
    "num_heads": 8,
    "head_dim": 8,
    "expand": 2,
    "n_groups": 2,
    "chunk_size": 4,
}

# Decoders: name, model, configuration, sizes, facts
_DECODERS: tuple[tuple[str, str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("gpt2", "GPT2LMHeadModel", "GPT2Config", _GPT, {"quick": True}),
    ("gpt_neo", "GPTNeoForCausalLM", "GPTNeoConfig", {
        "hidden_size": 32, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 64, "window_size": 4,
        "attention_types": [[["global", "local"], 1]]}, {}),
    ("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", _SMALL, {}),
    ("gptj", "GPTJForCausalLM", "GPTJConfig", {**_GPT, "rotary_dim": 4}, {}),
    ("codegen", "CodeGenForCausalLM", "CodeGenConfig", {**_GPT, "rotary_dim": 4}, {}),
    ("gpt_bigcode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig", _GPT, {}),
    ("openai_gpt", "OpenAIGPTLMHeadModel", "OpenAIGPTConfig", _GPT, {}),
    ("ctrl", "CTRLLMHeadModel", "CTRLConfig", {**_GPT, "dff": 64}, {}),
    ("opt", "OPTForCausalLM", "OPTConfig", {
        "hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 64, "word_embed_proj_dim": 16}, {}),
    ("bloom", "BloomForCausalLM", "BloomConfig", {"hidden_size": 32, "n_layer": 2, "n_head": 4}, {}),
    ("mpt", "MptForCausalLM", "MptConfig", {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}, {}),
    ("falcon", "FalconForCausalLM", "FalconConfig", {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}, {}),
    ("llama", "LlamaForCausalLM", "LlamaConfig", _GROUPED, {"quick": True}),
    ("mistral", "MistralForCausalLM", "MistralConfig", {**_GROUPED, "sliding_window": 4}, {}),
    ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", _GROUPED, {}),
    ("qwen3", "Qwen3ForCausalLM", "Qwen3Config", {**_GROUPED, "head_dim": 8}, {}),
    ("gemma", "GemmaForCausalLM", "GemmaConfig", {**_GROUPED, "head_dim": 8}, {}),
    ("gemma2", "Gemma2ForCausalLM", "Gemma2Config", {**_GROUPED, "head_dim": 8, "sliding_window": 4}, {}),
    ("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", {**_GROUPED, "head_dim": 8, "sliding_window": 4}, {}),
    ("phi", "PhiForCausalLM", "PhiConfig", _SMALL, {}),
    ("phi3", "Phi3ForCausalLM", "Phi3Config", _GROUPED, {}),
    ("stablelm", "StableLmForCausalLM", "StableLmConfig", _GROUPED, {}),
    ("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", _GROUPED, {}),
    ("olmo2", "Olmo2ForCausalLM", "Olmo2Config", _GROUPED, {}),
    ("cohere", "CohereForCausalLM", "CohereConfig", _GROUPED, {}),
    ("granite", "GraniteForCausalLM", "GraniteConfig", _GROUPED, {}),
    ("persimmon", "PersimmonForCausalLM", "PersimmonConfig", _SMALL, {}),
    ("nemotron", "NemotronForCausalLM", "NemotronConfig", _GROUPED, {}),
    ("diffllama", "DiffLlamaForCausalLM", "DiffLlamaConfig", _GROUPED, {}),
    ("bitnet", "BitNetForCausalLM", "BitNetConfig", _GROUPED, {}),
    ("xglm", "XGLMForCausalLM", "XGLMConfig", {
        "d_model": 32, "ffn_dim": 64, "num_layers": 2, "attention_heads": 4, "max_position_embeddings": 64}, {}),
    ("biogpt", "BioGptForCausalLM", "BioGptConfig", _SMALL, {}),
    # Experts
    ("mixtral", "MixtralForCausalLM", "MixtralConfig", {**_GROUPED, "num_local_experts": 4}, {"quick": True}),
    ("qwen2_moe", "Qwen2MoeForCausalLM", "Qwen2MoeConfig", {
        **_GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 32}, {}),
    ("qwen3_moe", "Qwen3MoeForCausalLM", "Qwen3MoeConfig", {
        **_GROUPED, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}, {}),
    ("olmoe", "OlmoeForCausalLM", "OlmoeConfig", {**_GROUPED, "num_experts": 4, "num_experts_per_tok": 2}, {}),
    ("deepseek_v2", "DeepseekV2ForCausalLM", "DeepseekV2Config", {
        **_SMALL, "num_key_value_heads": 4, "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2,
        "moe_intermediate_size": 16, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 8, "v_head_dim": 8, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1}, {}),
    ("deepseek_v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", {
        **_SMALL, "num_key_value_heads": 4, "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2,
        "moe_intermediate_size": 16, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 8, "v_head_dim": 8, "first_k_dense_replace": 1, "n_group": 2, "topk_group": 1}, {}),
    ("gpt_oss", "GptOssForCausalLM", "GptOssConfig", {
        **_GROUPED, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4}, {}),
    ("phimoe", "PhimoeForCausalLM", "PhimoeConfig", {**_GROUPED, "num_local_experts": 4}, {}),
    ("granitemoe", "GraniteMoeForCausalLM", "GraniteMoeConfig", {
        **_GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}, {}),
    ("dbrx", "DbrxForCausalLM", "DbrxConfig", {
        "d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
        "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2}}, {}),
    ("llama4", "Llama4ForCausalLM", "Llama4TextConfig", {
        **_GROUPED, "head_dim": 8, "intermediate_size_mlp": 64, "num_local_experts": 2,
        "attention_chunk_size": 8}, {}),
    ("minimax", "MiniMaxForCausalLM", "MiniMaxConfig", {
        **_GROUPED, "head_dim": 8, "num_local_experts": 2, "block_size": 4}, {"loops": Loops.SOME}),
    # State spaces, and what else runs along the text
    ("mamba", "MambaForCausalLM", "MambaConfig", _MAMBA, {"quick": True, "loops": Loops.SOME}),
    ("mamba2", "Mamba2ForCausalLM", "Mamba2Config", _MAMBA2, {}),
    ("falcon_mamba", "FalconMambaForCausalLM", "FalconMambaConfig", _MAMBA, {"loops": Loops.SOME}),
    ("rwkv", "RwkvForCausalLM", "RwkvConfig", {
        "hidden_size": 32, "num_hidden_layers": 2, "context_length": 64}, {"loops": Loops.SOME}),
    ("xlstm", "xLSTMForCausalLM", "xLSTMConfig", {
        "hidden_size": 128, "num_hidden_layers": 2, "num_heads": 2, "chunk_size": 4}, {"loops": Loops.SOME}),
    ("recurrent_gemma", "RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", {
        **_SMALL, "num_hidden_layers": 3, "lru_width": 32, "attention_window_size": 8, "num_key_value_heads": 1,
        "conv1d_width": 4}, {"loops": Loops.SOME}),
    ("jamba", "JambaForCausalLM", "JambaConfig", {
        **_GROUPED, "num_experts": 2, "mamba_d_state": 8, "mamba_dt_rank": 4, "attn_layer_period": 2,
        "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1}, {"loops": Loops.SOME}),
    ("bamba", "BambaForCausalLM", "BambaConfig", {
        **_GROUPED, "attn_layer_indices": [1], "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1,
        "mamba_d_state": 8, "mamba_chunk_size": 4}, {}),
    ("zamba2", "Zamba2ForCausalLM", "Zamba2Config", {
        **_SMALL, "num_key_value_heads": 4, "num_hidden_layers": 4, "layers_block_type":
        ["mamba", "hybrid", "mamba", "hybrid"], "num_mem_blocks": 1, "mamba_d_state": 8, "n_mamba_heads": 8,
        "mamba_ngroups": 1, "chunk_size": 4, "adapter_rank": 4,
        "attention_head_dim": 16}, {}),
    ("falcon_h1", "FalconH1ForCausalLM", "FalconH1Config", {
        **_GROUPED, "mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_n_groups": 1,
        "mamba_d_state": 8, "mamba_chunk_size": 4}, {}),
    ("qwen3_next", "Qwen3NextForCausalLM", "Qwen3NextConfig", {
        **_GROUPED, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "linear_key_head_dim": 8, "linear_value_head_dim": 8,
        "layer_types": ["linear_attention", "full_attention"]}, {}),
    ("lfm2", "Lfm2ForCausalLM", "Lfm2Config", {**_GROUPED, "layer_types": ["conv", "full_attention"]}, {}),
)  # fmt: skip

# Encoders, each with a padding mask
_ENCODERS: tuple[tuple[str, str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("bert", "BertForMaskedLM", "BertConfig", _SMALL, {"quick": True}),
    ("roberta", "RobertaForSequenceClassification", "RobertaConfig", _SMALL, {}),
    ("albert", "AlbertForMaskedLM", "AlbertConfig", {**_SMALL, "embedding_size": 16, "num_hidden_layers": 3}, {
        "quick": True, "loops": Loops.SOME}),
    ("distilbert", "DistilBertForMaskedLM", "DistilBertConfig", {
        "dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64}, {}),
    ("electra", "ElectraForPreTraining", "ElectraConfig", {**_SMALL, "embedding_size": 16}, {}),
    ("deberta", "DebertaForMaskedLM", "DebertaConfig", {
        **_SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}, {}),
    ("deberta_v2", "DebertaV2ForMaskedLM", "DebertaV2Config", {
        **_SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8,
        "norm_rel_ebd": "layer_norm", "share_att_key": True, "conv_kernel_size": 3}, {}),
    ("xlnet", "XLNetLMHeadModel", "XLNetConfig", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}, {}),
    ("xlm", "XLMWithLMHeadModel", "XLMConfig", {
        "emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64}, {}),
    ("mpnet", "MPNetForMaskedLM", "MPNetConfig", _SMALL, {}),
    ("mobilebert", "MobileBertForMaskedLM", "MobileBertConfig", {
        **_SMALL, "embedding_size": 16, "intra_bottleneck_size": 16}, {}),
    ("squeezebert", "SqueezeBertForMaskedLM", "SqueezeBertConfig", {**_SMALL, "embedding_size": 32}, {}),
    ("convbert", "ConvBertForMaskedLM", "ConvBertConfig", {
        **_SMALL, "embedding_size": 32, "head_ratio": 2, "conv_kernel_size": 3, "num_groups": 1}, {}),
    ("modernbert", "ModernBertForMaskedLM", "ModernBertConfig", {
        **_SMALL, "local_attention": 4, "global_attn_every_n_layers": 2, "cls_token_id": 1, "sep_token_id": 2}, {}),
    ("roformer", "RoFormerForMaskedLM", "RoFormerConfig", {**_SMALL, "embedding_size": 32}, {}),
    ("rembert", "RemBertForMaskedLM", "RemBertConfig", {
        **_SMALL, "input_embedding_size": 16, "output_embedding_size": 16}, {}),
    ("megatron_bert", "MegatronBertForMaskedLM", "MegatronBertConfig", _SMALL, {}),
    ("ibert", "IBertForMaskedLM", "IBertConfig", _SMALL, {}),
    ("esm", "EsmForMaskedLM", "EsmConfig", {
        **_SMALL, "mask_token_id": 4, "position_embedding_type": "rotary", "token_dropout": True}, {}),
    ("longformer", "LongformerForMaskedLM", "LongformerConfig", {**_SMALL, "attention_window": 4}, {}),
    ("funnel", "FunnelForMaskedLM", "FunnelConfig", {
        "d_model": 32, "d_inner": 64, "n_head": 4, "d_head": 8, "block_sizes": [1, 1], "num_decoder_layers": 1}, {}),
    ("yoso", "YosoForMaskedLM", "YosoConfig", {**_SMALL, "use_expectation": True}, {}),
    ("luke", "LukeForMaskedLM", "LukeConfig", {**_SMALL, "entity_vocab_size": 20, "entity_emb_size": 16}, {}),
    ("tapas", "TapasForMaskedLM", "TapasConfig", _SMALL, {}),
    ("canine", "CanineModel", "CanineConfig", {
        **_SMALL, "num_hash_buckets": 32, "num_hash_functions": 4, "local_transformer_stride": 4,
        "downsampling_rate": 2, "upsampling_kernel_size": 2}, {}),
)  # fmt: skip

# Encoders with a decoder
_TRANSLATORS: tuple[tuple[str, str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("t5", "T5ForConditionalGeneration", "T5Config", _T5, {"quick": True}),
    ("mt5", "MT5ForConditionalGeneration", "MT5Config", _T5, {}),
    ("longt5", "LongT5ForConditionalGeneration", "LongT5Config", {
        **_T5, "encoder_attention_type": "transient-global", "local_radius": 3, "global_block_size": 4}, {}),
    ("switch_transformers", "SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig", {
        **_T5, "num_experts": 4, "expert_capacity": 8, "num_sparse_encoder_layers": 1,
        "num_sparse_decoder_layers": 1}, {}),
    ("nllb_moe", "NllbMoeForConditionalGeneration", "NllbMoeConfig", {
        **_BART, "num_experts": 4, "expert_capacity": 8, "encoder_sparse_step": 2, "decoder_sparse_step": 2}, {}),
    ("bart", "BartForConditionalGeneration", "BartConfig", _BART, {}),
    ("mbart", "MBartForConditionalGeneration", "MBartConfig", _BART, {}),
    ("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", _BART, {}),
    ("pegasus_x", "PegasusXForConditionalGeneration", "PegasusXConfig", {
        **_BART, "num_global_tokens": 2, "block_size": 4}, {}),
    ("marian", "MarianMTModel", "MarianConfig", _BART, {}),
    ("m2m_100", "M2M100ForConditionalGeneration", "M2M100Config", _BART, {}),
    ("blenderbot", "BlenderbotForConditionalGeneration", "BlenderbotConfig", _BART, {}),
    ("led", "LEDForConditionalGeneration", "LEDConfig", {
        **{k: v for k, v in _BART.items() if k != "max_position_embeddings"}, "attention_window": 4,
        "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}, {}),
    ("prophetnet", "ProphetNetForConditionalGeneration", "ProphetNetConfig", {
        "hidden_size": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_encoder_layers": 2,
        "num_decoder_layers": 2, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "ngram": 2,
        "num_buckets": 8, "relative_max_distance": 16, "max_position_embeddings": 64,
        "decoder_start_token_id": 2}, {}),
)  # fmt: skip


def _add_decoder(name: str, model: str, config: str, sizes: dict[str, Any], facts: dict[str, Any]) -> None:
    @SHELF.add(f"transformers/{name}", **facts)
    def build() -> Example:
        return _make(model, config, sizes, input_ids=_text())


def _add_encoder(name: str, model: str, config: str, sizes: dict[str, Any], facts: dict[str, Any]) -> None:
    @SHELF.add(f"transformers/{name}", **facts)
    def build() -> Example:
        return _make(model, config, sizes, input_ids=_text(16), attention_mask=_padding(16))


def _add_translator(name: str, model: str, config: str, sizes: dict[str, Any], facts: dict[str, Any]) -> None:
    @SHELF.add(f"transformers/{name}", **facts)
    def build() -> Example:
        texts = {"input_ids": _text(), "attention_mask": _padding(), "decoder_input_ids": _text(8)}
        return _make(model, config, sizes, **texts)


for _row in _DECODERS:
    _add_decoder(*_row)
for _row in _ENCODERS:
    _add_encoder(*_row)
for _row in _TRANSLATORS:
    _add_translator(*_row)


@SHELF.add("transformers/gpt2, training", training=True)
def _gpt2_training() -> Example:
    """With dropout, labels and a loss."""
    ids = _text()
    return _make("GPT2LMHeadModel", "GPT2Config", _GPT, input_ids=ids, labels=ids.clone(), use_cache=False)


@SHELF.add("transformers/bert, training", training=True)
def _bert_training() -> Example:
    texts = {"input_ids": _text(), "attention_mask": _padding(), "labels": torch.tensor([0, 1])}
    return _make("BertForSequenceClassification", "BertConfig", _SMALL, **texts)


@SHELF.add("transformers/t5, training", training=True)
def _t5_training() -> Example:
    return _make("T5ForConditionalGeneration", "T5Config", _T5, input_ids=_text(), labels=_text(8), use_cache=False)


@SHELF.add("transformers/llama, with a cache")
def _llama_cached() -> Example:
    """The second step of a generation: the first filled the cache that comes in."""
    transformers = load_transformers()

    made = _make("LlamaForCausalLM", "LlamaConfig", _GROUPED)
    cache = transformers.DynamicCache(config=made.model.config)
    with torch.no_grad():
        made.model.eval()(input_ids=_text(6), past_key_values=cache, use_cache=True)
    return Example(made.model, (), {"input_ids": _text(1), "past_key_values": cache, "use_cache": True})


@SHELF.add("transformers/gpt2, generating", loops=Loops.SOME)
def _gpt2_generating() -> Example:
    """All of `generate`: each new token is one more pass of the model."""
    made = _make("GPT2LMHeadModel", "GPT2Config", _GPT)
    return Example(_Generator(made.model), (_text(5),))


class _Generator(torch.nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        generated: Tensor = self.model.generate(ids, max_new_tokens=4, min_new_tokens=4, do_sample=False)
        return generated


@SHELF.add("transformers/big_bird")
def _big_bird() -> Example:
    """Long enough for its block-sparse attention, which draws its blocks with NumPy."""
    sizes = {**_SMALL, "block_size": 4, "num_random_blocks": 1, "max_position_embeddings": 128}
    return _make("BigBirdForMaskedLM", "BigBirdConfig", sizes, input_ids=_text(64))


@SHELF.add("transformers/reformer")
def _reformer() -> Example:
    """Reversible residuals, locality-sensitive hashing, axial positions."""
    sizes = {
        "hidden_size": 32, "feed_forward_size": 64, "num_attention_heads": 2, "attention_head_size": 16,
        "attn_layers": ["local", "lsh"], "axial_pos_shape": [4, 8], "axial_pos_embds_dim": [16, 16],
        "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4, "num_hashes": 2, "num_buckets": 4,
        "max_position_embeddings": 32, "is_decoder": False, "hash_seed": 0,
    }  # fmt: skip
    return _make("ReformerForMaskedLM", "ReformerConfig", sizes, input_ids=_text(32))


@SHELF.add("transformers/nystromformer", loops=Loops.SOME)
def _nystromformer() -> Example:
    """Inverts a matrix by iteration. (With a padding mask this version of it raises.)"""
    sizes = {**_SMALL, "num_landmarks": 4, "segment_means_seq_len": 16, "inv_coeff_init_option": False}
    return _make("NystromformerForMaskedLM", "NystromformerConfig", sizes, input_ids=_text(16))


@SHELF.add("transformers/fnet")
def _fnet() -> Example:
    """Fourier transforms in the place of attention."""
    return _make("FNetForMaskedLM", "FNetConfig", _SMALL, input_ids=_text())


@SHELF.add("transformers/perceiver")
def _perceiver() -> Example:
    sizes = {
        "d_model": 32, "d_latents": 32, "num_latents": 8, "num_self_attends_per_block": 2,
        "num_self_attention_heads": 4, "num_cross_attention_heads": 4, "max_position_embeddings": 16,
        "qk_channels": 32, "v_channels": 32,
    }  # fmt: skip
    return _make("PerceiverForMaskedLM", "PerceiverConfig", sizes, inputs=_text(16), attention_mask=_padding(16))


@SHELF.add("transformers/dpr")
def _dpr() -> Example:
    return _make("DPRQuestionEncoder", "DPRConfig", {**_SMALL, "projection_dim": 16}, input_ids=_text())


@SHELF.add("transformers/encoder_decoder")
def _encoder_decoder() -> Example:
    """A BERT that reads and another that writes."""
    transformers = load_transformers()

    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.BertConfig(vocab_size=VOCAB, **_SMALL),
        transformers.BertConfig(vocab_size=VOCAB, **_SMALL, is_decoder=True, add_cross_attention=True),
    )
    model = transformers.EncoderDecoderModel(config)
    return Example(model, (), {"input_ids": _text(), "decoder_input_ids": _text(8)})
