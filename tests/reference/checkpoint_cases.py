"""The small checkpoints of ``make_checkpoints.py``: awkward shapes, one row a checkpoint.

`settings` go to the configuration's class; `rename` and `extra` change the names in the file;
`version` 4 writes config.json as transformers 4 did; `written` overrides what is written there.
"""

TEXT = [5, 17, 3, 29, 11, 8, 17]
LONG = [5, 17, 3, 29, 11, 8, 17, 2, 31, 9, 4, 22, 6]
PADDED = [5, 17, 3, 29, 11, 1, 1]
PADS = [5, 6]

BERT = {
    "vocab_size": 37, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
    "intermediate_size": 40, "max_position_embeddings": 19, "type_vocab_size": 2,
}  # fmt: skip
LLAMA = {
    "vocab_size": 37, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2,
    "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 64,
}  # fmt: skip
BART = {
    "vocab_size": 37, "d_model": 24, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 3, "decoder_attention_heads": 4, "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 36, "max_position_embeddings": 21,
}  # fmt: skip
T5 = {
    "vocab_size": 37, "d_model": 24, "d_kv": 5, "d_ff": 40, "num_layers": 2,
    "num_decoder_layers": 3, "num_heads": 3, "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 10,
}  # fmt: skip
GGUF = {
    "vocab_size": 37, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "head_dim": 8,
}  # fmt: skip
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
LEGACY = (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))


def case(config, model, settings, ids=TEXT, **rest):
    return {
        "config": f"{config}Config", "model": f"{config.removesuffix('Text')}{model}",
        "settings": settings, "ids": ids,
    } | rest  # fmt: skip


def plain(config, settings, ids=TEXT, **rest):
    """The model without its head, as a file without a prefix has it."""
    return case(config, "Model", settings, ids, logits=False, **rest)


CASES = {
    "bert-legacy": case("Bert", "ForMaskedLM", BERT, LONG, rename=LEGACY,
        extra={"bert.embeddings.position_ids": (1, 19)}),
    "bert-plain": plain("Bert", BERT | {"num_attention_heads": 4, "hidden_act": "gelu_new",
        "num_hidden_layers": 3, "layer_norm_eps": 1e-5}, PADDED, pads=PADS, layers=3, dtype="F16",
        omit=("hidden_dropout_prob", "type_vocab_size")),
    "distilbert-head": case("DistilBert", "ForMaskedLM", {"vocab_size": 37, "dim": 24,
        "n_heads": 3, "n_layers": 2, "hidden_dim": 40, "max_position_embeddings": 19}, LONG),
    "distilbert-plain": plain("DistilBert", {"vocab_size": 37, "dim": 28, "n_heads": 4,
        "n_layers": 3, "hidden_dim": 36, "max_position_embeddings": 9, "activation": "relu"},
        PADDED, pads=PADS, layers=3, dtype="BF16"),
    "roberta-head": case("Roberta", "ForMaskedLM", BERT | {"pad_token_id": 1,
        "type_vocab_size": 1, "max_position_embeddings": 9}, PADDED, pads=PADS),
    "xlm-roberta-plain": plain("XLMRoberta", BERT | {"pad_token_id": 0, "type_vocab_size": 1,
        "num_attention_heads": 6}, LONG, dtype="F16"),
    "albert-head": case("Albert", "ForMaskedLM", BERT | {"embedding_size": 10,
        "num_hidden_layers": 3}, LONG, layers=3),
    "albert-groups": plain("Albert", BERT | {"embedding_size": 12, "num_hidden_layers": 4,
        "num_hidden_groups": 2, "hidden_act": "gelu", "num_attention_heads": 4}, PADDED,
        pads=PADS, layers=4, dtype="BF16"),
    "electra-head": case("Electra", "ForMaskedLM", BERT | {"embedding_size": 14}, LONG),
    "electra-plain": case("Electra", "ForPreTraining", BERT | {"embedding_size": 24,
        "num_attention_heads": 4}, PADDED, pads=PADS, logits=False, dtype="F16"),
    "gpt2-head": case("GPT2", "LMHeadModel", {"vocab_size": 37, "n_embd": 24, "n_head": 3,
        "n_layer": 3, "n_positions": 19, "scale_attn_by_inverse_layer_idx": True}, LONG, layers=3),
    "gpt2-plain": plain("GPT2", {"vocab_size": 37, "n_embd": 24, "n_head": 4, "n_layer": 2,
        "n_positions": 9, "n_inner": 44, "scale_attn_weights": False,
        "activation_function": "gelu"}, [1, 1, 5, 17, 3, 29, 11], pads=[0, 1], dtype="F16",
        extra={"h.0.attn.bias": (1, 1, 9, 9), "h.0.attn.masked_bias": ()}),
    "gpt2-untied": case("GPT2", "LMHeadModel", {"vocab_size": 37, "n_embd": 20, "n_head": 5,
        "n_layer": 2, "n_positions": 19, "tie_word_embeddings": False}, TEXT, dtype="BF16"),
    "neox-parallel": case("GPTNeoX", "ForCausalLM", {"vocab_size": 37, "hidden_size": 24,
        "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 40,
        "max_position_embeddings": 19, "rope_parameters": {"rope_type": "default",
        "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}, LONG, layers=3),
    "neox-serial": case("GPTNeoX", "ForCausalLM", {"vocab_size": 37, "hidden_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 36,
        "max_position_embeddings": 19, "use_parallel_residual": False, "attention_bias": False,
        "tie_word_embeddings": True, "hidden_act": "gelu_new", "rope_parameters": {
        "rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.25}}, LONG,
        dtype="F16", version=4, part_name="rotary_pct", base_name="rotary_emb_base",
        extra={"gpt_neox.layers.0.attention.bias": (1, 1, 19, 19),
        "gpt_neox.layers.0.attention.masked_bias": (),
        "gpt_neox.layers.0.attention.rotary_emb.inv_freq": (4,)}),
    "opt-before": case("OPT", "ForCausalLM", {"vocab_size": 37, "hidden_size": 24,
        "num_hidden_layers": 3, "num_attention_heads": 3, "ffn_dim": 40,
        "max_position_embeddings": 19, "word_embed_proj_dim": 24},
        [1, 1, 5, 17, 3, 29, 11], pads=[0, 1], layers=3),
    "opt-after": case("OPT", "ForCausalLM", {"vocab_size": 37, "hidden_size": 24,
        "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 36,
        "max_position_embeddings": 19, "word_embed_proj_dim": 10, "do_layer_norm_before": False,
        "enable_bias": False}, LONG, dtype="F16"),
    "llama-shards": case("Llama", "ForCausalLM", LLAMA | {"rope_parameters": LLAMA3,
        "attention_bias": True, "mlp_bias": True}, LONG, shards=2),
    "llama-4": case("Llama", "ForCausalLM", LLAMA | {"head_dim": 6, "num_hidden_layers": 3,
        "tie_word_embeddings": True, "rope_parameters": {"rope_type": "linear", "factor": 2.5,
        "rope_theta": 10000.0}}, [1, 1, 5, 17, 3, 29, 11], pads=[0, 1], layers=3, version=4,
        dtype="BF16", extra={"model.layers.1.self_attn.rotary_emb.inv_freq": (3,)}),
    "llama-plain": plain("Llama", LLAMA | {"num_key_value_heads": 6, "num_attention_heads": 3 * 2,
        "hidden_size": 36, "rms_norm_eps": 1e-5}, LONG, dtype="F64"),
    "mistral-window": case("Mistral", "ForCausalLM", LLAMA | {"sliding_window": 4,
        "head_dim": 10}, LONG),
    "mistral-4": case("Mistral", "ForCausalLM", LLAMA | {"sliding_window": None, "head_dim": 4,
        "tie_word_embeddings": True}, LONG, dtype="BF16", version=4),
    "qwen2-window": case("Qwen2", "ForCausalLM", LLAMA | {"use_sliding_window": True,
        "sliding_window": 3, "max_window_layers": 1, "num_hidden_layers": 3}, LONG, layers=3),
    "qwen2-4": case("Qwen2", "ForCausalLM", LLAMA | {"tie_word_embeddings": True,
        "num_key_value_heads": 3, "sliding_window": 5, "max_window_layers": 2}, LONG,
        dtype="F16", version=4, written={"sliding_window": 5}),
    "qwen3-head-dim": case("Qwen3", "ForCausalLM", LLAMA | {"head_dim": 10,
        "tie_word_embeddings": True}, LONG),
    "qwen3-bias": case("Qwen3", "ForCausalLM", LLAMA | {"head_dim": 6, "attention_bias": True,
        "num_hidden_layers": 3}, LONG, layers=3, dtype="BF16", version=4),
    "gemma-one": case("Gemma", "ForCausalLM", LLAMA | {"head_dim": 10,
        "num_key_value_heads": 1}, LONG),
    "gemma-4": plain("Gemma", LLAMA | {"head_dim": 4, "num_hidden_layers": 3}, LONG, layers=3,
        dtype="BF16", version=4),
    "gemma2-window": case("Gemma2", "ForCausalLM", LLAMA | {"head_dim": 10, "sliding_window": 4,
        "query_pre_attn_scalar": 7, "attn_logit_softcapping": 4.0,
        "final_logit_softcapping": 3.0, "num_hidden_layers": 3}, LONG, layers=3),
    "gemma2-4": case("Gemma2", "ForCausalLM", LLAMA | {"head_dim": 4, "sliding_window": 3,
        "query_pre_attn_scalar": 4}, LONG, dtype="F16", version=4),
    "gemma3-kinds": case("Gemma3Text", "ForCausalLM", LLAMA | {"head_dim": 10, "sliding_window": 4,
        "query_pre_attn_scalar": 7, "num_hidden_layers": 3, "layer_types": [
        "sliding_attention", "full_attention", "sliding_attention"], "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 5000.0}}}, LONG,
        layers=3),
    "gemma3-4": case("Gemma3Text", "ForCausalLM", LLAMA | {"head_dim": 4, "sliding_window": 3,
        "query_pre_attn_scalar": 5, "num_hidden_layers": 7}, LONG, layers=7, dtype="BF16",
        version=4),
    "phi3-window": case("Phi3", "ForCausalLM", LLAMA | {"sliding_window": 5,
        "hidden_size": 36, "pad_token_id": 0}, LONG),
    "phi3-part": case("Phi3", "ForCausalLM", LLAMA | {"hidden_size": 48, "pad_token_id": 0,
        "tie_word_embeddings": True, "rope_parameters": {"rope_type": "default",
        "rope_theta": 300.0, "partial_rotary_factor": 0.75}}, LONG, dtype="F16", version=4),
    "t5-relu": case("T5", "ForConditionalGeneration", T5, LONG, target=[0, 5, 9, 30, 2, 7],
        pads=[11, 12]),
    "t5-gated": case("T5", "ForConditionalGeneration", T5 | {"feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": False}, LONG, target=[0, 5, 9, 30, 2], dtype="BF16", twice=True),
    "mt5-gated": case("MT5", "ForConditionalGeneration", T5 | {"d_kv": 9,
        "relative_attention_num_buckets": 6}, LONG, target=[0, 5, 9, 30, 2, 14, 3]),
    "bart-head": case("Bart", "ForConditionalGeneration", BART, LONG,
        target=[2, 5, 9, 30, 2, 14, 3], pads=[12]),
    "bart-plain": plain("Bart", BART | {"scale_embedding": True, "encoder_layers": 3,
        "activation_function": "gelu_new"}, LONG, target=[2, 5, 9, 30], dtype="F16"),
    "mbart-head": case("MBart", "ForConditionalGeneration", BART | {"scale_embedding": True},
        LONG, target=[2, 5, 9, 30, 2, 14, 3], pads=[12]),
    "mbart-plain": plain("MBart", BART | {"decoder_layers": 3, "activation_function": "relu"},
        LONG, target=[2, 5, 9, 30], dtype="BF16"),
    "marian-head": case("Marian", "MTModel", BART | {"scale_embedding": True,
        "activation_function": "silu", "decoder_start_token_id": 36, "pad_token_id": 36}, LONG,
        target=[36, 5, 9, 30, 2, 14, 3], pads=[12]),
    "marian-plain": plain("Marian", BART | {"decoder_layers": 3, "pad_token_id": 36,
        "activation_function": "relu", "encoder_attention_heads": 4}, LONG, target=[36, 5, 9, 30],
        dtype="F16", drop=("embed_positions.weight",)),
    "mt5-plain": plain("MT5", T5 | {"feed_forward_proj": "relu", "num_heads": 4}, LONG,
        target=[0, 5, 9, 30, 2], dtype="F16"),
    "phi3-long": case("Phi3", "ForCausalLM", LLAMA | {"pad_token_id": 0, "hidden_size": 36,
        "max_position_embeddings": 64, "original_max_position_embeddings": 16,
        "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0,
        "short_factor": [1.1, 1.3, 2.0], "long_factor": [2.0, 3.0, 4.0]}}, LONG),
    "gguf-llama": case("Llama", "ForCausalLM", GGUF | {"rope_parameters": LLAMA3}, LONG,
        gguf=["F32", "F16", "BF16"], architecture="llama"),
    "gguf-llama-tied": case("Llama", "ForCausalLM", GGUF | {"head_dim": 16,
        "tie_word_embeddings": True, "num_key_value_heads": 4, "attention_bias": True}, LONG,
        gguf=["Q8_0", "Q4_0", "Q4_1"], architecture="llama"),
    "gguf-qwen2": case("Qwen2", "ForCausalLM", GGUF, LONG, gguf=["Q8_0", "Q4_1"],
        architecture="qwen2"),
    "gguf-qwen2-linear": case("Qwen2", "ForCausalLM", GGUF | {"tie_word_embeddings": True,
        "num_key_value_heads": 1, "rope_parameters": {"rope_type": "linear", "factor": 4.0,
        "rope_theta": 1000.0}}, LONG, gguf=["F16", "Q4_0"], architecture="qwen2"),
    "gguf-qwen3": case("Qwen3", "ForCausalLM", GGUF | {"head_dim": 16}, LONG, gguf=["Q8_0"],
        architecture="qwen3"),
    "gguf-gemma": case("Gemma", "ForCausalLM", GGUF | {"head_dim": 24}, LONG, gguf=["Q8_0", "F16"],
        architecture="gemma"),
    "gguf-gemma-one": case("Gemma", "ForCausalLM", GGUF | {"num_key_value_heads": 1,
        "num_hidden_layers": 3}, LONG, layers=3, gguf=["F32", "BF16"], architecture="gemma"),
    "gguf-gemma2": case("Gemma2", "ForCausalLM", GGUF | {"sliding_window": 4, "head_dim": 16,
        "query_pre_attn_scalar": 16, "attn_logit_softcapping": 4.0,
        "final_logit_softcapping": 3.0}, LONG, gguf=["Q8_0"], architecture="gemma2"),
    "gguf-gemma3": case("Gemma3Text", "ForCausalLM", GGUF | {"sliding_window": 4,
        "query_pre_attn_scalar": 8, "num_hidden_layers": 7}, LONG, layers=7, gguf=["F16", "Q8_0"],
        architecture="gemma3"),
    "qwen2-window-4": case("Qwen2", "ForCausalLM", LLAMA | {"use_sliding_window": True,
        "sliding_window": 4, "max_window_layers": 1, "num_hidden_layers": 3}, LONG, layers=3,
        dtype="BF16", version=4),
}  # fmt: skip
