"""transformers: models of sound, and of other series in time."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.zoo.specimen import Example, Shelf, from_config

SHELF = Shelf()

VOCAB = 99
_SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def _text(length: int = 10, *, batch: int = 1) -> Tensor:
    return torch.randint(3, VOCAB, (batch, length))


# --- sound

_WHISPER = {
    "vocab_size": VOCAB, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
    "max_source_positions": 50, "max_target_positions": 20, "num_mel_bins": 16, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
_WAVE = dict(_SMALL, vocab_size=VOCAB, conv_dim=[16, 16], conv_kernel=[8, 4], conv_stride=[4, 4],
    num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
    pad_token_id=0, bos_token_id=1, eos_token_id=2,
)  # fmt: skip


@SHELF.add("transformers/whisper", quick=True)
def _whisper() -> Example:
    return from_config(
        "WhisperForConditionalGeneration", _WHISPER,
        input_features=torch.randn(1, 16, 100), decoder_input_ids=_text(8),
    )  # fmt: skip


@SHELF.add("transformers/wav2vec2")
def _wav2vec2() -> Example:
    return from_config("Wav2Vec2ForCTC", _WAVE, input_values=torch.randn(2, 800))


@SHELF.add("transformers/wav2vec2_conformer")
def _wav2vec2_conformer() -> Example:
    sizes = dict(_WAVE, position_embeddings_type="relative", max_source_positions=64)
    return from_config("Wav2Vec2ConformerForCTC", sizes, input_values=torch.randn(2, 800))


@SHELF.add("transformers/hubert")
def _hubert() -> Example:
    return from_config("HubertForCTC", _WAVE, input_values=torch.randn(2, 800))


@SHELF.add("transformers/hubert, training", training=True)
def _hubert_training() -> Example:
    """With dropout, skipped layers and masked time, which NumPy and torch draw."""
    sizes = dict(_WAVE, mask_time_length=2, mask_time_prob=0.3, layerdrop=0.3)
    return from_config("HubertModel", sizes, input_values=torch.randn(2, 800))


@SHELF.add("transformers/wavlm")
def _wavlm() -> Example:
    return from_config("WavLMForCTC", _WAVE, input_values=torch.randn(2, 800))


@SHELF.add("transformers/sew")
def _sew() -> Example:
    return from_config("SEWForCTC", _WAVE, input_values=torch.randn(2, 800))


@SHELF.add("transformers/audio_spectrogram_transformer")
def _spectrogram() -> Example:
    sizes = dict(
        _SMALL,
        patch_size=4,
        frequency_stride=4,
        time_stride=4,
        max_length=24,
        num_mel_bins=16,
    )
    return from_config("ASTForAudioClassification", sizes, input_values=torch.randn(1, 24, 16))


@SHELF.add("transformers/speech_to_text")
def _speech_to_text() -> Example:
    sizes = dict(_WHISPER, max_source_positions=100, input_feat_per_channel=16, conv_channels=16,
        num_conv_layers=2,
    )  # fmt: skip
    return from_config(
        "Speech2TextForConditionalGeneration", sizes,
        input_features=torch.randn(1, 60, 16), decoder_input_ids=_text(8),
    )  # fmt: skip


@SHELF.add("transformers/encodec")
def _encodec() -> Example:
    """A codec with an LSTM between two towers of convolutions."""
    sizes = {
        "num_filters": 4, "hidden_size": 16, "codebook_size": 16, "codebook_dim": 16, "upsampling_ratios": [4,
        2], "num_lstm_layers": 1, "target_bandwidths": [6.0], "sampling_rate": 8000,
    }  # fmt: skip
    return from_config("EncodecModel", sizes, input_values=torch.randn(1, 1, 400))


@SHELF.add("transformers/univnet")
def _univnet() -> Example:
    sizes = {
        "model_in_channels": 8, "model_hidden_channels": 8, "num_mel_bins": 10, "resblock_kernel_sizes": [3,
        3], "resblock_stride_sizes": [2, 2], "resblock_dilation_sizes": [[1, 3], [1, 3]],
        "kernel_predictor_num_blocks": 1, "kernel_predictor_hidden_channels": 8,
    }  # fmt: skip
    return from_config(
        "UnivNetModel", sizes,
        input_features=torch.randn(1, 6, 10), noise_sequence=torch.randn(1, 6, 8),
    )  # fmt: skip


# --- series


@SHELF.add("transformers/time_series_transformer")
def _time_series() -> Example:
    sizes = {
        "prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "num_time_features": 2,
        "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
    }  # fmt: skip
    series = {
        "past_values": torch.randn(2, 10), "past_time_features": torch.randn(2, 10, 2),
        "past_observed_mask": torch.ones(2, 10), "future_values": torch.randn(2, 4),
        "future_time_features": torch.randn(2, 4, 2),
    }  # fmt: skip
    return from_config("TimeSeriesTransformerModel", sizes, **series)


@SHELF.add("transformers/autoformer", loops=6)
def _autoformer() -> Example:
    """Adds up its strongest delays in a loop."""
    sizes = {
        "prediction_length": 4, "context_length": 8, "label_length": 4, "lags_sequence": [1, 2],
        "num_time_features": 2, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32, "moving_average": 3,
    }  # fmt: skip
    series = {
        "past_values": torch.randn(2, 10), "past_time_features": torch.randn(2, 10, 2),
        "past_observed_mask": torch.ones(2, 10), "future_values": torch.randn(2, 4),
        "future_time_features": torch.randn(2, 4, 2),
    }  # fmt: skip
    return from_config("AutoformerModel", sizes, **series)


@SHELF.add("transformers/patchtst")
def _patchtst() -> Example:
    sizes = {
        "num_input_channels": 2, "context_length": 16, "patch_length": 4, "patch_stride": 4, "d_model": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 32, "prediction_length": 4,
    }  # fmt: skip
    return from_config("PatchTSTForPrediction", sizes, past_values=torch.randn(2, 16, 2))


@SHELF.add("transformers/patchtsmixer")
def _patchtsmixer() -> Example:
    sizes = {
        "num_input_channels": 2, "context_length": 16, "patch_length": 4, "patch_stride": 4, "d_model": 16,
        "num_layers": 2, "prediction_length": 4, "mode": "mix_channel",
    }  # fmt: skip
    return from_config("PatchTSMixerForPrediction", sizes, past_values=torch.randn(2, 16, 2))


@SHELF.add("transformers/decision_transformer")
def _decision_transformer() -> Example:
    sizes = {"state_dim": 5, "act_dim": 3, "hidden_size": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
        "max_ep_len": 20}  # fmt: skip
    return from_config(
        "DecisionTransformerModel", sizes,
        states=torch.randn(1, 4, 5), actions=torch.randn(1, 4, 3), rewards=torch.randn(1, 4, 1),
        returns_to_go=torch.randn(1, 4, 1), timesteps=torch.arange(4)[None], attention_mask=torch.ones(1, 4),
    )  # fmt: skip
