"""A derivation as blocks of lines, a block a stage, for a screen, a shell or a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.derivation import Check, Derivation
from core.derive import PATTERN_CHECKS, derive, self_check, tolerance
from core.language import _
from core.names import STAGES
from core.types import Trace
from tui.printing.page import Page
from tui.printing.printed import Line
from tui.printing.stages import heading, stage_lines, title
from tui.scene import Scene, stages

HEADING, CHECK = "heading", "check"
WIDTH = 76


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of one stage.

    Attributes
    ----------
    stage : str
        One of `STAGES`, or `HEADING` or `CHECK`.
    title : str
    lines : tuple of lines
        A line is pieces of (text, role); a role is ``plain``, ``dim``, ``strong``, ``positive``,
        ``negative`` or ``selected``.
    """

    stage: str
    title: str
    lines: tuple[Line, ...]


def derivation_blocks(
    trace: Trace, made: Derivation, precision: int, width: int = WIDTH, last: str = STAGES[-1]
) -> tuple[Block, ...]:
    """A heading and a block for each of `STAGES` in order; after all of them the self-check.

    Parameters
    ----------
    trace : Trace
    made : Derivation
        Of this trace.
    precision : int
        Digits after the point.
    width : int
        Cells that lines are folded to; a column of numbers stays whole.
    last : str
        The stage to end with.
    """
    reached = STAGES[: STAGES.index(last) + 1]
    page = Page(trace, made, precision, width)
    blocks = [Block(HEADING, page.title, tuple(heading(page)))]
    for stage in (each for each in stages(trace.request.model) if each in reached):
        blocks.append(Block(stage, title(page, stage), tuple(stage_lines(page, stage))))
    if last == STAGES[-1]:
        checks = tuple(_checks(self_check(trace, made), page))
        blocks.append(Block(CHECK, _("self-check"), checks))
    return tuple(blocks)


def blocks_of(scene: Scene, last: str = STAGES[-1], width: int = WIDTH) -> tuple[Block, ...]:
    """The blocks of the query and the key that are selected, up to a stage."""
    view = scene.view
    place = (view.layer, view.head, view.query, view.key)
    made = derive(scene.trace, *place, view.attention, view.component)
    return derivation_blocks(scene.trace, made, view.precision, width, last)


def as_text(blocks: Sequence[Block]) -> Iterator[str]:
    """Plain lines, with an empty one between blocks."""
    for index, block in enumerate(blocks):
        if index:
            yield ""
        yield block.title
        yield from ("  " + text if text else "" for text in map(_text, block.lines))


def as_markdown(blocks: Sequence[Block]) -> Iterator[str]:
    """Headings, and the lines in code blocks, which keep the columns aligned."""
    for index, block in enumerate(blocks):
        lines = [_text(line) for line in block.lines]
        runs = [len(run) for line in lines for run in re.findall("`+", line)]
        fence = "`" * max(3, *(run + 1 for run in runs)) if runs else "```"
        yield from ("",) * bool(index)
        yield f"{'##' if index else '#'} {escaped(block.title)}"
        yield ""
        yield f"{fence}text"
        yield from lines
        yield fence


def escaped(text: str) -> str:
    """Text that Markdown takes as it is, also in a cell of a table."""
    return re.sub(r"([\\`*_{}\[\]<>#+\-!|~&$^])", r"\\\1", text)


def _text(line: Line) -> str:
    return "".join(text for text, _ in line)


def _checks(checks: Sequence[Check], page: Page) -> Iterator[Line]:
    """The facts about the pattern one by one, the steps of the derivation together."""
    facts = [check for check in checks if check.name in PATTERN_CHECKS]
    steps = [check for check in checks if check.name not in PATTERN_CHECKS]
    for check in facts:
        yield from _verdict(_(check.name), [check])
    yield from _verdict(_("this arithmetic equals the trace"), steps)
    largest = max(check.difference for check in steps)
    yield from page.note(
        _(
            "largest difference {largest:.1g} of 1 + the size of the terms; {allowed:g} is allowed"
        ).format(largest=largest, allowed=tolerance(page.trace))
    )


def _verdict(name: str, checks: Sequence[Check]) -> Iterator[Line]:
    failed = [_(check.name) for check in checks if not check.passed]
    if not failed:
        yield ((f"{name}  ", "plain"), (_("ok"), "positive"))
    else:
        aside = "" if failed == [name] else f" ({', '.join(failed)})"  # array names
        worst = max(check.difference for check in checks)
        yield (
            (f"{name}  ", "plain"),
            (_("FAILED") + aside, "negative"),
            ("  " + _("difference {worst:.1g}").format(worst=worst), "dim"),
        )
