"""An SSH server that has one thing to offer: the explorer, on a terminal of the guest's own."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import Any

import asyncssh

from core.language import _
from tui.serve.access import WRONG, Access
from tui.serve.errors import ServeError, cannot_listen
from tui.serve.hostkey import host_key
from tui.serve.house import Guest, House
from tui.serve.log import log, short
from tui.serve.presentation import USER
from tui.serve.session import Session

# Seconds: to log in, between signs of life, for last words to be sent.
LOGIN, ALIVE, FAREWELL = 30, 15, 2.0
MISSED = 3  # signs of life
# Bytes that wait for a slow line; beyond, the app waits, and draws the last state only.
OUTPUT_HIGH, OUTPUT_LOW = 32_768, 8_192
MORE_CONNECTIONS = 20  # than sessions: those that log in, and those that are turned away


class Door(asyncssh.SSHServer):
    """One connection: who it is, and whether it may come in."""

    def __init__(
        self, house: House, access: Access, doors: set[Door], tasks: set[asyncio.Task[None]]
    ) -> None:
        self._house = house
        self._access = access
        self._doors = doors
        self._tasks = tasks
        self.name = "-"
        self.presents = False

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn
        self.address = str((conn.get_extra_info("peername") or ("-",))[0])
        self.name = self.address
        self._doors.add(self)
        log(f"{self.name} connected")
        if len(self._doors) > self._house.most + MORE_CONNECTIONS:
            log(f"{self.name} turned away: {len(self._doors)} connections")
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._doors.discard(self)
        log(f"{self.name} disconnected")

    def begin_auth(self, username: str) -> bool:
        self.name = f"{self.address} {short(username)}"
        self.presents = self._house.presentation is not None and username == USER
        if self.presents:
            self.connection.set_authorized_keys([])  # a guest's key is no presenter's
        return self.presents or not self._access.open

    def password_auth_supported(self) -> bool:
        return self.presents or self._access.password is not None

    async def validate_password(self, username: str, password: str) -> bool:
        if self._admits(password):
            return True
        log(f"{self.name} wrong password")
        await asyncio.sleep(WRONG)
        return False

    def _admits(self, password: str) -> bool:
        if self.presents and self._house.presentation is not None:
            return Access(password=self._house.presentation.code.encode()).admits(password)
        return self._access.admits(password)

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that may outlast this connection."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def session_requested(self) -> Room:
        return Room(self._house, self)


class Room(asyncssh.SSHServerSession[bytes]):
    """A channel of a connection, and the session that it carries."""

    def __init__(self, house: House, door: Door) -> None:
        self._house = house
        self._door = door
        self._terminal = ""
        self._session: Session | None = None

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan
        chan.set_write_buffer_limits(OUTPUT_HIGH, OUTPUT_LOW)

    # What a client may ask for.

    def pty_requested(self, term_type: str, term_size: Any, term_modes: Any) -> bool:
        self._terminal = term_type or "xterm"
        return True

    def shell_requested(self) -> bool:
        return True

    def exec_requested(self, command: str) -> bool:
        log(f"{self._door.name} refused: a command")
        return False

    def subsystem_requested(self, subsystem: str) -> bool:
        log(f"{self._door.name} refused: subsystem {short(subsystem)}")
        return False

    def session_started(self) -> None:
        if not self._terminal:
            log(f"{self._door.name} refused: no terminal")
            self._tell(_("This host shows attn-tui, which needs a terminal: connect with ssh -t."))
            self._channel.exit(2)
            return
        self._session = Session(self._write, self._hold)
        self._door.keep(self._run(self._session))

    async def _run(self, session: Session) -> None:
        columns, lines, *_pixels = self._channel.get_terminal_size()
        sent = {
            name.decode(errors="replace"): value.decode(errors="replace")
            for name, value in self._channel.get_environment_bytes().items()
        }
        guest = Guest(self._door.name, self._terminal, (columns, lines), sent, self._door.presents)
        try:
            code = await self._house.host_guest(session, guest, self._tell)
        except Exception as error:  # of ours: it ends this session and no other
            log(f"{self._door.name} fault {type(error).__name__}: {error}")
            code = 1
        if not self._channel.is_closing():
            self._channel.exit(code if 0 <= code < 256 else 1)

    # Bytes.

    def data_received(self, data: bytes, datatype: Any) -> None:
        if self._session is not None:
            self._session.type(data)

    def eof_received(self) -> bool:
        return True  # who types no more may still watch

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        if self._session is not None:
            self._session.resize(width, height)

    def pause_writing(self) -> None:
        if self._session is not None:
            self._session.read(False)

    def resume_writing(self) -> None:
        if self._session is not None:
            self._session.read(True)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._session is not None:
            self._door.keep(self._session.hang_up())

    def _write(self, data: bytes) -> None:
        if not self._channel.is_closing():
            self._channel.write(data)

    def _hold(self, held: bool) -> None:
        if held:
            self._channel.pause_reading()
        else:
            self._channel.resume_reading()

    def _tell(self, line: str) -> None:
        self._write(f"attn-tui: {line}\r\n".encode())


async def serve(house: House, access: Access, host: str, port: int, key_file: Path) -> None:
    """Serve until a signal says otherwise.

    Raises
    ------
    ServeError
        The host key cannot be kept, the keys of guests cannot be read, or the port is taken.
    """
    logging.getLogger("asyncssh").setLevel(logging.CRITICAL + 1)  # `log` says what a host needs
    doors: set[Door] = set()
    tasks: set[asyncio.Task[None]] = set()
    key = host_key(key_file)
    try:
        acceptor = await asyncssh.create_server(
            lambda: Door(house, access, doors, tasks),
            host,
            port,
            server_host_keys=[key],
            authorized_client_keys=access.keys or (),
            encoding=None,
            line_editor=False,
            agent_forwarding=False,
            x11_forwarding=False,
            allow_scp=False,
            sftp_factory=None,
            gss_host=None,
            login_timeout=LOGIN,
            keepalive_interval=ALIVE,
            keepalive_count_max=MISSED,
            reuse_address=True,
        )
    except OSError as error:
        raise cannot_listen(host, port, error) from error
    except ValueError as error:
        raise ServeError(
            _("{file} holds a line that is no key ({reason})").format(
                file=access.keys, reason=error
            ),
            _("write it as OpenSSH's authorized_keys"),
        ) from error
    house.open()
    _announce(house, access, host, acceptor.get_port(), key)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    log(f"ending {len(doors)} connections")
    acceptor.close()
    await house.close()
    await _patiently(tasks)
    closed = [asyncio.create_task(door.connection.wait_closed()) for door in doors]
    await _patiently(closed)  # a client that has got the end of its session goes by itself
    for door in list(doors):
        door.connection.close()
    await _patiently(closed)


async def _patiently(tasks: Collection[asyncio.Task[None]]) -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=FAREWELL)


def _announce(house: House, access: Access, host: str, port: int, key: asyncssh.SSHKey) -> None:
    """Tell the host what to tell the guests."""
    name = socket.gethostname() if host in ("0.0.0.0", "::", "") else host  # noqa: S104
    to_type = f"ssh -t demo@{name}" if port == 22 else f"ssh -p {port} demo@{name}"
    lines = [
        _("Guests type:  {command}").format(command=to_type),
        _("Host key:     {fingerprint}").format(fingerprint=key.get_fingerprint()),
        _("Sessions:     at most {n} at a time; Ctrl+C ends all").format(n=house.most),
    ]
    if house.presentation is not None:
        presenter = to_type.replace("demo@", f"{USER}@")
        said = _("Presenter:    {command} with the password {code}")
        lines.append(said.format(command=presenter, code=house.presentation.code))
    if access.open:
        lines.append(
            _("OPEN TO EVERYBODY: whoever reaches this port comes in, with no key or password")
        )
    print(*lines, sep="\n", flush=True)


def run(house: House, access: Access, host: str, port: int, key_file: Path) -> None:
    """Serve by SSH from this process."""
    asyncio.run(serve(house, access, host, port, key_file))
