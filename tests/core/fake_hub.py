"""A hub on the loopback: what the real client of the Hugging Face hub asks for, and no more."""

import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_API = re.compile(r"/api/models/([^/]+/[^/]+)(?:/revision/([^/?]+))?(?:\?.*)?")
_FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/([^?]+)")


class FakeHub:
    """Models as ``{repo: {file: bytes}}``, and what goes wrong with them.

    Attributes
    ----------
    models : dict
    gated : set of str
    revisions : set of str
    status : int or None
        What every request is answered with.
    cut : dict
        File to how many of its bytes are sent before `on_cut` is called and the line is dropped.
    asked : list of (str, str)
        Method and path of every request.
    """

    def __init__(self):
        self.models = {}
        self.gated = set()
        self.revisions = {"main", COMMIT}
        self.status = None
        self.cut = {}
        self.on_cut = lambda: None
        self.asked = []

    def add(self, repo, folder, **files):
        """Serve a folder's files; of files by keyword, None takes one away."""
        found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        found |= {name.replace("__", "."): content for name, content in files.items()}
        self.models[repo] = {name: data for name, data in found.items() if data is not None}

    def downloaded(self):
        """Names of the files that were sent."""
        return [
            _FILE.fullmatch(path)[3]
            for method, path in self.asked
            if method == "GET" and _FILE.fullmatch(path)
        ]


def _handler(hub):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            """Nothing is printed."""

        def do_HEAD(self):
            self._answer(with_body=False)

        def do_GET(self):
            self._answer(with_body=True)

        def _answer(self, with_body):
            hub.asked.append((self.command, self.path))
            path = unquote(self.path)
            api, file = _API.fullmatch(path), _FILE.fullmatch(path)
            if hub.status is not None:
                return self._refuse(hub.status, None)
            repo, revision = (api or file or ("", "", ""))[1], (api or file or ("", "", ""))[2]
            if repo not in hub.models:
                return self._refuse(404, "RepoNotFound")
            if repo in hub.gated and file:
                return self._refuse(403, "GatedRepo")
            if (revision or "main") not in hub.revisions:
                return self._refuse(404, "RevisionNotFound")
            if api:
                return self._send(
                    self._facts(repo), {"Content-Type": "application/json"}, with_body
                )
            content = hub.models[repo].get(file[3])
            if content is None:
                return self._refuse(404, "EntryNotFound")
            headers = {
                "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
                "X-Repo-Commit": COMMIT,
                "Accept-Ranges": "bytes",
            }
            return self._send(content, headers, with_body, hub.cut.get(file[3]))

        def _facts(self, repo):
            files = hub.models[repo].items()
            return json.dumps(
                {
                    "id": repo,
                    "modelId": repo,
                    "sha": COMMIT,
                    "private": False,
                    "tags": [],
                    "siblings": [{"rfilename": name, "size": len(data)} for name, data in files],
                }
            ).encode()

        def _send(self, content, headers, with_body, cut=None):
            begin = 0
            found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
            if found and with_body:
                begin = int(found[1])
            self.send_response(206 if begin else 200)
            for name, value in headers.items():
                self.send_header(name, value)
            if begin:
                self.send_header(
                    "Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}"
                )
            self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            if not with_body:
                return
            if cut is None:
                self.wfile.write(content[begin:])
                return
            self.wfile.write(content[begin:cut])
            self.wfile.flush()
            hub.on_cut()
            self.close_connection = True

        def _refuse(self, status, code):
            self.send_response(status)
            if code:
                self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", "\x1b[2Jwhat a server says")
            self.send_header("Content-Length", "0")
            self.end_headers()

    return Handler


@contextmanager
def fake_hub():
    """A hub in a thread, and what to set ``HF_ENDPOINT`` to."""
    hub = FakeHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
