"""A real model, opened: what it is, its tokenizer, and one run of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias
from weakref import ref

import numpy as np

from core.checkpoints.budget import check_budget
from core.checkpoints.config import Config
from core.checkpoints.families import plan_model
from core.checkpoints.folder import inside, open_tensors
from core.checkpoints.marian_tokenizer import SOURCE, TARGET, has_own_tokenizers, open_joint
from core.checkpoints.plain import is_there, json_object, pickled, shown
from core.checkpoints.plan import ModelPlan, StackPlan, check_plan
from core.checkpoints.target import decoder_tokens
from core.checkpoints.vocabulary import find_mask, open_vocabulary
from core.checkpoints.weights import Head, Tensors, Weights
from core.errors import ModelError, SettingError
from core.language import _
from core.reuse import common_start
from core.tokenization import ModelTokenizer
from core.transformer import logits, run_stack
from core.transformer_types import Facts, Float32, StackPart, StackTrace
from core.types import Token, Tokens

SoFar: TypeAlias = Callable[[StackTrace | None, StackPart], None]

_REMEMBERED = 2  # runs that the next one may begin with: of the text, and of one compared with it


@dataclass(frozen=True, eq=False, slots=True)
class ModelRun:
    """What a run gives: the traces of its stacks.

    Attributes
    ----------
    encoder, decoder : StackTrace, optional
        Each where the model has one.
    """

    encoder: StackTrace | None
    decoder: StackTrace | None

    @property
    def last(self) -> StackTrace:
        """The stack that the language head reads."""
        found = self.decoder or self.encoder
        assert found is not None  # noqa: S101 - a model has a stack
        return found


class Model:
    """A checkpoint whose every tensor is accounted for.

    Parameters
    ----------
    path : Path
        What was opened.
    plan : ModelPlan
    tensors : Tensors
    tokenizer : ModelTokenizer, optional
        None where the checkpoint brings none.
    writing : ModelTokenizer, optional
        Of targets, where that is another one.
    """

    def __init__(
        self,
        path: Path,
        plan: ModelPlan,
        tensors: Tensors,
        tokenizer: ModelTokenizer | None,
        writing: ModelTokenizer | None = None,
    ) -> None:
        self.path = path
        self._plan = plan
        self._tensors = tensors
        self._tokenizer = tokenizer
        self._writing = writing
        self._weights: dict[int, Weights] = {}
        self._head: Head | None = None
        # Whoever shows a run holds it; here it would outlive the screen that it was made for.
        self._runs: tuple[ref[StackTrace], ...] = ()

    @property
    def family(self) -> str:
        """In words, such as ``GPT-2``."""
        return self._plan.family

    @property
    def name(self) -> str:
        """The last part of the path, fit to be shown."""
        return shown(self.path.resolve().name)

    @property
    def encoder(self) -> Facts | None:
        """Facts of the encoder, where there is one."""
        return self._plan.encoder.facts if self._plan.encoder else None

    @property
    def decoder(self) -> Facts | None:
        """Facts of the decoder, where there is one."""
        return self._plan.decoder.facts if self._plan.decoder else None

    @property
    def facts(self) -> Facts:
        """Facts of the stack that reads the text first."""
        return reading(self._plan).facts

    @property
    def has_head(self) -> bool:
        """Whether `logits` can be had."""
        return self._plan.head is not None

    @property
    def vocabulary(self) -> int:
        """Logits of a position; 0 without a language head."""
        return self._plan.head.table.shape[0] if self._plan.head else 0

    @property
    def tokenizer(self) -> ModelTokenizer:
        """The model's own tokenizer.

        Raises
        ------
        ModelError
            The checkpoint brings none.
        """
        if self._tokenizer is None:
            raise ModelError(
                _("{path} has no tokenizer.json").format(path=shown(self.path)),
                _(
                    "save one with transformers:"
                    " AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
                ),
            )
        return self._tokenizer

    @property
    def mask_token(self) -> Token | None:
        """What hides a token from an encoder that sees both sides of it; None without one."""
        return None if self.decoder or self._tokenizer is None else find_mask(self._tokenizer)

    @property
    def writing(self) -> ModelTokenizer:
        """The tokenizer of what the stack with the language head reads."""
        return self._writing or self.tokenizer

    def target_tokens(self, text: str) -> Tokens:
        """What the decoder of an encoder–decoder reads of a target, its first token included.

        Raises
        ------
        TextError, TokenizerError, ModelError
            The text cannot be cut into tokens, there is no tokenizer, or the files do not say
            how a target begins.
        """
        plan, decoder = self._plan.target, self.decoder
        assert plan is not None  # noqa: S101 - an encoder–decoder has one
        assert decoder is not None  # noqa: S101
        return decoder_tokens(self.writing, text, plan, decoder.vocabulary, self.path)

    def run(
        self,
        ids: Sequence[int],
        blocked: frozenset[int] = frozenset(),
        target: Sequence[int] = (),
        keep_patterns: bool = False,
        so_far: SoFar | None = None,
    ) -> ModelRun:
        """Run the model over token ids.

        As long as an earlier run is in use the same tokens give it again, and a decoder takes over
        what it has of the same first tokens; its numbers are then those of a whole run to 1e-5.

        Parameters
        ----------
        ids : sequence of int
            Of the text, with special tokens.
        blocked : frozenset of int
            Positions of them that only pad.
        target : sequence of int
            For an encoder–decoder: what the decoder reads, its first token included.
        keep_patterns : bool
            Run all of it, and keep the patterns for who will look at all of them.
        so_far : function, optional
            Called behind every layer but the last of the stack that reads the text, with its layers
            so far and the earlier run that it takes over from.

        Raises
        ------
        SettingError
            No ids, an id that is no row of the embedding, or more than the positions are made for.
        BudgetError
            The arrays would not fit into memory.
        ModelError
            The numbers are not finite, or a file was written to since it was opened.
        """
        encoder, decoder = self._plan.encoder, self._plan.decoder
        if not ids:
            raise SettingError(_("there are no tokens"), _("give at least one"))
        given = [(decoder, ids)] if encoder is None else [(encoder, ids), (decoder, target)]
        stacks = [(stack, tokens) for stack, tokens in given if stack is not None and tokens]
        for stack, tokens in stacks:
            check_ids(stack.facts, tokens)
        self._tensors.check_unchanged()
        unmade = sum(self._stack_weights(stack).unmade_bytes for stack, _tokens in stacks)
        sizes = [(stack.facts, len(tokens)) for stack, tokens in stacks]
        check_budget(sizes, len(ids), unmade, keep_patterns)
        first, *second = stacks
        read = self._read(first[0], ids, blocked, keep_patterns, so_far)
        if encoder is None:
            return ModelRun(None, read)
        written = None
        for stack, tokens in second:
            weights = self._stack_weights(stack)
            facts, memory = stack.facts, read.final
            written = run_stack(
                facts, weights, tokens, frozenset(), memory, blocked, keep_patterns=keep_patterns
            )
        return ModelRun(read, written)

    def logits(self, trace: StackTrace, positions: Sequence[int] | None = None) -> Float32:
        """What the language head says behind some positions of a run (None: all of them).

        `logits_of` says what comes out.
        """
        return self.logits_of(trace.final, positions)

    def logits_of(self, final: Float32, positions: Sequence[int] | None = None) -> Float32:
        """What the language head says behind some rows of `StackTrace.final`.

        Returns
        -------
        ndarray [position, vocabulary]

        Raises
        ------
        SettingError
            The checkpoint has no language head.
        """
        stack = self._plan.decoder or self._plan.encoder
        if self._plan.head is None or stack is None:
            raise SettingError(
                _("{name} has no language head").format(name=self.name),
                _("open a model that predicts words"),
            )
        self._tensors.check_unchanged()
        if self._head is None:
            self._head = Head(self._plan.head, self._tensors)
        with np.errstate(all="ignore"):  # said below, in words
            found = logits(stack.facts, self._head, final, positions)
        if not np.isfinite(found).all():
            raise ModelError(
                _("the numbers of the language head of {name} are not finite").format(
                    name=self.name
                ),
                _("the file is damaged; download it again"),
            )
        return found

    def stack_of(self, attention: str) -> tuple[StackPlan, Weights]:
        """The stack that one of `core.names.ATTENTIONS` belongs to, and its weights."""
        plan = self._plan.decoder if attention != "encoder" else None
        stack = plan or reading(self._plan)
        return stack, self._stack_weights(stack)

    def _read(
        self,
        stack: StackPlan,
        ids: Sequence[int],
        blocked: frozenset[int],
        keep_patterns: bool,
        so_far: SoFar | None,
    ) -> StackTrace:
        """Run the stack that reads the text, as far as no run that is still in use has done so."""
        facts, weights = stack.facts, self._stack_weights(stack)
        if keep_patterns:
            return run_stack(facts, weights, ids, blocked, keep_patterns=True)
        in_use = [run for run in (known() for known in self._runs) if run is not None]
        for run in in_use:
            if (run.ids, run.blocked) == (tuple(ids), blocked):
                return run
        starts = [(common_start(facts, run, ids, blocked), run) for run in in_use]
        start, most = max(starts, key=itemgetter(0), default=(0, None))
        earlier = most if start else None
        told = None if so_far is None else partial(so_far, earlier)
        made = run_stack(facts, weights, ids, blocked, earlier=earlier, so_far=told)
        self._runs = tuple(map(ref, (*in_use[1 - _REMEMBERED :], made)))
        return made

    def _stack_weights(self, stack: StackPlan) -> Weights:
        """The stack's weights; all layers stay in memory as float32 where they fit."""
        if id(stack) not in self._weights:
            self._weights[id(stack)] = Weights(stack, self._tensors)
        return self._weights[id(stack)]


def open_model(path: str | Path) -> Model:
    """Open a folder of Hugging Face's layout or a ``.gguf`` file; no weight is read yet.

    Raises
    ------
    ModelError
        It is no model, its files are missing, damaged or do not belong together, its family is
        not known or a setting would change attention in a way that is not known.
    """
    path = Path(path)
    if path.is_dir():
        return _open_folder(path)[0]
    if _is_gguf(path):
        return _open_gguf(path)
    raise _no_model(path)


def plan_at(path: Path) -> ModelPlan:
    """What a model is; raises ModelError where it could not be opened with its tokenizer.

    The tokenizer inside a GGUF file takes seconds to build, so only its kind is checked.
    """
    if path.is_dir():
        model, plan = _open_folder(path)
        model.tokenizer  # noqa: B018 - refused here where there is none
        return plan
    if _is_gguf(path):
        from core.checkpoints.gguf import open_gguf
        from core.checkpoints.gguf_tokenizer import check_tokenizer

        config, tensors, file = open_gguf(path)
        plan = _checked_plan(config, tensors)
        if not path.with_name("tokenizer.json").exists():
            check_tokenizer(file.metadata, path)
        return plan
    raise _no_model(path)


def _is_gguf(path: Path) -> bool:
    """By name, or by how the file begins: Ollama's have no suffix."""
    if not path.is_file():
        return False
    if path.suffix.lower() == ".gguf":
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False


def _no_model(path: Path) -> ModelError:
    refused = pickled(path.parent, [path.name]) if path.is_file() else None
    if refused is not None:
        return refused
    reason = (
        _("{path} is no model's folder and no .gguf file")
        if path.exists()
        else _("{path} does not exist")
    )
    return ModelError(
        reason.format(path=shown(path)),
        _("name a folder with config.json and model.safetensors, or a .gguf file"),
    )


def _open_folder(folder: Path) -> tuple[Model, ModelPlan]:
    plan, tensors = _read_folder(folder)
    facts = reading(plan).facts
    if plan.target is not None and has_own_tokenizers(folder):
        both = (open_joint(folder, name, facts) for name in (SOURCE, TARGET))
        return Model(folder, plan, tensors, *both), plan
    tokenizer = None
    if (folder / "tokenizer.json").exists():
        source = inside(folder, "tokenizer.json")
        tokenizer = open_vocabulary(source, source, facts)
    return Model(folder, plan, tensors, tokenizer), plan


def _read_folder(folder: Path) -> tuple[ModelPlan, Tensors]:
    if not is_there(folder / "config.json"):
        raise ModelError(
            _("{path} has no config.json").format(path=shown(folder)),
            _("name a folder with config.json and model.safetensors, or a .gguf file"),
        )
    config = Config(json_object(inside(folder, "config.json")), shown(folder / "config.json"))
    tensors = open_tensors(folder)
    return _checked_plan(config, tensors), tensors


def _open_gguf(path: Path) -> Model:
    from core.checkpoints.gguf import open_gguf
    from core.checkpoints.gguf_tokenizer import build_tokenizer

    config, tensors, file = open_gguf(path)
    plan = _checked_plan(config, tensors)
    beside = path.with_name("tokenizer.json")
    source = beside if beside.exists() else build_tokenizer(file.metadata, path)
    return Model(path, plan, tensors, open_vocabulary(source, path, reading(plan).facts))


def reading(plan: ModelPlan) -> StackPlan:
    """The stack that reads the text first."""
    found = plan.encoder or plan.decoder
    assert found is not None  # noqa: S101 - a model has a stack
    return found


def _checked_plan(config: Config, tensors: Tensors) -> ModelPlan:
    plan = plan_model(config, tensors.shapes)
    check_plan(plan, tensors.shapes)
    return plan


def check_ids(facts: Facts, ids: Sequence[int]) -> None:
    """Raise SettingError unless every id has a row and every token a position."""
    for token in ids:
        if not 0 <= token < facts.vocabulary:
            raise SettingError(
                _("token id {id} has no row in an embedding of {rows:,}").format(
                    id=token, rows=facts.vocabulary
                ),
                _("the tokenizer belongs to another model"),
            )
    if facts.limit is not None and len(ids) > facts.limit:
        raise SettingError(
            _("{n:,} tokens are more than the model's limit of {limit:,}").format(
                n=len(ids), limit=facts.limit
            ),
            _("use a shorter text"),
        )
