"""A model's configuration, read so that nothing which would change attention is passed over."""

from __future__ import annotations

import re
from typing import Any

from core.checkpoints.plain import shown
from core.errors import ModelError
from core.language import _

# A setting that no family asked for is refused when its name sounds as if it changed the numbers.
_SUSPICIOUS = re.compile(
    "rope|rotary|alibi|attn|attention|scal|soft|cap|window|position|head|norm|bias|mask|multiplier"
    "|resid|parallel|expert|moe|quant|layer_types|sink|logit|embed|relative|sparse|local|global"
    "|block|activation|hidden_act|key_value|kv|qk|interleav|adapter|lora|prune"
)
# Names that sound so and do not: training, output, generation, tokenizers.
_HARMLESS = re.compile(
    r".*(dropout|pdrop|layerdrop)(_prob|_rate)?$|.*_token_ids?$|(summary|classifier|forced?)_"
    r"|_?attn_implementation(_autoset)?$|output_attentions$|use_flash_attn|num_hidden_layers$"
    r"|task_specific_params$|gradient_checkpointing$|layer_norm_eps$"
)
_OFF: tuple[Any, ...] = (None, False, {}, [], "none")
_REQUIRED = object()
_MOST_LAYERS = 1024
_LARGEST = 3e38


class Config:
    """A ``config.json``; every setting that is asked for is known from then on.

    Parameters
    ----------
    values : dict
    where : str
        What messages call it, safe to show.
    """

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values = values
        self._asked: set[str] = {"model_type", "architectures"}
        self.where = where

    def get(self, *names: str, default: Any = None) -> Any:
        """The value of the first of some names that is there and not null."""
        self._asked.update(names)
        found = (self._values[name] for name in names if self._values.get(name) is not None)
        return next(found, default)

    def has(self, name: str) -> bool:
        """Whether a setting is there, be it null."""
        return name in self._values

    def size(self, *names: str, default: Any = _REQUIRED) -> int:
        """A whole number from 1 on; of layers, which are planned one by one, not too many."""
        value = self.get(*names, default=default)
        if value is _REQUIRED:
            raise self.refusal(names[0], None)
        most = _MOST_LAYERS if names[0].endswith(("layer", "layers")) else 2**31 - 1
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise self.refusal(names[0], value)
        return value

    def heads(self, d_model: int, *names: str, default: Any = _REQUIRED) -> int:
        """How many heads there are, which share d_model evenly."""
        value = self.size(*names, default=default)
        if d_model % value:
            raise self.refusal(names[0], value)
        return value

    def optional_size(self, *names: str, absent: int | None = None) -> int | None:
        """A whole number from 1 on; None where it is null, `absent` where it is not there."""
        if all(name not in self._values for name in names):
            self._asked.update(names)
            return absent
        return None if self.get(*names) is None else self.size(*names)

    def number(self, *names: str, default: float) -> float:
        """A number above 0 that is finite in float32 too."""
        value = self.get(*names, default=default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refusal(names[0], value)
        if not 0 < value < _LARGEST:  # which NaN is not either
            raise self.refusal(names[0], value)
        return float(value)

    def optional_number(self, *names: str) -> float | None:
        """A finite number above 0, or None where there is none."""
        return None if self.get(*names) is None else self.number(*names, default=1.0)

    def flag(self, *names: str, default: bool) -> bool:
        """True or False."""
        value = self.get(*names, default=default)
        if not isinstance(value, bool):
            raise self.refusal(names[0], value)
        return value

    def word(self, *names: str, default: str, known: Any) -> str:
        """One of some words."""
        value = self.get(*names, default=default)
        if not isinstance(value, str) or value not in known:
            raise self.refusal(names[0], value)
        return value

    def expect(self, **settings: Any) -> None:
        """Raise ModelError unless each setting is missing, null or exactly as given."""
        for name, value in settings.items():
            found = self.get(name, default=value)
            if type(found) is not type(value) or found != value:
                raise self.refusal(name, found)

    def refuse_unknown(self) -> None:
        """Raise ModelError for a setting that nobody asked for and that may change attention."""
        for name, value in self._values.items():
            if name in self._asked or any(value is off or value == off for off in _OFF):
                continue
            if _SUSPICIOUS.search(name) and not _HARMLESS.match(name):
                raise self.refusal(name, value)

    def refusal(self, name: str, value: Any) -> ModelError:
        """A setting that cannot be, or that nothing here computes."""
        if value is None:
            message = _("{where} lacks {name}").format(where=self.where, name=shown(name))
        else:
            message = _("{where}: {name} {value} is not supported").format(
                where=self.where, name=shown(name), value=shown(repr(value))
            )
        return ModelError(
            message, _("open another model; what would be drawn without it would be wrong")
        )
