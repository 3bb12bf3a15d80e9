"""Every family against transformers' own eager attention in float32, on small checkpoints."""

from pathlib import Path

import numpy as np
import pytest

from core.checkpoints.model import open_model
from tests.reference.checkpoint_cases import CASES

REFERENCE = Path(__file__).parents[1] / "reference" / "checkpoints"
TOLERANCE = 1e-4


def opened(name):
    folder = REFERENCE / name
    file = folder / "model.gguf"
    return open_model(file if file.exists() else folder)


def expected_of(name):
    with np.load(REFERENCE / name / "expected.npz") as file:
        return {key: file[key] for key in file.files}


def errors(trace, expected, kind, kept):
    """The largest difference of each kind of array, over the rows that are no padding."""
    prefix = f"{kind}_" if kind else ""
    patterns = np.stack([block.pattern for block in trace.blocks])
    entered = np.stack([block.resid_pre for block in trace.blocks])
    found = {
        "attentions": (patterns[:, :, kept], expected[f"{prefix}attentions"][:, :, kept]),
        "hidden": (entered[:, kept], expected[f"{prefix}hidden"][:, kept]),
    }
    if trace.final.shape == expected[f"{prefix}final"].shape:  # OPT's is projected for the head
        found["final"] = (trace.final[kept], expected[f"{prefix}final"][kept])
    return {name: float(np.abs(ours - theirs).max()) for name, (ours, theirs) in found.items()}


def compare(name):
    """What differs most between a checkpoint's run here and there, array by array."""
    model, expected = opened(name), expected_of(name)
    ids = expected["ids"].tolist()
    pads = frozenset(expected["pads"].tolist())
    run = model.run(ids, pads, expected["target"].tolist())
    kept = [i for i in range(len(ids)) if i not in pads]
    if run.encoder and run.decoder:
        every = list(range(len(expected["target"])))
        found = {
            f"encoder {k}": v for k, v in errors(run.encoder, expected, "encoder", kept).items()
        }
        found |= errors(run.decoder, expected, "decoder", every)
        cross = np.stack([block.cross.pattern for block in run.decoder.blocks])
        found["cross"] = float(np.abs(cross - expected["cross_attentions"]).max())
        kept = every
    else:
        found = errors(run.last, expected, "", kept)
    if "logits" in expected:
        logits = model.logits(run.last)[kept]
        found["logits"] = float(np.abs(logits - expected["logits"][kept]).max())
    return found


@pytest.mark.parametrize("name", CASES)
def test_against_transformers(name):
    """Attentions, hidden states and logits of every family are transformers' to 1e-4.

    Covers C03 and C06 (names of old files), C04 (prefixes), C05 (tied heads), C07 (GPT-2's
    orientation), C10 (RoBERTa's positions), C12 (DistilBERT's names), C18 (which dimensions
    turn), N09 (GPT-2's scale) and N15 (which GELU).
    """
    assert max(compare(name).values()) < TOLERANCE, compare(name)


@pytest.mark.parametrize("name", CASES)
def test_reference_is_far_from_uniform(name):
    """The reference's rows have a largest weight above 0.5 on average, and sum to 1 (C17)."""
    expected = expected_of(name)
    pads = set(expected["pads"].tolist())
    for key in (key for key in expected if key.endswith("attentions")):
        patterns = expected[key]
        if patterns.shape[2] == len(expected["ids"]) and "target" not in CASES[name]:
            patterns = patterns[:, :, [i for i in range(patterns.shape[2]) if i not in pads]]
        np.testing.assert_allclose(patterns.sum(-1), 1, atol=1e-5)
        assert patterns.max(-1)[(patterns > 0).sum(-1) >= 3].mean() > 0.5
