"""The settings of well-known models, as their config.json has them, are known or harmless."""

import pytest

from core.checkpoints.config import Config
from core.checkpoints.families import plan_model
from core.errors import ModelError

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
    "bos_token_id": 0, "eos_token_id": [0, 1], "hidden_act": "silu", "hidden_size": 576,
    "initializer_range": 0.04, "intermediate_size": 1536, "max_position_embeddings": 8192,
    "num_attention_heads": 9, "num_hidden_layers": 2, "num_key_value_heads": 3,
    "rms_norm_eps": 1e-05, "rope_theta": 100000, "tie_word_embeddings": True,
    "torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": True,
    "vocab_size": 49152,
}  # fmt: skip
BERT = {
    "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
    "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
    "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "num_attention_heads": 12,
    "num_hidden_layers": 2, "pad_token_id": 0, "position_embedding_type": "absolute",
    "type_vocab_size": 2, "use_cache": True, "vocab_size": 30522, "classifier_dropout": None,
}  # fmt: skip
BART = {
    "activation_dropout": 0.1, "activation_function": "gelu", "add_bias_logits": False,
    "add_final_layer_norm": False, "attention_dropout": 0.1, "bos_token_id": 0,
    "classif_dropout": 0.1, "classifier_dropout": 0.0, "d_model": 768,
    "decoder_attention_heads": 12, "decoder_ffn_dim": 3072, "decoder_layerdrop": 0.0,
    "decoder_layers": 2, "decoder_start_token_id": 2, "dropout": 0.1, "early_stopping": True,
    "encoder_attention_heads": 12, "encoder_ffn_dim": 3072, "encoder_layerdrop": 0.0,
    "encoder_layers": 2, "eos_token_id": 2, "forced_eos_token_id": 2, "id2label": {"0": "A"},
    "init_std": 0.02, "is_encoder_decoder": True, "max_position_embeddings": 1024,
    "no_repeat_ngram_size": 3, "normalize_before": False, "normalize_embedding": True,
    "num_beams": 4, "num_hidden_layers": 2, "pad_token_id": 1, "scale_embedding": False,
    "task_specific_params": {"summarization": {"max_length": 128}}, "use_cache": True,
    "vocab_size": 50265,
}  # fmt: skip
T5 = {
    "d_ff": 2048, "d_kv": 64, "d_model": 512, "decoder_start_token_id": 0, "dropout_rate": 0.1,
    "eos_token_id": 1, "feed_forward_proj": "relu", "initializer_factor": 1.0,
    "is_encoder_decoder": True, "layer_norm_epsilon": 1e-06, "n_positions": 512, "num_heads": 8,
    "num_layers": 2, "output_past": True, "pad_token_id": 0, "vocab_size": 32128,
    "relative_attention_num_buckets": 32, "task_specific_params": {"translation": {}},
}  # fmt: skip
KNOWN = {
    "bert": BERT,
    "roberta": BERT | {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1,
        "max_position_embeddings": 514, "type_vocab_size": 1},
    "xlm-roberta": BERT | {"output_past": True, "pad_token_id": 1},
    "electra": BERT | {"embedding_size": 128, "summary_activation": "gelu",
        "summary_last_dropout": 0.1, "summary_type": "first", "summary_use_proj": True},
    "albert": BERT | {"classifier_dropout_prob": 0.1, "down_scale_factor": 1,
        "embedding_size": 128, "gap_size": 0, "inner_group_num": 1, "net_structure_type": 0,
        "num_hidden_groups": 1, "num_memory_blocks": 0, "hidden_act": "gelu_new"},
    "distilbert": {"activation": "gelu", "attention_dropout": 0.1, "dim": 768, "dropout": 0.1,
        "hidden_dim": 3072, "initializer_range": 0.02, "max_position_embeddings": 512,
        "n_heads": 12, "n_layers": 2, "pad_token_id": 0, "qa_dropout": 0.1,
        "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": False, "tie_weights_": True,
        "vocab_size": 30522},
    "gpt2": {"activation_function": "gelu_new", "attn_pdrop": 0.1, "embd_pdrop": 0.1,
        "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "n_ctx": 1024, "n_embd": 768,
        "n_head": 12, "n_layer": 2, "n_positions": 1024, "resid_pdrop": 0.1,
        "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True,
        "summary_type": "cls_index", "summary_use_proj": True, "vocab_size": 50257,
        "task_specific_params": {"text-generation": {"do_sample": True}}},
    "gpt_neox": {"hidden_act": "gelu", "hidden_size": 512, "initializer_range": 0.02,
        "intermediate_size": 2048, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
        "num_attention_heads": 8, "num_hidden_layers": 2, "rotary_emb_base": 10000,
        "rotary_pct": 0.25, "tie_word_embeddings": False, "use_cache": True,
        "use_parallel_residual": True, "vocab_size": 50304},
    "opt": {"_remove_final_layer_norm": False, "activation_function": "relu",
        "activation_dropout": 0.0, "attention_dropout": 0.0, "do_layer_norm_before": True,
        "dropout": 0.1, "ffn_dim": 3072, "hidden_size": 768, "init_std": 0.02, "layerdrop": 0.0,
        "max_position_embeddings": 2048, "num_attention_heads": 12, "num_hidden_layers": 2,
        "prefix": "</s>", "vocab_size": 50272, "word_embed_proj_dim": 768},
    "llama": LLAMA | {"mlp_bias": False, "pretraining_tp": 1, "is_llama_config": True,
        "rope_interleaved": False, "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0,
        "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}},
    "mistral": LLAMA | {"sliding_window": None, "head_dim": 128},
    "qwen2": LLAMA | {"max_window_layers": 28, "sliding_window": 32768,
        "use_sliding_window": False, "use_mrope": False},
    "qwen3": LLAMA | {"head_dim": 128, "max_window_layers": 28, "rope_scaling": None,
        "sliding_window": None, "use_sliding_window": False},
    "gemma": LLAMA | {"head_dim": 256, "hidden_activation": None, "hidden_act": "gelu"},
    "gemma2": LLAMA | {"attn_logit_softcapping": 50.0, "cache_implementation": "hybrid",
        "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
        "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256,
        "sliding_window": 4096},
    "gemma3_text": LLAMA | {"attn_logit_softcapping": None, "cache_implementation": "hybrid",
        "final_logit_softcapping": None, "head_dim": 256, "query_pre_attn_scalar": 256,
        "hidden_activation": "gelu_pytorch_tanh", "rope_local_base_freq": 10000,
        "rope_scaling": None, "sliding_window": 512, "sliding_window_pattern": 6},
    "phi3": LLAMA | {"auto_map": {"AutoConfig": "x"}, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
        "original_max_position_embeddings": 4096, "rope_scaling": None, "sliding_window": 2047},
    "t5": T5,
    "mt5": T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False,
        "tokenizer_class": "T5Tokenizer"},
    "bart": BART,
    "mbart": BART | {"_num_labels": 3, "add_final_layer_norm": True, "normalize_before": True,
        "scale_embedding": True, "static_position_embeddings": False, "output_past": True},
    "marian": BART | {"normalize_embedding": False, "static_position_embeddings": True,
        "scale_embedding": True, "activation_function": "swish", "bad_words_ids": [[5]],
        "decoder_start_token_id": 59513, "decoder_vocab_size": 50265,
        "extra_pos_embeddings": 50265,
        "share_encoder_decoder_embeddings": True},
}  # fmt: skip


class Everything:
    """Names of a file that has every tensor."""

    def __contains__(self, name):
        return "scale" not in name


@pytest.mark.parametrize("family", KNOWN)
def test_settings_of_a_well_known_model(family):
    plan = plan_model(Config(KNOWN[family] | {"model_type": family}, "config.json"), Everything())
    assert len((plan.encoder or plan.decoder).blocks) == 2


@pytest.mark.parametrize("family", KNOWN)
@pytest.mark.parametrize(
    "name", ["attention_scale", "use_alibi", "logits_multiplier", "moe_layers"]
)
def test_unknown_setting_in_every_family(family, name):
    """A setting that nothing reads is refused by its name in each of them."""
    settings = KNOWN[family] | {"model_type": family, name: 3}
    with pytest.raises(ModelError, match=f"{name} 3 is not supported"):
        plan_model(Config(settings, "config.json"), Everything())
