"""Make small tokenizers of encoder–decoders, and what transformers has their decoders read.

Run from the top of the checkout, in an environment with torch and transformers::

    python -m tests.reference.make_targets

It writes a folder a family into ``targets/`` beside this file: ``tokenizer.json`` as transformers
saves it, what ``tokenizer_config.json`` says of languages, and ``expected.json``: the ids of some
texts as a source, as ``labels``, and as the ``decoder_input_ids`` that are made of these. Nothing
of `core` is used.
"""

import json
import shutil
from pathlib import Path

import torch
import transformers
from transformers.models.bart.modeling_bart import shift_tokens_right
from transformers.models.mbart.modeling_mbart import shift_tokens_right as wrap_tokens_right

HERE = Path(__file__).parent / "targets"
TEXTS = ["a cat", "the black cat", "tea", "a  the tea", " cat "]
LETTERS = "abcehklt"
PIECES = [
    ("\u2581", -3.0), *((letter, -4.0) for letter in LETTERS), ("\u2581a", -2.0),
    ("\u2581the", -2.1), ("\u2581cat", -2.3), ("ea", -2.7), ("lack", -2.9),
]  # fmt: skip
FAIRSEQ = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *PIECES]
LANGUAGES = {"src_lang": "en_XX", "tgt_lang": "ro_RO"}


def t5():
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *PIECES]
    pieces += [(f"<extra_id_{i}>", 0.0) for i in (1, 0)]
    return transformers.T5Tokenizer(vocab=pieces, extra_ids=2)


def bart():
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "\u0120", *LETTERS, "at", "cat", "\u0120t", "<mask>"]
    merges = [("a", "t"), ("c", "at"), ("\u0120", "t")]
    return transformers.BartTokenizer(vocab={p: i for i, p in enumerate(pieces)}, merges=merges)


def mbart():
    from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES

    pieces = [*FAIRSEQ, *((code, 0.0) for code in FAIRSEQ_LANGUAGE_CODES), ("<mask>", 0.0)]
    return transformers.MBartTokenizer(vocab=pieces, **LANGUAGES)


def mbart50():
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

    pieces = [*FAIRSEQ, *((code, 0.0) for code in FAIRSEQ_LANGUAGE_CODES), ("<mask>", 0.0)]
    return transformers.MBart50Tokenizer(vocab=pieces, **LANGUAGES)


def shifted(name, labels):
    """``decoder_input_ids`` as the family's model makes them of ``labels``."""
    ids = torch.tensor([labels])
    if name == "t5":
        settings = {"vocab_size": 40, "d_model": 4, "d_kv": 2, "d_ff": 4, "num_layers": 1}
        config = transformers.T5Config(**settings, num_heads=2, decoder_start_token_id=0)
        model = transformers.T5ForConditionalGeneration(config)
        return model.prepare_decoder_input_ids_from_labels(ids)[0].tolist()
    if name == "bart":
        return shift_tokens_right(ids, 1, 2)[0].tolist()
    return wrap_tokens_right(ids, 1)[0].tolist()


def make(name, tokenizer):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tokenizer.save_pretrained(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    for path in folder.iterdir():
        if path.name != "tokenizer.json":
            path.unlink()
    named = {key: settings[key] for key in LANGUAGES if settings.get(key)}
    if named:
        (folder / "tokenizer_config.json").write_text(json.dumps(named) + "\n")
    whole = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False) + "\n")
    found = {}
    for text in ["", *TEXTS]:
        labels = tokenizer(text_target=text)["input_ids"]
        read = shifted(name, labels)
        found[text] = {"source": tokenizer(text)["input_ids"], "labels": labels, "read": read}
    (folder / "expected.json").write_text(json.dumps(found, indent=1) + "\n")
    for text, ids in found.items():
        print(f"{name:8} {text!r:16} {ids['labels']} -> {ids['read']}")


if __name__ == "__main__":
    for each in (t5, bart, mbart, mbart50):
        make(each.__name__, each())
