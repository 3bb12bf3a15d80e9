"""GGUF under the names of Hugging Face, so that each family is mapped once.

The converter of llama.cpp renames the tensors, stores the rows of Llama's q and k so that the two
dimensions which turn together are neighbours, and adds 1 to Gemma's gains; all of it is undone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.checkpoints.config import Config
from core.checkpoints.gguf_file import GgufFile
from core.checkpoints.plain import shown, whole
from core.errors import ModelError
from core.language import _
from core.transformer_types import Float32

_MODEL_TYPES = {
    "llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma": "gemma", "gemma2": "gemma2",
    "gemma3": "gemma3_text", "phi3": "phi3", "bert": "bert",
}  # fmt: skip
_WHOLE = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
}  # fmt: skip
_PARTS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_AROUND = {  # where norms stand on both sides, "ffn_norm" is another one
    "ffn_norm": "pre_feedforward_layernorm", "post_attention_norm": "post_attention_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}  # fmt: skip
_FUSED = {"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"}  # of Phi-3
_WHOLE_OF_BERT = {
    "token_embd": "embeddings.word_embeddings", "token_types": "embeddings.token_type_embeddings",
    "position_embd": "embeddings.position_embeddings", "token_embd_norm": "embeddings.LayerNorm",
}  # fmt: skip
_PARTS_OF_BERT = {
    "attn_q": "attention.self.query", "attn_k": "attention.self.key",
    "attn_v": "attention.self.value", "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm", "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm",
}  # fmt: skip
# Settings, without the architecture's name in front, under the names of config.json.
_SETTINGS = {
    "block_count": "num_hidden_layers", "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size", "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads", "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps", "rope.freq_base": "rope_theta",
    "attention.sliding_window": "sliding_window",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope.freq_base_swa": "rope_local_base_freq",
}  # fmt: skip
_SIZES = ("block_count", "embedding_length", "attention.head_count", "attention.key_length")
_HANDLED = {
    "vocab_size", "rope.dimension_count", "attention.value_length", "rope.scaling.type",
    "rope.scaling.factor", "rope.scaling.original_context_length", "rope.scaling.finetuned",
    "rope.scaling.attn_factor", "tensor_data_layout", "attention.causal",
}  # fmt: skip
_HANDLED_OF_BERT = {"attention.layer_norm_epsilon", "pooling_type",
    "classifier.output_labels"}  # fmt: skip
_ROPE_FACTORS = "rope_freqs.weight"
_LONG_FACTORS, _SHORT_FACTORS = "rope_factors_long.weight", "rope_factors_short.weight"
_NO_WEIGHTS = (_ROPE_FACTORS, _LONG_FACTORS, _SHORT_FACTORS)
# The narrowest window of any Phi-3; files of the first months do not name theirs.
_PHI3_WINDOW = 2047
# llama.cpp knows the largest Gemmas by their number of layers: they alone scale by the width of
# the layer and not by that of a head, and no setting of the file says so.
_WIDE_SCALE = {("gemma2", 46), ("gemma3", 62)}


class GgufTensors:
    """The file's tensors as Hugging Face names and lays them out."""

    def __init__(self, file: GgufFile, architecture: str, heads: int, kv_heads: int) -> None:
        self._file = file
        self._raised = architecture.startswith("gemma")
        self._turned = {"q_proj": heads, "k_proj": kv_heads} if architecture == "llama" else {}
        self._names = {
            _renamed(name, architecture): name for name in file.shapes if name not in _NO_WEIGHTS
        }
        self.shapes = {new: file.shapes[old] for new, old in self._names.items()}

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def is_view(self, name: str) -> bool:
        return self._file.is_view(self._names[name]) and not self._heads(name)

    def read(self, name: str, rows: slice | Sequence[int] | None = None) -> Float32:
        stored = self._file.read(self._names[name], rows)
        if self._raised and name.endswith("norm.weight"):
            return stored - 1
        heads = self._heads(name)
        if heads and rows is None:  # [head, pair, which of the two] -> [head, which, pair]
            paired = stored.reshape(heads, -1, 2, *stored.shape[1:])
            return paired.swapaxes(1, 2).reshape(stored.shape)
        return stored

    def _heads(self, name: str) -> int:
        return self._turned.get(name.rsplit(".", 2)[-2], 0) if name.count(".") > 1 else 0


def open_gguf(path: Path) -> tuple[Config, GgufTensors, GgufFile]:
    """A file's configuration and tensors, and the file for its tokenizer.

    Raises
    ------
    ModelError
        The file is damaged, a part of a model, or of an architecture or with a setting that is not
        known.
    """
    file = GgufFile(path)
    parts = file.metadata.get("split.count", 1)
    if parts not in (0, 1):
        raise ModelError(
            _("{path} is one of {n} parts of a model").format(path=shown(path), n=shown(parts)),
            _("join them: llama-gguf-split --merge, the first part, the name of the whole"),
        )
    architecture = file.metadata.get("general.architecture")
    if not isinstance(architecture, str) or architecture not in _MODEL_TYPES:
        raise ModelError(
            _("{path}: architecture {name} is not supported").format(
                path=shown(path), name=shown(repr(architecture))
            ),
            _("open a model of one of {families}").format(families=", ".join(sorted(_MODEL_TYPES))),
        )
    config = Config(_settings(file, architecture), shown(path))
    heads = config.size("num_attention_heads")
    kv_heads = config.size("num_key_value_heads", default=heads)
    return config, GgufTensors(file, architecture, heads, kv_heads), file


def _settings(file: GgufFile, architecture: str) -> dict[str, Any]:
    start = f"{architecture}."
    given = {
        name.removeprefix(start): value
        for name, value in file.metadata.items()
        if name.startswith(start)
    }
    where = Config({}, shown(file.path))
    handled = _HANDLED | (_HANDLED_OF_BERT if architecture == "bert" else set())
    for name, value in given.items():
        off = value is not True and value in (0, 1.0, "")
        if name not in _SETTINGS and name not in handled and not off:
            raise where.refusal(start + name, value)
    for name in _SIZES:  # with which the others are worked out
        if not whole(given.get(name, 0)):
            raise where.refusal(start + name, given[name])
    causal = given.get("attention.causal", True)
    if architecture != "bert" and causal is not True:  # some are trained on to see both sides
        raise where.refusal(start + "attention.causal", causal)
    settings = {new: given[old] for old, new in _SETTINGS.items() if old in given}
    table = file.shapes.get("token_embd.weight", (0,))
    settings |= {
        "model_type": _MODEL_TYPES[architecture],
        "vocab_size": table[0],
        "tie_word_embeddings": "output.weight" not in file.shapes,
        "attention_bias": architecture not in ("qwen2", "bert")
        and "blk.0.attn_q.bias" in file.shapes,
        "rope_scaling": _rope(file, given, where),
    }
    if architecture in ("gemma2", "gemma3"):
        settings["query_pre_attn_scalar"] = _scale(given, architecture)
    if architecture == "bert":
        return settings | _of_bert(file, given, where)
    head = given.get("attention.key_length")
    if head is None and "attention.head_count" in given:
        head = given.get("embedding_length", 0) // max(given["attention.head_count"], 1)
    if architecture == "phi3":
        settings |= _of_phi3(given, head)
        head = given.get("rope.dimension_count", head)
    for name in ("rope.dimension_count", "attention.value_length"):
        if given.get(name, head) != head:
            raise where.refusal(start + name, given[name])
    return settings


def _rope(file: GgufFile, given: dict[str, Any], where: Config) -> dict[str, Any]:
    if _SHORT_FACTORS in file.shapes:
        return {
            "rope_type": "longrope",
            "short_factor": file.read(_SHORT_FACTORS).reshape(-1).tolist(),
            "attention_factor": given.get("rope.scaling.attn_factor"),
        }
    kind = given.get("rope.scaling.type", "none")
    factor = given.get("rope.scaling.factor", 1.0)
    if _ROPE_FACTORS in file.shapes:
        factors = file.read(_ROPE_FACTORS).reshape(-1).tolist()
        return {"rope_type": "factors", "factors": factors}
    if kind == "linear":
        return {"rope_type": "linear", "factor": factor}
    if kind != "none" or factor != 1.0:
        raise where.refusal("rope.scaling.type", kind)
    return {}


def _of_phi3(given: dict[str, Any], head: Any) -> dict[str, Any]:
    """Windows, the part of a head that turns, and the length that the short factors are for."""
    limit, turning = given.get("context_length"), given.get("rope.dimension_count", head)
    found: dict[str, Any] = {
        "sliding_window": given.get("attention.sliding_window") or None,
        "original_max_position_embeddings": given.get("rope.scaling.original_context_length"),
    }
    if "attention.sliding_window" not in given and isinstance(limit, int):
        found["max_position_embeddings"] = min(limit, _PHI3_WINDOW)
    if head and isinstance(turning, int):
        found["partial_rotary_factor"] = turning / head
    return found


def _of_bert(file: GgufFile, given: dict[str, Any], where: Config) -> dict[str, Any]:
    """What BERT's files leave out is fixed: the activation, and that all tokens are seen."""
    if given.get("attention.causal") is not False:
        raise where.refusal("bert.attention.causal", given.get("attention.causal"))
    return {
        "layer_norm_eps": given.get("attention.layer_norm_epsilon"),
        "type_vocab_size": file.shapes.get("token_types.weight", (1,))[0],
        "hidden_act": "gelu",
    }


def _scale(given: dict[str, Any], architecture: str) -> Any:
    if (architecture, given.get("block_count")) in _WIDE_SCALE:
        return given.get("embedding_length", 0) // max(given.get("attention.head_count", 1), 1)
    return given.get("attention.key_length", 256)


def _renamed(name: str, architecture: str) -> str:
    """A tensor's name in a Hugging Face file; one that is not known keeps its own."""
    whole, parts, layers = _WHOLE, _PARTS, "model.layers"
    if architecture == "bert":
        whole, parts, layers = _WHOLE_OF_BERT, _PARTS_OF_BERT, "encoder.layer"
    elif architecture == "phi3":
        parts = _PARTS | _FUSED
    elif architecture in ("gemma2", "gemma3"):
        parts = _PARTS | _AROUND
    stem, _dot, end = name.rpartition(".")
    if stem in whole:
        return f"{whole[stem]}.{end}"
    found = re.fullmatch(r"blk\.(\d+)\.(\w+)", stem)
    if found and found[2] in parts:
        return f"{layers}.{found[1]}.{parts[found[2]]}.{end}"
    return name
