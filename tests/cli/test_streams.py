"""Standard input, files, pipes, interrupts: what lies around the text that is printed."""

import os
import resource
import signal
import subprocess
import tempfile

import pytest

from tests.cli.command import ATTN_TUI, attn_tui, environment, sentence
from tui.printing.writing import OutputError, write_file

PRINTED = attn_tui("show", "The ball is blue").stdout


@pytest.mark.parametrize(
    "stdin",
    [
        b"The ball is blue",
        b"The ball is blue\n",
        b"The ball is blue\r\n",
        b"\xef\xbb\xbfThe ball is blue\n",
    ],
)
@pytest.mark.parametrize("arguments", [["-"], []])
def test_standard_input(stdin, arguments):
    result = attn_tui("show", *arguments, stdin=stdin)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == PRINTED


def test_only_the_last_line_break_goes():
    result = attn_tui("show", "-", "--format", "json", stdin=b"a\n\nb\n\n")
    assert b'"text": "a\\n\\nb\\n"' in result.stdout


def test_notices_go_to_error_output():
    result = attn_tui("show", "ok \udcff", "--head", "0")
    assert result.returncode == 0
    assert result.stderr.decode() == "attn-tui: note: 1 invalid character replaced by \ufffd\n"
    assert "1 \ufffd" in result.stdout.decode()


def test_a_text_that_is_too_long_is_cut_with_a_notice():
    options = ["--heads", "1", "--d-model", "2", "--query", "0", "--tokenizer", "chars"]
    result = attn_tui("show", "-", *options, stdin=b"a" * 3000)
    assert result.stderr.decode() == "attn-tui: note: first 2,048 of 3,000 tokens\n"
    assert "2,048 tokens" in result.stdout.decode()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_is_utf_8_whatever_the_locale_says(encoding):
    result = attn_tui("show", "我", env=environment(PYTHONIOENCODING=encoding, PYTHONUTF8="0"))
    assert result.returncode == 0
    assert "0 我" in result.stdout.decode()


def test_output_file(tmp_path):
    file = tmp_path / "out.txt"
    result = attn_tui("show", "The ball is blue", "--output", str(file))
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert file.read_bytes() == PRINTED
    assert os.listdir(tmp_path) == ["out.txt"]


def test_an_output_file_gets_the_permissions_of_the_umask_and_keeps_its_own(tmp_path):
    file = tmp_path / "out.txt"
    before = os.umask(0o027)
    try:
        write_file(["new"], str(file))
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o640
    file.chmod(0o604)
    write_file(["newer"], str(file))
    assert file.stat().st_mode & 0o777 == 0o604
    assert file.read_text() == "newer\n"


def test_an_output_link_keeps_pointing_at_its_file(tmp_path):
    file, link = tmp_path / "out.txt", tmp_path / "link.txt"
    file.write_text("old")
    link.symlink_to(file)
    write_file(["new"], str(link))
    assert link.is_symlink()
    assert file.read_text() == "new\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left")])
def test_a_file_that_fails_half_way_leaves_the_old_one_and_nothing_else(tmp_path, error):
    file = tmp_path / "out.txt"
    file.write_text("old")

    def lines():
        yield "new"
        raise error

    expected = OutputError if isinstance(error, OSError) else error
    with pytest.raises(expected):
        write_file(lines(), str(file))
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_disk_that_takes_no_more(tmp_path):
    file = tmp_path / "out.txt"
    file.write_text("old")
    result = attn_tui(
        "show",
        "The ball is blue",
        "--format",
        "json",
        "--output",
        str(file),
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert "cannot write" in sentence(result)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_output_to_a_dash_is_standard_output(tmp_path):
    result = attn_tui("show", "The ball is blue", "--output", "-", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, PRINTED)
    assert os.listdir(tmp_path) == []


def test_output_into_places_that_take_no_file(tmp_path):
    folder = sentence(attn_tui("show", "x", "--output", str(tmp_path)))
    assert "is a folder" in folder
    missing = sentence(attn_tui("show", "x", "--output", str(tmp_path / "no" / "out.txt")))
    assert "No such file or directory" in missing
    hostile = sentence(attn_tui("show", "x", "--output", str(tmp_path / "\x1b[2J\n" / "x")))
    assert "␛[2J␊" in hostile
    empty = sentence(attn_tui("show", "x", "--output", ""))
    assert "is empty" in empty
    device = sentence(attn_tui("show", "x", "--output", "/dev/null"))
    assert "no ordinary file" in device
    assert os.listdir(tmp_path) == []


def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    file = tmp_path / "out.txt"
    file.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(OutputError, match="read-only"):
        write_file(["new"], str(file))
    assert file.read_text() == "old"


def test_a_read_only_folder(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(OutputError, match="Permission denied"):
        write_file(["new"], str(tmp_path / "out.txt"))


def test_a_refused_text_leaves_the_old_file(tmp_path):
    file = tmp_path / "out.txt"
    file.write_text("old")
    sentence(attn_tui("show", "", "--output", str(file)))
    assert file.read_text() == "old"


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_reader_that_stops_ends_it_quietly(form):
    text = "word " * 400
    arguments = [ATTN_TUI, "show", text, "--format", form]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_help_into_a_closed_pipe_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([ATTN_TUI, "--help"], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.parametrize("arguments", [["show", "x"], ["--help"]])
def test_a_full_standard_output_is_one_sentence(arguments):
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [ATTN_TUI, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    result.stdout = b""
    assert "No space left on device" in sentence(result)


def test_a_closed_standard_output_is_one_sentence():
    command = f'"{ATTN_TUI}" show x >&-'
    result = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert "standard output is closed" in sentence(result)


def test_an_interrupt_is_quiet():
    arguments = [ATTN_TUI, "show", "word " * 2000, "--format", "csv"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline()  # it runs, and waits for a reader from now on
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130  # though nobody reads on
        assert process.stderr.read() == b""
