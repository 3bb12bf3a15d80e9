"""Where each of a model's arrays comes from: the weights as a tree of sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from core.checkpoints.config import Config
from core.checkpoints.plain import listed, shown
from core.errors import ModelError
from core.language import _, counted
from core.transformer_types import (
    BlockWeights,
    EmbeddingParts,
    Facts,
    Float32,
    HeadParts,
    Linear,
    Norm,
)

Tree = TypeVar("Tree")
# Names of what changes a forward pass. One that no plan uses means a model that is not as
# its configuration says.
_VITAL = re.compile(
    r"(^|[._])(layers?|h|blocks?|embed\w*|\w*embeddings?|w[tp]e|ln\w*|\w*norm\w*|relative\w*"
    r"|encoder|decoder|lora\w*)([._]|$)",
    re.IGNORECASE,
)
_NAMED = 3  # tensors that a message lists
# Buffers that old files carry, by their exact ends; and heads that no attention depends on.
_IDLE = re.compile(
    r"(^|\.)(position_ids|rotary_emb\.inv_freq|rotary_pos_emb\.inv_freq)$"
    r"|(^|\.)(h|layers)\.\d+\.(attn|attention)\.(bias|masked_bias)$"
    r"|(^|\.)shared\.weight$|EncDecAttention\.relative_attention_bias\.weight$"
    r"|(^|\.)(encoder|decoder)\.version$"
    r"|(^|\.)(pooler|classifier|score|qa_outputs|pre_classifier|sop_classifier|cls|predictions"
    r"|lm_head|vocab_\w+|generator_\w+|discriminator_\w+|classification_head)\."
)


@dataclass(frozen=True, slots=True)
class Source:
    """One array of ours: a tensor of the file, and what is taken of it.

    Attributes
    ----------
    name : str
    shape : tuple of int
        In the file.
    take : function
        From the file's tensor to ours; best a view.
    """

    name: str
    shape: tuple[int, ...]
    take: Callable[[Float32], Float32] = lambda stored: stored


@dataclass(frozen=True, eq=False, slots=True)
class StackPlan:
    """One stack: its facts, its embedding's rows and what stands beside them, its layers."""

    facts: Facts
    table: Source
    embedding: EmbeddingParts[Source]
    blocks: tuple[BlockWeights[Source], ...]
    final: Norm[Source] | None = None
    relative: Source | None = None


@dataclass(frozen=True, eq=False, slots=True)
class HeadPlan:
    """The language head: its unembedding, and what stands before and behind that."""

    table: Source
    parts: HeadParts[Source]


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """What a configuration says of a decoder's target; its ids are not checked yet.

    Attributes
    ----------
    start : object
        ``decoder_start_token_id``: stands before every target.
    wraps : bool
        A target's own last token stands before it, and one of its tokens names a language (mBART).
    first : object
        ``forced_bos_token_id``: the first one that a target is written with.
    marks : tuple of object
        Tokens around a text that name no language.
    """

    start: object
    wraps: bool = False
    first: object = None
    marks: tuple[object, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class ModelPlan:
    """A model: an encoder, a decoder or both, and a language head where the file has one.

    Attributes
    ----------
    family : str
        In words, such as ``GPT-2``.
    prefix : str
        What stands before the names of the stacks' tensors in this file.
    encoder, decoder : StackPlan, optional
    head : HeadPlan, optional
    target : TargetPlan, optional
        How a target begins, of a decoder that has an encoder.
    """

    family: str
    prefix: str
    encoder: StackPlan | None = None
    decoder: StackPlan | None = None
    head: HeadPlan | None = None
    target: TargetPlan | None = None


def linear(name: str, d_in: int, d_out: int, bias: bool = True) -> Linear[Source]:
    """A ``Linear`` of torch: the file has [out, in], we have [in, out]."""
    weight = Source(f"{name}.weight", (d_out, d_in), np.transpose)
    return Linear(weight, Source(f"{name}.bias", (d_out,)) if bias else None)


def part(name: str, shape: tuple[int, int], rows: slice) -> Linear[Source]:
    """Some outputs of a fused ``Linear`` without a bias: rows of [out, in]."""
    return Linear(Source(f"{name}.weight", shape, lambda stored: stored[rows].T))


def norm(name: str, size: int, bias: bool = True) -> Norm[Source]:
    """Gain and bias of a norm."""
    gain = Source(f"{name}.weight", (size,))
    return Norm(gain, Source(f"{name}.bias", (size,)) if bias else None)


def unembedding(
    config: Config, table: Source, own: str, names: Collection[str], tied: bool
) -> Source | None:
    """The language head's rows: its own where the file has any, else the embedding's if tied.

    A file that has both and says that they are tied has the same twice, or else does not mean it;
    transformers 5 unties them then.

    Parameters
    ----------
    table : Source
        The embedding's rows.
    own : str
        What the file calls the head's.
    tied : bool
        The family's default.
    """
    tied = config.flag("tie_word_embeddings", default=tied)
    if own in names:
        return Source(own, table.shape)
    return table if tied else None


def causal_head(
    config: Config, table: Source, own: str, names: Collection[str], tied: bool
) -> HeadPlan | None:
    """The head of a decoder, nothing but an unembedding."""
    rows = unembedding(config, table, own, names, tied)
    return None if rows is None else HeadPlan(rows, HeadParts())


def masked_head(
    config: Config,
    table: Source,
    names: Collection[str],
    parts: HeadParts[Source],
    own: str,
) -> HeadPlan | None:
    """The head of an encoder that predicts masked words, if the file has one."""
    rows = unembedding(config, table, own, names, tied=True)
    whole = all(source.name in names for source in sources(parts))
    return HeadPlan(rows, parts) if whole and rows is not None else None


def first_of(names: Collection[str], *candidates: str) -> str:
    """The first of some names that the file has, else the first."""
    return next((name for name in candidates if name in names), candidates[0])


def find_prefix(names: Collection[str], anchor: str, prefixes: tuple[str, ...]) -> str:
    """The prefix with which the file has the tensor `anchor`.

    Raises
    ------
    ModelError
        It has it with none of them: the weights are of another model than the configuration.
    """
    for prefix in prefixes:
        if prefix + anchor in names:
            return prefix
    raise ModelError(
        _("the weights have no tensor {name}").format(name=prefixes[-1] + anchor),
        _("config.json and the weights belong to different models"),
    )


def load(tree: Tree, read: Callable[[Source], Float32]) -> Any:
    """The same tree with an array for each source."""
    if isinstance(tree, Source):
        return read(tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        parts = {field.name: load(getattr(tree, field.name), read) for field in fields(tree)}
        return type(tree)(**parts)
    return tree


def sources(tree: object) -> Iterator[Source]:
    """Every source of a tree."""
    if isinstance(tree, Source):
        yield tree
    elif isinstance(tree, tuple):
        for item in tree:
            yield from sources(item)
    elif is_dataclass(tree) and not isinstance(tree, type | Facts):
        for field in fields(tree):
            yield from sources(getattr(tree, field.name))


def check_plan(plan: ModelPlan, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ModelError unless the file has just what the plan needs, in the shapes it needs.

    Tensors of heads that no attention depends on, and buffers of old files, may be left over.
    """
    needed = {source.name: source.shape for source in sources(plan)}
    missing = [name for name in needed if name not in shapes]
    if missing:
        raise ModelError(
            counted(
                "the weights lack a tensor: {names}",
                "the weights lack {n} tensors: {names}",
                len(missing),
            ).format(n=len(missing), names=listed(missing, _NAMED)),
            _("the file is not whole, or config.json is another model's"),
        )
    for name, shape in needed.items():
        if shapes[name] != shape:
            raise ModelError(
                _("tensor {name} has the shape {found}, config.json asks for {asked}").format(
                    name=shown(name), found=list(shapes[name]), asked=list(shape)
                ),
                _("config.json and the weights belong to different models"),
            )
    rest = [name for name in shapes if name not in needed and name.startswith(plan.prefix)]
    strange = [name for name in rest if _VITAL.search(name) and not _IDLE.search(name)]
    if strange:
        raise ModelError(
            counted(
                "{family} here has no use for a tensor of the weights: {names}",
                "{family} here has no use for {n} tensors of the weights: {names}",
                len(strange),
            ).format(family=plan.family, n=len(strange), names=listed(strange, _NAMED)),
            _("open another model; what would be drawn without it would be wrong"),
        )
