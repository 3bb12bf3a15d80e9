"""Write a model of transformers as GGUF, the way llama.cpp's converter lays it out."""

import gguf
import numpy as np

NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
AROUND = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}  # fmt: skip
FUSED = {"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
WHOLE = {"embed_tokens": "token_embd", "norm": "output_norm"}


def quantizer(kinds):
    """A function from a weight's name and values to what is left of them in the file."""

    def quantize(name, values):
        kind = kind_of(name, values, kinds)
        return gguf.dequantize(gguf.quantize(values, kind), kind).reshape(values.shape)

    return quantize


def kind_of(name, values, kinds):
    """Vectors stay F32; the matrices take the kinds of `kinds` in turn."""
    if values.ndim == 1:
        return gguf.GGMLQuantizationType.F32
    return gguf.GGMLQuantizationType[kinds[sum(map(ord, name)) % len(kinds)]]


def permuted(values, heads):
    """Rows so that the two dimensions of a head which turn together are neighbours."""
    halves = values.reshape(heads, 2, -1, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)


def new_name(name, others):
    stem, end = name.removeprefix("model.").rsplit(".", 1)
    if stem == "lm_head":
        return f"output.{end}"
    if stem in WHOLE:
        return f"{WHOLE[stem]}.{end}"
    _layers, index, rest = stem.split(".", 2)
    return f"blk.{index}.{(NAMES | (others or {}))[rest]}.{end}"


def write_gguf(path, model, case):
    config, architecture = model.config, case["architecture"]
    if architecture == "bert":
        write_bert(path, model, case)
        return
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    head = getattr(config, "head_dim", None)
    if head:
        writer.add_key_length(head)
        writer.add_value_length(head)
    rope = config.rope_parameters
    if "full_attention" in rope:
        writer.add_rope_freq_base(rope["full_attention"]["rope_theta"])
    else:
        writer.add_rope_freq_base(rope["rope_theta"])
        if rope["rope_type"] == "linear":
            writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            writer.add_rope_scaling_factor(rope["factor"])
        if rope["rope_type"] == "llama3":
            plain = rope["rope_theta"] ** -(np.arange(0, head, 2, dtype=np.float32) / head)
            made = model.model.rotary_emb.inv_freq.numpy()
            writer.add_tensor("rope_freqs.weight", (plain / made).astype(np.float32))
    if architecture in ("gemma2", "gemma3"):
        writer.add_sliding_window(config.sliding_window)
    if architecture == "phi3":
        add_phi3(writer, config, rope)
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    add_tokenizer(writer, config.vocab_size)
    tied = config.tie_word_embeddings
    for name, weight in model.state_dict().items():
        if tied and name == "lm_head.weight":
            continue
        values = weight.numpy()
        kind = kind_of(name, values, case["gguf"])
        if architecture == "llama" and ("q_proj" in name or "k_proj" in name):
            query = "q_proj" in name
            values = permuted(
                values, config.num_attention_heads if query else config.num_key_value_heads
            )
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            values = values + 1
        stored = gguf.quantize(np.ascontiguousarray(values), kind)
        name = new_name(name, {"phi3": FUSED, "gemma2": AROUND, "gemma3": AROUND}.get(architecture))
        writer.add_tensor(name, stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_phi3(writer, config, rope):
    """Windows, parts of a head, and the two sets of factors of a long context."""
    head = config.hidden_size // config.num_attention_heads
    original = config.original_max_position_embeddings
    writer.add_rope_scaling_orig_ctx_len(original)
    writer.add_rope_dimension_count(int(head * rope.get("partial_rotary_factor", 1.0)))
    writer.add_sliding_window(config.sliding_window or 0)
    if "long_factor" in rope:
        scale = config.max_position_embeddings / original
        factor = np.sqrt(1 + np.log(scale) / np.log(original)) if scale > 1 else 1.0
        writer.add_rope_scaling_attn_factors(float(factor))
        for length in ("long", "short"):
            factors = np.array(rope[f"{length}_factor"], dtype=np.float32)
            writer.add_tensor(f"rope_factors_{length}.weight", factors)


def write_bert(path, model, case):
    """An encoder; gguf's own table has the names."""
    config = model.config
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    add_tokenizer(writer, config.vocab_size)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        if "pooler" in name or name.endswith("position_ids"):
            continue
        values = weight.numpy()
        kind = kind_of(name, values, case["gguf"])
        stored = gguf.quantize(np.ascontiguousarray(values), kind)
        new = names.get_name(name, try_suffixes=(".weight", ".bias"))
        writer.add_tensor(new, stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tokenizer(writer, count):
    pieces = [chr(ord("A") + index) for index in range(count - 2)] + ["AB", "<s>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(pieces)
    writer.add_token_types([1] * (count - 1) + [3])
    writer.add_token_merges(["A B"])
    writer.add_bos_token_id(count - 1)
    writer.add_add_bos_token(True)
