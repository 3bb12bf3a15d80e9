"""Make the arrays that our attention is compared with, using torch alone for the arithmetic.

Run from the top of the checkout, in an environment that has torch and the project's dependencies::

    python -m tests.reference.make_attention

It writes ``attention.npz`` and ``runs.npz`` beside this file; the tests only read them, so they
need no torch. ``attention.npz`` holds drawn inputs, weights and masks and what
`torch.nn.functional.multi_head_attention_forward` in float64 makes of them; nothing of `core` is
used for it. ``runs.npz`` holds whole seeded requests: `core` gives what enters layer 0 and the
weights, then torch does attention, residual and `layer_norm`, layer after layer, on its own.

torch always divides by √d_head; other divisors are had by stretching W_Q beforehand. A query
without a key is NaN in torch: it stays NaN in ``attention.npz``, and counts as 0 in ``runs.npz``.
"""

import json
import math
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import layer_norm, multi_head_attention_forward

HERE = Path(__file__).parent
SIZES = [(1, 1), (2, 1), (2, 2), (4, 2), (6, 3), (8, 8), (10, 5), (12, 4), (16, 4), (16, 8)]
SIZES += [(18, 6), (20, 1), (24, 3), (30, 5), (32, 8), (48, 6), (7, 7)]  # d_model, heads
RUNS = [  # text, layers, heads, d_model, seed, switches
    ("The black cat drank the milk", 3, 4, 16, 0, {}),
    ("我想吃酸菜鱼", 3, 2, 8, 7, {"causal": True}),
    ("to be or not to be", 3, 6, 18, 2**64 - 1, {"window": 1}),
    ("one", 3, 1, 5, 3, {}),
    ("a b c d e", 3, 8, 8, 1, {"blocked": [0, 3], "causal": True}),
    ("no positions here", 2, 3, 12, 4, {"positions": False}),
    ("hot and cold", 3, 2, 32, 5, {"temperature": 0.3}),
    ("do not divide , please", 4, 2, 24, 6, {"scale": False}),
]
MASKS = ("none", "causal", "window", "blocked", "causal window", "causal window blocked")


def torch_attention(x, w_q, w_k, w_v, w_o, heads, divisor, allowed):
    """[pos, d_model] -> pattern [head, query, key] and attn_out [query, d_model], by torch."""
    d_model = x.shape[1]
    stretch = math.sqrt(d_model // heads) / divisor
    in_proj = np.concatenate([w_q.T * stretch, w_k.T, w_v.T])
    batch = torch.from_numpy(x)[:, None, :]
    out, pattern = multi_head_attention_forward(
        batch,
        batch,
        batch,
        d_model,
        heads,
        torch.from_numpy(in_proj),
        None,
        None,
        None,
        False,
        0.0,
        torch.from_numpy(np.ascontiguousarray(w_o.T)),
        None,
        training=False,
        need_weights=True,
        attn_mask=torch.from_numpy(~allowed),  # torch: True = may not be attended
        average_attn_weights=False,
    )
    return pattern[0].numpy(), out[:, 0].numpy()


def allowed_cells(rng, count, parts):
    """[query, key] of bool for the named parts, cell by cell."""
    window = int(rng.integers(0, 4))
    blocked = set(rng.choice(count, size=max(1, count // 3), replace=False).tolist())
    allowed = np.ones((count, count), dtype=bool)
    for query in range(count):
        for key in range(count):
            if "causal" in parts and key > query:
                allowed[query, key] = False
            if "window" in parts and abs(query - key) > window:
                allowed[query, key] = False
            if "blocked" in parts and key in blocked:
                allowed[query, key] = False
    return allowed


def drawn_cases():
    """Every size with two masks each; every third draw is so large that patterns are sharp."""
    rng = np.random.default_rng(20240607)
    for index in range(2 * len(SIZES)):
        d_model, heads = SIZES[index % len(SIZES)]
        count = 1 + index % 17
        size = (1.0, 2.0, 8.0)[index % 3]
        spread = 1 / math.sqrt(d_model)
        arrays = {"x": rng.normal(0, size, (count, d_model))}
        for name in ("w_q", "w_k", "w_v", "w_o"):
            arrays[name] = rng.normal(0, spread, (d_model, d_model))
        # Stored as float32, so computed from exactly what is stored.
        arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
        scale = index % 4 != 3
        temperature = (1.0, 0.25, 1.0, 3.0, 0.7)[index % 5]
        allowed = allowed_cells(rng, count, MASKS[index % len(MASKS)].split())
        divisor = (math.sqrt(d_model // heads) if scale else 1.0) * temperature
        wide = {name: array.astype(np.float64) for name, array in arrays.items()}
        pattern, attn_out = torch_attention(**wide, heads=heads, divisor=divisor, allowed=allowed)
        yield {
            **arrays,
            "mask": allowed,
            "facts": np.array([heads, scale, temperature]),
            "pattern": pattern,
            "attn_out": attn_out,
        }


def run_cases():
    """Whole seeded requests of several layers, from what enters layer 0."""
    from core import Mask, ModelSpec, Request, Switches, run

    for text, layers, heads, d_model, seed, more in RUNS:
        facts = {
            "text": text,
            "layers": layers,
            "heads": heads,
            "d_model": d_model,
            "seed": seed,
            **more,
        }
        mask = Mask(
            facts.get("causal", False), facts.get("window"), frozenset(facts.get("blocked", []))
        )
        temperature, scale = facts.get("temperature", 1.0), facts.get("scale", True)
        switches = Switches(mask, facts.get("positions", True), scale, temperature)
        model = ModelSpec(layers, heads, d_model, seed)
        trace = run(Request(text, model=model, switches=switches))
        count = len(trace.tokens)
        allowed = np.ones((count, count), dtype=bool)
        for query in range(count):
            for key in range(count):
                allowed[query, key] = (
                    not (mask.causal and key > query)
                    and (mask.window is None or abs(query - key) <= mask.window)
                    and key not in mask.blocked
                )
        x = np.array(trace.layers[0].resid_pre)
        case = {"request": np.array(json.dumps(facts)), "resid_pre": x}
        divisor = (math.sqrt(d_model // heads) if scale else 1.0) * temperature
        for index, layer in enumerate(trace.layers):
            weights = {name: getattr(layer.weights, name) for name in ("w_q", "w_k", "w_v", "w_o")}
            pattern, attn_out = torch_attention(
                x, **weights, heads=heads, divisor=divisor, allowed=allowed
            )
            pattern, attn_out = np.nan_to_num(pattern), np.nan_to_num(attn_out)
            x = layer_norm(torch.from_numpy(x + attn_out), (d_model,), eps=1e-5).numpy()
            case[f"pattern {index}"] = pattern
            case[f"attn_out {index}"] = attn_out
            case[f"resid_post {index}"] = x
        yield case


def save(name, cases):
    """Save the cases as one file whose keys are ``case/array``."""
    arrays = {f"{i:02}/{key}": array for i, case in enumerate(cases) for key, array in case.items()}
    np.savez_compressed(HERE / name, **arrays)


if __name__ == "__main__":
    save("attention.npz", drawn_cases())
    save("runs.npz", run_cases())
