"""``attn-tui serve``: its options, checked before anything listens."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.language import N_, _
from tui.asked import build_view
from tui.checking import check
from tui.options import general, number, places, shared
from tui.serve.options import allowances, allowed, take_allowances
from tui.terminal.plain import table
from tui.text_given import SERVE, one_text
from tui.usage import Command, Decorated, option

if TYPE_CHECKING:
    from tui.scene import View

LOOPBACK, SSH_PORT, WEB_PORT, MOST_SESSIONS = "127.0.0.1", 8022, 8000, 40


def _file(name: str, text: str) -> Callable[[Decorated], Decorated]:
    return option(name, metavar="FILE", type=click.UNPROCESSED, help=text)


@click.command(
    SERVE,
    cls=Command,
    help=N_(
        "Serve demos of the explorer, beginning with TEXT, to people who need nothing but a"
        " terminal: each connection gets a session of its own, and nothing else on this machine."
    ),
    epilog=N_(
        "docs/ssh.md goes through all of it, also through a server of OpenSSH and a browser."
    ),
)
@click.argument("words", nargs=-1, metavar="[TEXT]", type=click.UNPROCESSED)
@option("--ssh", is_flag=True, help=N_("Serve by SSH (needs attn-tui[ssh])."))
@option("--web", is_flag=True, help=N_("Serve in a browser (needs attn-tui[web])."))
@option(
    "--print-sshd",
    is_flag=True,
    help=N_("Print what a server of OpenSSH needs: a wrapper and a part of its configuration."),
)
@option(
    "--present",
    is_flag=True,
    help=N_("Have one session, the presenter's, followed by all others (with --ssh)."),
)
@option(
    "--host",
    default=LOOPBACK,
    metavar="ADDRESS",
    show_default=True,
    help=N_("Address to listen at; 0.0.0.0 is every one that this machine has."),
)
@number("--port", N_("Port to listen at: 8022 for SSH, 8000 for a browser."))
@_file("--authorized-keys", N_("Let in who has one of these keys, as OpenSSH writes them."))
@_file(
    "--password-file",
    N_("Let in who knows the first line of FILE; or set ATTN_TUI_PASSWORD instead."),
)
@option("--open", "anybody", is_flag=True, help=N_("Let everybody in."))
@_file("--host-key", N_("Where the host key is kept; in the folder for the user's data if not."))
@number("--max-sessions", N_("Sessions at one time."), MOST_SESSIONS)
@allowances
@shared
@places
@general
def serve(
    words: tuple[str, ...],
    ssh: bool,
    web: bool,
    print_sshd: bool,
    theme: str | None,
    **options: Any,
) -> None:
    """Check what a session would be refused for, then serve."""
    if ssh + web + print_sshd != 1:
        raise click.UsageError(_("say how to serve: --ssh, --web or --print-sshd"))
    for name in ("present", "authorized_keys", "host_key"):
        if options[name] and not ssh:
            said = _("--{option} goes with --ssh")
            raise click.UsageError(said.format(option=name.replace("_", "-")))
    found = _session_words(words, theme, options)
    _check_numbers(options)
    gc.enable()  # what the command line has paused for a quick start
    if print_sshd:
        from tui.serve.sshd import printed

        click.echo("\n".join(printed(found)))
    elif web:
        _serve_web(found, options)
    else:
        _serve_ssh(found, options)


def _session_words(words: tuple[str, ...], theme: str | None, options: dict[str, Any]) -> list[str]:
    """The command line of a session, checked.

    Raises
    ------
    AttnError
        The view or what is allowed is refused.
    """
    from core.tokenization import PATTERNS, set_most_tokens
    from tui.serve.words import arguments

    limits = take_allowances(options)
    view: View = build_view(one_text(words), options)
    found = allowed(limits, view.request)
    set_most_tokens(found.most_tokens)
    check(view)
    given = ["--demo", "--most-tokens", str(found.most_tokens)]
    given += ["--idle", str(limits["idle"]), "--total", str(limits["total"])]
    for lesson in found.lessons if limits["allow_lesson"] else ():
        given += ["--allow-lesson", os.path.abspath(lesson.path)]
    for name in found.tokenizers:
        given += ["--allow-tokenizer", name if name in PATTERNS else os.path.abspath(name)]
    for model in found.models:
        given += ["--allow-model", model.path]
    if table() is not None:
        given.append("--ascii")
    return [*given, *arguments(view, theme)]


def _check_numbers(options: dict[str, Any]) -> None:
    for name, low, high in (("port", 0, 65_535), ("max_sessions", 1, 10_000)):
        if options[name] is not None and not low <= options[name] <= high:
            said = _("--{option} {n} is out of range: choose {low} to {high}")
            raise click.UsageError(
                said.format(option=name.replace("_", "-"), n=options[name], low=low, high=high)
            )


def _serve_ssh(words: list[str], options: dict[str, Any]) -> None:
    from tui.serve.access import access
    from tui.serve.errors import ServeError
    from tui.serve.house import House
    from tui.serve.presentation import Presentation

    who = access(options["authorized_keys"], options["password_file"], options["anybody"])
    try:
        from tui.serve import ssh
        from tui.serve.hostkey import usual_path
    except ImportError as error:
        raise ServeError(
            _("serving by SSH needs AsyncSSH, which is not installed"),
            _("install it with pip install 'attn-tui[ssh]'"),
        ) from error

    named = options["host_key"]
    key_file = usual_path(os.environ) if named is None else Path(named)
    presentation = Presentation() if options["present"] else None
    house = House(words, options["max_sessions"], os.environ, presentation)
    ssh.run(house, who, options["host"], _port(options, SSH_PORT), key_file)


def _serve_web(words: list[str], options: dict[str, Any]) -> None:
    from tui.serve.access import access_by_page
    from tui.serve.errors import ServeError

    host = options["host"]
    who = access_by_page(options["password_file"], options["anybody"], host)
    try:
        from tui.serve import web
    except ImportError as error:
        raise ServeError(
            _("serving in a browser needs textual-serve, which is not installed"),
            _("install it with pip install 'attn-tui[web]'"),
        ) from error
    web.run(words, options["max_sessions"], host, _port(options, WEB_PORT), who)


def _port(options: dict[str, Any], usual: int) -> int:
    return usual if options["port"] is None else int(options["port"])
