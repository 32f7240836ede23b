"""transformers: models that write text. Plain decoders, experts, and what runs along the text."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.zoo.specimen import Example, Shelf, load
from tests.zoo.text import GPT, SMALL, Row, reader, text

SHELF = Shelf()

# A cache of a sliding window hands out how long the window is.
_WINDOW = {"constant_outputs": ("_sliding_window_tensor",)}
# Along the 12 tokens of a text.
_ALONG = {"loops": 12}

GROUPED = dict(SMALL, num_key_value_heads=2)
_MAMBA = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
_MAMBA2 = dict(_MAMBA, num_heads=8, head_dim=8, expand=2, n_groups=2, chunk_size=4)

_DECODERS: tuple[Row, ...] = (
    ("gpt2", "GPT2LMHeadModel", GPT, {"quick": True}),
    ("gpt_neo", "GPTNeoForCausalLM", {"hidden_size": 32, "num_layers": 2, "num_heads": 4,
        "max_position_embeddings": 64, "window_size": 4, "attention_types": [[["global", "local"], 1]]}, {}),
    ("gpt_neox", "GPTNeoXForCausalLM", SMALL, {}),
    ("gptj", "GPTJForCausalLM", dict(GPT, rotary_dim=4), {}),
    ("codegen", "CodeGenForCausalLM", dict(GPT, rotary_dim=4), {}),
    ("gpt_bigcode", "GPTBigCodeForCausalLM", GPT, {}),
    ("openai_gpt", "OpenAIGPTLMHeadModel", GPT, {}),
    ("ctrl", "CTRLLMHeadModel", dict(GPT, dff=64), {}),
    ("opt", "OPTForCausalLM", {"hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 64, "word_embed_proj_dim": 16}, {}),
    ("bloom", "BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4}, {}),
    ("mpt", "MptForCausalLM", {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}, {}),
    ("falcon", "FalconForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
        {}),
    ("llama", "LlamaForCausalLM", GROUPED, {"quick": True}),
    ("mistral", "MistralForCausalLM", dict(GROUPED, sliding_window=4), _WINDOW),
    ("qwen2", "Qwen2ForCausalLM", GROUPED, {}),
    ("qwen3", "Qwen3ForCausalLM", dict(GROUPED, head_dim=8), {}),
    ("gemma", "GemmaForCausalLM", dict(GROUPED, head_dim=8), {}),
    ("gemma2", "Gemma2ForCausalLM", dict(GROUPED, head_dim=8, sliding_window=4), _WINDOW),
    ("gemma3", "Gemma3ForCausalLM", dict(GROUPED, head_dim=8, sliding_window=4), _WINDOW),
    ("phi", "PhiForCausalLM", SMALL, {}),
    ("phi3", "Phi3ForCausalLM", GROUPED, {}),
    ("stablelm", "StableLmForCausalLM", GROUPED, {}),
    ("starcoder2", "Starcoder2ForCausalLM", GROUPED, {}),
    ("olmo2", "Olmo2ForCausalLM", GROUPED, {}),
    ("cohere", "CohereForCausalLM", GROUPED, {}),
    ("granite", "GraniteForCausalLM", GROUPED, {}),
    ("persimmon", "PersimmonForCausalLM", SMALL, {}),
    ("nemotron", "NemotronForCausalLM", GROUPED, {}),
    ("diffllama", "DiffLlamaForCausalLM", GROUPED, {}),
    ("bitnet", "BitNetForCausalLM", GROUPED, {}),
    ("xglm", "XGLMForCausalLM", {"d_model": 32, "ffn_dim": 64, "num_layers": 2, "attention_heads": 4,
        "max_position_embeddings": 64}, {}),
    ("biogpt", "BioGptForCausalLM", SMALL, {}),
    # Experts
    ("mixtral", "MixtralForCausalLM", dict(GROUPED, num_local_experts=4), {"quick": True}),
    ("qwen2_moe", "Qwen2MoeForCausalLM", dict(GROUPED, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=16, shared_expert_intermediate_size=32), {}),
    ("qwen3_moe", "Qwen3MoeForCausalLM", dict(GROUPED, head_dim=8, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=16), {}),
    ("olmoe", "OlmoeForCausalLM", dict(GROUPED, num_experts=4, num_experts_per_tok=2), {}),
    ("deepseek_v2", "DeepseekV2ForCausalLM", dict(SMALL, num_key_value_heads=4, n_routed_experts=4,
        n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=16, kv_lora_rank=8, q_lora_rank=8,
        qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1, n_group=1,
        topk_group=1), {}),
    ("deepseek_v3", "DeepseekV3ForCausalLM", dict(SMALL, num_key_value_heads=4, n_routed_experts=4,
        n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=16, kv_lora_rank=8, q_lora_rank=8,
        qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1, n_group=2,
        topk_group=1), {}),
    ("gpt_oss", "GptOssForCausalLM", dict(GROUPED, head_dim=8, num_local_experts=4, num_experts_per_tok=2,
        sliding_window=4), _WINDOW),
    ("phimoe", "PhimoeForCausalLM", dict(GROUPED, num_local_experts=4), {}),
    ("granitemoe", "GraniteMoeForCausalLM", dict(GROUPED, num_local_experts=4, num_experts_per_tok=2), {}),
    ("dbrx", "DbrxForCausalLM", {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
        "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2}}, {"loops": 4}),
    ("llama4", "Llama4ForCausalLM", dict(GROUPED, head_dim=8, intermediate_size_mlp=64, num_local_experts=2,
        attention_chunk_size=8), _WINDOW),
    ("minimax", "MiniMaxForCausalLM", dict(GROUPED, head_dim=8, num_local_experts=2, block_size=4),
        {"loops": 3}),
    # State spaces, and what else runs along the text
    ("mamba", "MambaForCausalLM", _MAMBA, {"quick": True, "loops": 12}),
    ("mamba2", "Mamba2ForCausalLM", _MAMBA2, {}),
    ("falcon_mamba", "FalconMambaForCausalLM", _MAMBA, _ALONG),
    ("rwkv", "RwkvForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "context_length": 64},
        _ALONG),
    ("xlstm", "xLSTMForCausalLM", {"hidden_size": 128, "num_hidden_layers": 2, "num_heads": 2,
        "chunk_size": 4}, {"loops": 3, "constant_outputs": ("seqlen_offset",)}),
    ("recurrent_gemma", "RecurrentGemmaForCausalLM", dict(SMALL, num_hidden_layers=3, lru_width=32,
        attention_window_size=8, num_key_value_heads=1, conv1d_width=4), _ALONG),
    ("jamba", "JambaForCausalLM", dict(GROUPED, num_experts=2, mamba_d_state=8, mamba_dt_rank=4,
        attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1),
        _ALONG),
    ("bamba", "BambaForCausalLM", dict(GROUPED, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=8,
        mamba_n_groups=1, mamba_d_state=8, mamba_chunk_size=4), {}),
    ("zamba2", "Zamba2ForCausalLM", dict(SMALL, num_key_value_heads=4, num_hidden_layers=4,
        layers_block_type=["mamba", "hybrid", "mamba", "hybrid"], num_mem_blocks=1, mamba_d_state=8,
        n_mamba_heads=8, mamba_ngroups=1, chunk_size=4, adapter_rank=4, attention_head_dim=16), {}),
    ("falcon_h1", "FalconH1ForCausalLM", dict(GROUPED, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8,
        mamba_n_groups=1, mamba_d_state=8, mamba_chunk_size=4), {}),
    ("qwen3_next", "Qwen3NextForCausalLM", dict(GROUPED, head_dim=8, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=16, shared_expert_intermediate_size=16, linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8,
        layer_types=["linear_attention", "full_attention"]), {}),
    ("lfm2", "Lfm2ForCausalLM", dict(GROUPED, layer_types=["conv", "full_attention"]), {}),
)  # fmt: skip


def _add(name: str, model: str, sizes: dict[str, Any], facts: dict[str, Any]) -> None:
    @SHELF.add(f"transformers/{name}", **facts)
    def build() -> Example:
        return reader(model, sizes, input_ids=text())


for _row in _DECODERS:
    _add(*_row)


@SHELF.add("transformers/gpt2, training", training=True, quick=True)
def _gpt2_training() -> Example:
    """With dropout, labels and a loss."""
    ids = text()
    return reader("GPT2LMHeadModel", GPT, input_ids=ids, labels=ids.clone(), use_cache=False)


@SHELF.add("transformers/llama, with a cache")
def _llama_cached() -> Example:
    """The second step of a generation: the first filled the cache that comes in."""
    transformers = load("transformers")

    made = reader("LlamaForCausalLM", GROUPED)
    cache = transformers.DynamicCache(config=made.model.config)
    with torch.no_grad():
        made.model.eval()(input_ids=text(6), past_key_values=cache, use_cache=True)
    return Example(made.model, (), {"input_ids": text(1), "past_key_values": cache, "use_cache": True})


@SHELF.add("transformers/gpt2, generating", loops=4)
def _gpt2_generating() -> Example:
    """All of `generate`: each new token is one more pass of the model."""
    made = reader("GPT2LMHeadModel", GPT)
    return Example(_Generator(made.model), (text(5),))


class _Generator(torch.nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        generated: Tensor = self.model.generate(ids, max_new_tokens=4, min_new_tokens=4, do_sample=False)
        return generated
