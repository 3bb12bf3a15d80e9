"""Train two small SentencePiece models, and keep what transformers makes of texts with them.

Run from the top of the checkout, in an environment with sentencepiece and transformers::

    python -m tests.reference.make_marian

It writes ``targets/marian/`` beside this file: ``source.spm``, ``target.spm`` and ``vocab.json`` as
OPUS-MT has them, and ``expected.json``: the ids of some texts as a source and as a target. Nothing
of `core` is used.
"""

import json
import shutil
import tempfile
from pathlib import Path

import sentencepiece
import transformers

HERE = Path(__file__).parent / "targets" / "marian"
SOURCE = """The black cat drank the milk and the black dog drank the water.
The ball is blue and the balls are bluer than blue. A cat can catch a ball.
She said that the other weather was better than this weather."""
TARGET = """El gato negro bebió la leche y el perro negro bebió el agua.
La bola es azul y las bolas son más azules que el azul. Un gato puede atrapar una bola.
Ella dijo que el otro tiempo era mejor que este tiempo."""
TEXTS = [
    "The black cat", "the  weather   is better", " leading and trailing ", "A ball\nand a cat",
    "the ﬁne ｂall", "gato negro", "日本 cat 日本", "café 🙂", ">>spa<< the ball", ">>xyz<< a cat",
    ">>spa<<  the", "a >>spa<< b", "zebra quiz", "\u2581the", "milk\tand", "x",
    "más azules", "El gato bebió leche",
]  # fmt: skip
# As a compiled rule: what is written wide or joined becomes plain.
RULES = {"ﬁ": "fi", "ｂ": "b", "\t": " "}


def trained(text, size, folder, name):
    rules = folder / f"{name}.tsv"
    lines = [
        " ".join(f"{ord(c):X}" for c in old) + "\t" + " ".join(f"{ord(c):X}" for c in new)
        for old, new in RULES.items()
    ]
    rules.write_text("\n".join(lines) + "\n")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text.splitlines() * 3),
        model_prefix=str(folder / name),
        vocab_size=size,
        normalization_rule_tsv=str(rules),
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (folder / f"{name}.model").rename(HERE / f"{name}.spm")
    model = sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"{name}.spm"))
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        source = trained(SOURCE, 70, Path(place), "source")
        target = trained(TARGET, 60, Path(place), "target")
    # Two pieces that one model has and the vocabulary lacks, which are unknown then.
    both = dict.fromkeys(["</s>", "<unk>", ">>spa<<", *reversed(target), *source])
    pieces = [piece for piece in both if piece not in ("<s>", "\u2581and", "\u2581la")]
    vocabulary = {piece: i for i, piece in enumerate([*pieces, "<pad>"])}
    (HERE / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False) + "\n")
    files = (str(HERE / name) for name in ("source.spm", "target.spm", "vocab.json"))
    tokenizer = transformers.MarianTokenizer(*files)
    found = {
        text: {
            "source": tokenizer(text)["input_ids"],
            "labels": tokenizer(text_target=text)["input_ids"],
        }
        for text in TEXTS
    }
    (HERE / "expected.json").write_text(json.dumps(found, ensure_ascii=False) + "\n")
    for text, ids in found.items():
        print(f"{text!r:28} {ids['source']} {ids['labels']}")
    print(len(vocabulary), {path.name: path.stat().st_size for path in HERE.iterdir()})
