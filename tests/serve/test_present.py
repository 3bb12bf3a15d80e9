"""One session is followed by the others, live and one way."""

import json
import os
import re
import signal

import pytest

from tests.core.small_checkpoints import speaking
from tests.serve.helpers import READY, Server, answers, leave, make_key, wait_until
from tests.tui.helpers import make_view
from tui.serve.live import Leader
from tui.serve.presentation import MOST_BYTES

FOLLOWING = "following the presenter"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("present")
    key = make_key(folder)
    with Server(
        folder, "--present", "--authorized-keys", f"{key}.pub", "--max-sessions", "3",
        "--allow-model", speaking("bert-legacy", folder), "The cat sat",
    ) as running:  # fmt: skip
        code = re.search(r"presenter@\S+ with the password (\S+)", running.said)[1]
        running.code = answers(folder, code)
        running.key = ["-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
        yield running
        wait_until(lambda: not running.sessions)


def presenter(server, size=(80, 24)):
    options = ["-o", "PubkeyAuthentication=no", "-o", "NumberOfPasswordPrompts=1"]
    return server.client(*options, user="presenter", env=server.code, size=size)


def test_viewers_see_what_the_presenter_does(server):
    """Text, model, token, head, pane and the step of a lesson; sizes are each one's own."""
    with server.client(*server.key) as early:
        early.wait_for("nobody presents yet · E to explore alone")
        with presenter(server, (120, 36)) as leader:
            leader.wait_for("you present")
            early.wait_for(FOLLOWING)
            present(server, leader, early)
            leave(leader)
        early.wait_for("the presenter has left · E to explore alone")
        early.wait_for("step 2 of")  # what was shown last stays
        with server.client(*server.key, size=(120, 36)) as late:
            late.wait_for("the presenter has left")
            late.wait_for("step 2 of")
            leave(late)
        leave(early)


def present(server, leader, early):
    """A text, a place, a switch and a lesson, which an early and a late viewer see."""
    leader.send("e")
    leader.wait_for("esc done")
    leader.send(" 我想")
    for session in (leader, early):
        session.wait_for("5 tokens")
    early.wait_for("The cat sat 我想")
    leader.send("\x1b")
    leader.wait_for(READY)
    leader.send(".")
    early.wait_for("head 1 ·")
    leader.send("j3")
    early.wait_for("Pattern · layer 0 · head 1")
    early.wait_for("▶ cat")
    leader.send("m")
    early.wait_for("mask causal")
    with server.client(*server.key, size=(120, 36)) as late:
        late.wait_for("mask causal")
        late.wait_for("▶ cat")
        leader.send("\x10")
        leader.wait_for("Search for commands")
        leader.send("three words, two")
        leader.wait_for("Lesson: Three words, two dimensions")
        leader.send("\r")
        for session in (leader, early, late):
            session.wait_for("step 1 of")
        leader.send(">")
        for session in (leader, early, late):
            session.wait_for("step 2 of")
        leader.wait_for("> next · < back")
        assert "< back" not in early.text + late.text  # their keys lead to no step
        leave(late)


def test_viewers_see_another_model(server):
    with server.client(*server.key) as viewer, presenter(server) as leader:
        viewer.wait_for(FOLLOWING)
        leader.wait_for("you present")
        leader.send("\x10")
        leader.wait_for("Search for commands")
        leader.send("bert-leg")
        leader.wait_for("BERT · 2 layers × 3 heads")
        leader.send("\r")
        for session in (leader, viewer):
            session.wait_for("bert-legacy ·")
        leader.send("]")
        viewer.wait_for("layer 1 · head 0")
        viewer.send("E")
        viewer.wait_for("alone · E to follow")
        viewer.send("\x10")
        viewer.wait_for("Search for commands")
        viewer.send("seeded")
        viewer.wait_for("Model: seeded")
        viewer.send("\r")
        viewer.wait_for("seed 0 · 1 layer × 4 heads")
        leave(leader)
        leave(viewer)
    assert str(server.folder) not in viewer.output + leader.output


def test_a_viewer_explores_alone_and_catches_up(server):
    with server.client(*server.key) as viewer, presenter(server) as leader:
        leader.wait_for(READY)
        viewer.wait_for(FOLLOWING)
        viewer.wait_for("head 0 ·")
        viewer.wait_for("E explore alone")
        viewer.send("...mje3z")  # none of it does anything
        viewer.send("?")
        viewer.wait_for("esc close")
        viewer.send("\x1b")
        viewer.wait_for("head 0 · mask none")
        viewer.send("E")
        viewer.wait_for("alone · E to follow")
        viewer.send("..")
        viewer.wait_for("head 2 ·")
        leader.send(".")
        leader.wait_for("head 1 ·")
        leader.send("e")
        leader.wait_for("esc done")
        leader.send(" mat")
        leader.wait_for("4 tokens")
        assert "head 2 ·" in viewer.text
        viewer.send("E")
        viewer.wait_for(FOLLOWING)
        viewer.wait_for("head 1 ·")
        viewer.wait_for("4 tokens")
        leader.send("\x1b")
        leave(leader)
        leave(viewer)


def test_a_viewer_turns_the_pages_of_what_is_shown(server):
    """Its screen may be the smaller one; the presenter's place stays."""
    with server.client(*server.key) as viewer, presenter(server, (120, 36)) as leader:
        leader.wait_for(READY)
        viewer.wait_for(FOLLOWING)
        leader.send("d      ")
        viewer.wait_for("stage 6 of")
        assert "1 embedding" not in viewer.text
        for _page in range(12):
            viewer.send("\x1b[5~")
        viewer.wait_for("1 embedding")
        viewer.wait_for("stage 6 of")
        leave(leader)
        leave(viewer)


def test_nothing_of_a_viewer_reaches_the_presenter(server):
    """Not even a viewer whose process is stopped holds the others up."""
    with (
        server.client(*server.key) as stopped,
        server.client(*server.key) as viewer,
        presenter(server) as leader,
    ):
        stopped.wait_for(FOLLOWING)
        first = server.sessions
        viewer.wait_for(FOLLOWING)
        leader.wait_for("you present")
        viewer.send("E")
        viewer.wait_for("alone")
        viewer.send("mmm...")
        viewer.wait_for("head 3 ·")
        stopped.kill(signal.SIGSTOP)
        for head in ("1", "2", "3"):
            leader.send(".")
            leader.wait_for(f"head {head} ·")
        assert "mask none" in leader.text
        stopped.kill(signal.SIGCONT)
        stopped.wait_for("head 3 ·")
        assert set(first) <= set(server.sessions)
        leave(viewer)
        leave(stopped)
        leave(leader)


def test_the_presenter_is_one_who_knows_the_code(server):
    result = server.run("-tt", *server.key, user="presenter")
    assert result.returncode == 255
    assert b"Permission denied" in result.stderr
    with presenter(server) as leader:
        leader.wait_for("you present")
        with presenter(server) as second:
            assert second.wait_for_exit() == 1
            assert "Somebody presents already." in second.output
            assert "presenter turned away: somebody presents" in server.said
        leave(leader)
    with presenter(server) as again:
        again.wait_for("you present")
        leave(again)


def test_what_is_too_long_for_the_server_is_not_told():
    """It closes its end when a message grows beyond all bounds, and nobody would present then."""
    heard, pipe = os.pipe()
    os.set_blocking(pipe, False)
    leader = Leader(pipe)
    leader.tell(make_view("鱼" * (MOST_BYTES // 6)), None)
    leader.tell(make_view("The cat"), None)
    assert json.loads(os.read(heard, MOST_BYTES))[-1] == "The cat"
    os.close(heard)
    leader.tell(make_view("The dog"), None)  # which nobody hears
    os.close(pipe)
