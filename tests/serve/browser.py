"""Headless Chromium, driven through its debugging pipe."""

import base64
import json
import os
import select
import subprocess
import time
from itertools import count

from tests.terminal.pty_session import DEADLINE


class Browser:
    """One page; `received` has what its web sockets have got, `requested` what it asked for."""

    def __init__(self, folder, url) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        self._numbers, self._buffer, self.received = count(1), b"", b""
        self.requested = []
        options = (
            "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run"
            " --disable-background-networking --window-size=1200,800 --remote-debugging-pipe"
        )
        # Chromium reads commands from descriptor 3 and answers on 4.
        shell = f'exec chromium "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            [
                "bash",
                "-c",
                shell,
                "-",
                *options.split(),
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Network.enable")
        self.call("Page.enable")
        self.call("Page.navigate", url=url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            for answer in self.pump():
                if answer.get("id") == number:
                    assert "error" not in answer, answer
                    return answer["result"]
        raise AssertionError(f"no answer to {method}")

    def pump(self, seconds=0.05):
        """Take what the browser says; the messages that are whole."""
        ready, _, _ = select.select([self._in], [], [], seconds)
        if not ready:
            return []
        self._buffer += os.read(self._in, 1 << 20)
        *whole, self._buffer = self._buffer.split(b"\0")
        answers = [json.loads(each) for each in whole]
        for answer in answers:
            if answer.get("method") == "Network.requestWillBeSent":
                self.requested.append(answer["params"]["request"]["url"])
            if answer.get("method") == "Network.webSocketFrameReceived":
                frame = answer["params"]["response"]
                if frame["opcode"] == 2:
                    self.received += base64.b64decode(frame["payloadData"])
        return answers

    def focus(self) -> None:
        """Give the keys to the terminal in the page."""
        self.call("Page.bringToFront")
        self.call("Runtime.evaluate", expression="document.querySelector('textarea').focus()")

    def type(self, text) -> None:
        for char in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=char, key=char)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=char)

    def screenshot(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
