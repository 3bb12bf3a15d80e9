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
from core.checkpoints.plain import shown
from core.errors import ModelError
from core.language import _
from core.transformer_types import Float32

_MODEL_TYPES = {
    "llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma": "gemma", "gemma2": "gemma2",
    "gemma3": "gemma3_text",
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
_HANDLED = {
    "vocab_size", "rope.dimension_count", "attention.value_length", "rope.scaling.type",
    "rope.scaling.factor", "rope.scaling.original_context_length", "rope.scaling.finetuned",
    "tensor_data_layout",
}  # fmt: skip
_ROPE_FACTORS = "rope_freqs.weight"
# llama.cpp knows the largest Gemmas by their number of layers: they alone scale by the width of
# the layer and not by that of a head, and no setting of the file says so.
_WIDE_SCALE = {("gemma2", 46), ("gemma3", 62)}


class GgufTensors:
    """The file's tensors as Hugging Face names and lays them out."""

    def __init__(self, file: GgufFile, architecture: str, heads: int, kv_heads: int) -> None:
        self._file = file
        self._raised = architecture.startswith("gemma")
        self._turned = {"q_proj": heads, "k_proj": kv_heads} if architecture == "llama" else {}
        around = _AROUND if architecture in ("gemma2", "gemma3") else {}
        self._names = {
            _renamed(name, _PARTS | around): name for name in file.shapes if name != _ROPE_FACTORS
        }
        self.shapes = {new: file.shapes[old] for new, old in self._names.items()}

    def is_view(self, name: str) -> bool:
        return self._file.is_view(self._names[name]) and not self._heads(name)

    def read(self, name: str, rows: slice | Sequence[int] | None = None) -> Float32:
        stored = self._file.read(self._names[name], rows)
        if self._raised and name.endswith(("norm.weight", "layernorm.weight")):
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
        The file is damaged, or of an architecture or with a setting that is not known.
    """
    file = GgufFile(path)
    architecture = file.metadata.get("general.architecture")
    if architecture not in _MODEL_TYPES:
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
    for name, value in given.items():
        if name not in _SETTINGS and name not in _HANDLED and value not in (0, False, 1.0, ""):
            raise where.refusal(start + name, value)
    settings = {new: given[old] for old, new in _SETTINGS.items() if old in given}
    table = file.shapes.get("token_embd.weight", (0,))
    settings |= {
        "model_type": _MODEL_TYPES[architecture],
        "vocab_size": table[0],
        "tie_word_embeddings": "output.weight" not in file.shapes,
        "attention_bias": architecture != "qwen2" and "blk.0.attn_q.bias" in file.shapes,
        "rope_scaling": _rope(file, given, where),
    }
    if architecture in ("gemma2", "gemma3"):
        settings["query_pre_attn_scalar"] = _scale(given, architecture)
    head = given.get("attention.key_length")
    if head is None and isinstance(given.get("attention.head_count"), int):
        head = given.get("embedding_length", 0) // max(given["attention.head_count"], 1)
    for name in ("rope.dimension_count", "attention.value_length"):
        if given.get(name, head) != head:
            raise where.refusal(start + name, given[name])
    return settings


def _rope(file: GgufFile, given: dict[str, Any], where: Config) -> dict[str, Any]:
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


def _scale(given: dict[str, Any], architecture: str) -> Any:
    if (architecture, given.get("block_count")) in _WIDE_SCALE:
        return given.get("embedding_length", 0) // max(given.get("attention.head_count", 1), 1)
    return given.get("attention.key_length", 256)


def _renamed(name: str, parts: dict[str, str]) -> str:
    """A tensor's name in a Hugging Face file; one that is not known keeps its own."""
    stem, _dot, end = name.rpartition(".")
    if stem in _WHOLE:
        return f"{_WHOLE[stem]}.{end}"
    found = re.fullmatch(r"blk\.(\d+)\.(\w+)", stem)
    if found and found[2] in parts:
        return f"model.layers.{found[1]}.{parts[found[2]]}.{end}"
    return name
