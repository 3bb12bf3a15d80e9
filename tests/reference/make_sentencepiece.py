"""Train a small SentencePiece BPE and keep its pieces, and its ids of some sentences.

Run from the top of the checkout, in an environment with sentencepiece::

    python -m tests.reference.make_sentencepiece

It writes ``sentencepiece.json`` beside this file: what a GGUF file has of such a tokenizer, and
what the library itself makes of texts, with and without a space put before them.
"""

import io
import json
from pathlib import Path

import sentencepiece

TEXT = """The black cat drank the milk and the black dog drank the water.
To be or not to be, that is the question; whether it is nobler in the mind to suffer.
The ball is blue and the balls are bluer than blue. A cat can catch a ball.
She said that the other weather was better than this weather, and they gathered together.
Numbers such as 1234, 12 and 2024 stand between words; so do dashes - and quotes "like this".
The capital of France is Paris and the capital of Spain is Madrid."""
SENTENCES = [
    "The black cat drank the milk", "the  weather   is better", "1234 and 2024!", " leading space",
    "trailing space ", "café 我 想 🙂", "The\nball", "unbelievable gathering", "a", "\tx",
]  # fmt: skip


def trained(prefix):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.splitlines() * 4),
        model_writer=model,
        model_type="bpe",
        vocab_size=420,
        byte_fallback=True,
        add_dummy_prefix=prefix,
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def facts(prefix):
    made = trained(prefix)
    ids = range(made.get_piece_size())
    kinds = [2 if made.is_unknown(i) else 3 if made.is_control(i) else 6 if made.is_byte(i) else 1
             for i in ids]  # fmt: skip
    return {
        "tokens": [made.id_to_piece(i) for i in ids],
        "scores": [made.get_score(i) for i in ids],
        "token_type": kinds,
        "add_space_prefix": prefix,
        "ids": {sentence: made.encode(sentence) for sentence in SENTENCES},
    }


if __name__ == "__main__":
    path = Path(__file__).parent / "sentencepiece.json"
    path.write_text(json.dumps([facts(True), facts(False)], ensure_ascii=False) + "\n")
    print(path.stat().st_size)
