"""Make small checkpoints of every family with random weights, and what transformers makes of them.

Run from the top of the checkout, in an environment with torch, transformers, safetensors and
gguf::

    python -m tests.reference.make_checkpoints [NAME ...]

It writes a folder a checkpoint into ``checkpoints/`` beside this file: the model as a person would
have it, and ``expected.npz`` with attentions, hidden states and logits of transformers' own eager
attention in float32. The tests only read them and need no torch. Nothing of `core` is used.

Weights are scaled until the largest weight of a row is above 0.5 on average: near uniform patterns
a wrong sign, a missing scale or a swapped head would hide below any tolerance.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import save_file

from tests.reference.checkpoint_cases import CASES

HERE = Path(__file__).parent / "checkpoints"
QUERY_KEY = (
    "query.", "key.", "q_lin", "k_lin", "q_proj", "k_proj", "c_attn", "query_key_value",
    "qkv_proj", "q_norm", "k_norm", "SelfAttention.q.", "SelfAttention.k.",
    "EncDecAttention.q.", "EncDecAttention.k.",
)  # fmt: skip
STORED = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}


def build(case, seed):
    """A model with eager attention and random weights, none of them left at 0 or 1."""
    torch.manual_seed(seed)
    config = getattr(transformers, case["config"])(**case["settings"])
    config._attn_implementation = "eager"
    model = getattr(transformers, case["model"])(config).eval()
    with torch.no_grad():
        for name, weight in [*model.named_parameters(), *model.named_buffers()]:
            noise = torch.randn(weight.shape)
            if "final_logits_bias" in name:
                weight.copy_(noise)
            elif "rotary" in name or not weight.requires_grad:
                continue  # buffers, and positions that follow from a formula
            if "norm" in name.lower() or ".ln_" in name or name.startswith("ln_"):
                plain = 0 if name.endswith("bias") or "gemma" in case["config"].lower() else 1
                weight.copy_(plain + 0.3 * noise)
            elif weight.ndim == 1 or name.endswith("bias"):
                weight.copy_(0.3 * noise)
            elif "embed" in name or "wte" in name or "wpe" in name or "shared" in name:
                weight.copy_(0.7 * noise)
            else:
                weight.copy_(noise * 0.9 / weight.shape[-1] ** 0.5)
    return model


def rounded(model, dtype, quantize):
    """Round every weight to what the file will hold, so that both sides compute with the same."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad:
                continue
            if quantize is None:
                weight.copy_(weight.to(dtype).float())
            else:
                weight.copy_(torch.from_numpy(quantize(name, weight.numpy().copy())))


def run(model, case):
    """Attentions, hidden states and logits of one text, in float32."""
    ids = torch.tensor([case["ids"]])
    mask = torch.ones_like(ids)
    mask[0, case.get("pads", [])] = 0
    given = {"input_ids": ids, "attention_mask": mask}
    if "target" in case:
        given["decoder_input_ids"] = torch.tensor([case["target"]])
    with torch.no_grad():
        out = model(**given, output_attentions=True, output_hidden_states=True)
    found = {}
    kinds = ("encoder", "decoder") if "target" in case else ("",)
    for kind in kinds:
        at = f"{kind}_" if kind else ""
        found[f"{at}attentions"] = torch.stack(list(out[f"{at}attentions"]))[:, 0].numpy()
        *entered, final = out[f"{at}hidden_states"]  # what enters each layer; the end, normed
        found[f"{at}hidden"] = torch.stack(entered)[:, 0].numpy()
        found[f"{at}final"] = final[0].numpy()
    if "target" in case:
        found["cross_attentions"] = torch.stack(list(out["cross_attentions"]))[:, 0].numpy()
    if case.get("logits", True):
        found["logits"] = out["logits"][0].numpy()
    return found


def sharpness(found, case):
    """Mean largest weight of the rows that have at least three keys, the flattest kind of it."""
    kept = [i for i in range(len(case["ids"])) if i not in case.get("pads", [])]
    means = []
    for name, patterns in found.items():
        if name.endswith("attentions"):
            rows = patterns if "target" in case else patterns[:, :, kept]
            several = (rows > 0).sum(-1) >= 3
            means.append(rows.max(-1)[several].mean())
    return min(means)


def sharpen(model, case, quantize):
    """Scale the projections of queries and keys until no kind of pattern is near uniform."""
    dtype = STORED[case.get("dtype", "F32")]
    for _attempt in range(40):
        rounded(model, dtype, quantize)
        found = run(model, case)
        if sharpness(found, case) > 0.55:
            return found
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if any(part in name for part in QUERY_KEY):
                    weight.mul_(1.15)
                    if "norm" in name and "gemma" in case["config"].lower():
                        weight.add_(0.15)
    raise SystemExit(f"{case['model']}: patterns stay flat")


def state_of(model, case):
    """The tensors as the file has them: tied ones once, names as the case wants them."""
    state = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
    config = model.config
    if getattr(config, "tie_word_embeddings", False) and not case.get("twice"):
        for name in getattr(model, "_tied_weights_keys", None) or {}:
            state.pop(name, None)
    renamed = {}
    for name, weight in state.items():
        if any(name.endswith(end) for end in case.get("drop", ())):
            continue
        for old, new in case.get("rename", ()):
            name = name.replace(old, new)
        renamed[name] = weight
    for name, shape in case.get("extra", {}).items():  # buffers that old files carry
        renamed[name] = torch.full(shape, 7.0)
    dtype = STORED[case.get("dtype", "F32")]
    return {name: weight.to(dtype).contiguous() for name, weight in renamed.items()}


def settings_of(model, case):
    """config.json, as this version of transformers writes it or as version 4 did."""
    settings = model.config.to_dict()
    for name in ("_attn_implementation", "dtype", "_attn_implementation_autoset"):
        settings.pop(name, None)
    settings["architectures"] = [case["model"]]
    if case.get("version") == 4:
        rope = settings.pop("rope_parameters", None)
        settings["transformers_version"] = "4.46.0"
        settings["torch_dtype"] = "float32"
        if rope and "full_attention" in rope:
            settings["rope_theta"] = rope["full_attention"]["rope_theta"]
            settings["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
            scaling = {k: v for k, v in rope["full_attention"].items() if k != "rope_theta"}
            settings["rope_scaling"] = None if scaling["rope_type"] == "default" else scaling
        elif rope:
            part = rope.pop("partial_rotary_factor", None)
            if part is not None:
                settings[case.get("part_name", "partial_rotary_factor")] = part
            settings[case.get("base_name", "rope_theta")] = rope.pop("rope_theta")
            settings["rope_scaling"] = None if rope["rope_type"] == "default" else rope
        settings.pop("layer_types", None)
    for name in case.get("omit", ()):
        settings.pop(name, None)
    settings.update(case.get("written", {}))
    return settings


def save_weights(folder, state, shards):
    """One file, or several with an index."""
    if shards == 1:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = sorted(state)
    where = {}
    for index in range(shards):
        file = f"model-{index + 1:05}-of-{shards:05}.safetensors"
        mine = {name: state[name] for name in names[index::shards]}
        save_file(mine, folder / file, metadata={"format": "pt"})
        where |= dict.fromkeys(mine, file)
    index = {"metadata": {"total_size": 0}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1))


def make(name, case, seed):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = build(case, seed)
    quantize = None
    if "gguf" in case:
        from tests.reference.write_gguf import quantizer, write_gguf

        quantize = quantizer(case["gguf"])
    found = sharpen(model, case, quantize)
    count, layers = len(case["ids"]), case.get("layers", 2)
    if "target" not in case:  # a reference without weights would compare nothing
        assert found["attentions"].shape[0] == layers, found["attentions"].shape
        assert found["attentions"].shape[2:] == (count, count)
    for kind in (k for k in found if k.endswith("attentions")):
        np.testing.assert_allclose(found[kind].sum(-1), 1, atol=1e-5)
    facts = {"ids": case["ids"], "pads": case.get("pads", [])}
    np.savez_compressed(folder / "expected.npz", **facts, target=case.get("target", []), **found)
    if "gguf" in case:
        write_gguf(folder / "model.gguf", model, case)
    else:
        settings = json.dumps(settings_of(model, case), indent=1)
        (folder / "config.json").write_text(settings + "\n")
        save_weights(folder, state_of(model, case), case.get("shards", 1))
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{name:20} sharpness {sharpness(found, case):.2f}  {size / 1000:5.0f} kB")


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(CASES)
    for seed, (name, case) in enumerate(CASES.items(), 1):
        if name in chosen:
            make(name, case, seed)
