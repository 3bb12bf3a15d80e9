"""What a person runs without attn-tui: transformers computes the attention, BertViz draws it.

``python peer.py MODEL TEXT VIEW`` writes the view, an HTML page, to VIEW and prints the memory of
this process as JSON.
"""

import json
import os
import sys
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

import torch
from bertviz import head_view
from memory import peak_bytes, private_bytes  # this file's folder is the first on the path
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging


def load(path: Path) -> tuple:
    """The tokenizer and the model, in float32, out of a folder or a ``.gguf`` file."""
    logging.disable_progress_bar()
    folder, more = (path, {}) if path.is_dir() else (path.parent, {"gguf_file": path.name})
    tokenizer = AutoTokenizer.from_pretrained(folder, **more)
    model = AutoModel.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, **more
    )
    return tokenizer, model.eval()


def main(model_path: str, text: str, view: str) -> None:
    tokenizer, model = load(Path(model_path))
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True)
    tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
    page = head_view(outputs.attentions, tokens, html_action="return")
    Path(view).write_text(page.data)
    print(json.dumps({"peak": peak_bytes(), "private": private_bytes(), "tokens": len(tokens)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
