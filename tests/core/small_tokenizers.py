"""Small tokenizers of every kind, made in memory."""

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
BERT_PIECES = [*SPECIAL, "hello", "world", "a", "cafe", "リ", "##ハ", "b"]


def byte_level_tokenizer(add_prefix_space=False, trim_offsets=True):
    """Byte-level BPE with the 256 bytes and no merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({char: i for i, char in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    made.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    return made


def bert_tokenizer(more=(), **normalizer):
    """Lower-casing WordPiece with [CLS] and [SEP] around the text."""
    pieces = {piece: i for i, piece in enumerate((*BERT_PIECES, *more))}
    made = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(**normalizer)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(SPECIAL)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def unigram_tokenizer(pieces="▁ a ▁a 我", **settings):
    """Unigram with the space mark of SentencePiece; id 0 is unknown."""
    vocabulary = [("<unk>", 0.0), *((piece, -1.0) for piece in pieces.split())]
    made = Tokenizer(models.Unigram(vocabulary, **({"unk_id": 0} | settings)))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    return made


def word_level_tokenizer(pieces="a b [UNK]", normalizer=None):
    """WordLevel over words cut at white space."""
    vocabulary = {piece: i for i, piece in enumerate(pieces.split())}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if normalizer is not None:
        made.normalizer = normalizer
    return made
