"""Bytes in and out of the terminal."""

import os
import select

import pytest

from tui.terminal.controls import carrier, reveal
from tui.terminal.streams import InputDecoder, TerminalFile


@pytest.mark.parametrize(
    ("reads", "text"),
    [
        ([b"abc"], "abc"),
        ([b"\xff", b"a"], "\ufffda"),
        ([b"\xe6\x88", b"\x91"], "我"),
        (["我".encode("gbk"), b"ok"], "\ufffd\ufffdok"),
    ],
)
def test_bytes_of_any_kind_become_text(reads: list[bytes], text: str) -> None:
    """S04: a byte that is no UTF-8 is shown as such, and a character may come in two reads."""
    decoder = InputDecoder()
    assert "".join(map(decoder.feed, reads)) == text


ESC, NUL = "\x1b", "\0"
PASTE = "\x1b[200~A\x1b[31mB\n\tC\x00\x1b[201~\x1b[A"


@pytest.mark.parametrize("cut", range(6, len(PASTE) + 1))
def test_a_paste_stays_whole(cut: int) -> None:
    """U08: an escape inside a bracketed paste neither ends nor scatters it."""
    decoder = InputDecoder()
    text = decoder.feed(PASTE[:cut].encode()) + decoder.feed(PASTE[cut:].encode())
    assert text == f"\x1b[200~A{carrier(ESC)}[31mB\n\tC{carrier(NUL)}\x1b[201~\x1b[A"
    assert reveal(text[6:-9]) == "A\x1b[31mB\n\tC\x00"


def test_escape_sequences_of_keys_pass() -> None:
    assert InputDecoder().feed(b"\x1b[A\x1bOP\x1b[<35;1;1M\x1b") == "\x1b[A\x1bOP\x1b[<35;1;1M\x1b"


def test_writes_are_compressed_and_arrive_with_the_flush() -> None:
    reader, writer = os.pipe()
    file = TerminalFile(writer, lambda: None)
    for _ in range(2):
        file.write("\x1b[0;31m我\x1b[0m")
    file.flush()
    os.close(writer)
    assert os.read(reader, 100).decode() == "\x1b[0;31m我我"
    os.close(reader)


def test_a_terminal_that_is_gone_is_reported_once() -> None:
    """S13: every write after that is dropped."""
    reader, writer = os.pipe()
    os.close(reader)
    reports: list[str] = []
    file = TerminalFile(writer, lambda: reports.append("gone"))
    for _ in range(3):
        file.write("x" * 50_000)
        file.flush()
    os.close(writer)
    assert reports == ["gone"]


def test_a_terminal_that_does_not_block_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program may have set the terminal so; a full one is not one that is gone."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    read: list[bytes] = []

    def wait_until_there_is_room(*_: object) -> None:
        read.append(os.read(reader, 1 << 20))

    monkeypatch.setattr(select, "select", wait_until_there_is_room)
    reports: list[str] = []
    file = TerminalFile(writer, lambda: reports.append("gone"))
    file.write("x" * 500_000)
    file.flush()
    os.close(writer)
    read.append(os.read(reader, 1 << 20))
    os.close(reader)
    assert len(read) > 2
    assert sum(map(len, read)) == 500_000
    assert not reports
