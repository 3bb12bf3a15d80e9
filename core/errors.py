"""What can be refused, each as one sentence: what was wrong and what to do."""

from core.language import N_, _


class AttnError(Exception):
    """Base of every refusal that a person should read.

    Parameters
    ----------
    message : str
        What was wrong and where, without a final full stop.
    hint : str
        What to do about it, without a final full stop.
    """

    title = N_("Refused")

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return _("{message}: {hint}.").format(message=self.message, hint=self.hint)


def choose_from(low: int, high: int) -> str:
    """The hint for a number that has to be one of `low` to `high`."""
    if low == high == 0:
        return _("0 is the only one, since counting starts there")
    return _("choose {low} to {high}").format(low=low, high=high)


class TextError(AttnError):
    """The text holds nothing that can attend or be attended to."""

    title = N_("No text")


class TokenizerError(AttnError):
    """A tokenizer cannot be opened or cannot encode the text."""

    title = N_("Tokenizer")


class SettingError(AttnError):
    """A number or a switch is out of its range."""

    title = N_("Setting")


class LessonError(AttnError):
    """A lesson's file is missing or says something that cannot be."""

    title = N_("Lesson")


class ModelError(AttnError):
    """A checkpoint cannot be opened, is damaged, or says something that is not known."""

    title = N_("Model")


class BudgetError(AttnError):
    """The request would need more memory than the budget allows."""

    title = N_("Too large")
