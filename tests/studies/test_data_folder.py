"""The folder of benchmark data: what is there is checked, what is missing is fetched whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rkhs._core.errors import InputError
from studies.harness import data
from studies.harness.scripts import data_folder

GOOD = b"a,b\n1,2\n"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two sets, one of them damaged, and the list of what they should hold."""
    entry = {"licence": "MIT", "source": "github somebody/somewhere", "stand_in": "drawn curves"}
    files = {"table.csv": [len(GOOD), hashlib.sha256(GOOD).hexdigest()]}
    known = tmp_path / "data.json"
    known.write_text(json.dumps({name: entry | {"files": files} for name in ("first", "second")}))
    monkeypatch.setattr(data, "_LIST", known)
    for name, content in (("first", GOOD), ("second", b"a,b\n1,3\n")):
        (tmp_path / "mirror" / name).mkdir(parents=True)
        (tmp_path / "mirror" / name / "table.csv").write_bytes(content)
    return tmp_path / "mirror"


@pytest.fixture
def server(mirror: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(mirror))) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()


def test_a_folder_is_filled_from_a_server_and_only_by_the_right_bytes(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made"
    assert data.main([str(folder), "--from", server]) == 1
    said = capsys.readouterr().out
    assert (folder / "first" / "table.csv").read_bytes() == GOOD
    assert not (folder / "second").exists()
    assert "ok  first: github somebody/somewhere; licence: MIT; without it: drawn curves\n" in said
    assert f"second/table.csv: missing; {server}/second/table.csv holds other bytes" in said
    assert data.main([str(folder), "--only", "first"]) == 0


class Odd(BaseHTTPRequestHandler):
    """A server that answers as the first folder of a URL says."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None: ...

    def do_GET(self) -> None:
        self.close_connection = True
        how = self.path.split("/")[1]
        if how == "missing":
            self.send_error(404)
        elif how == "silent":
            self.connection.shutdown(socket.SHUT_RDWR)
        elif how == "garbage":
            self.wfile.write(b"no answer\r\n\r\n")
        else:
            self.send_response(200)
            if how == "chunks":
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"8\r\n" + GOOD[:4])
            else:
                self.send_header("Content-Length", str(len(GOOD)))
                self.end_headers()
                self.wfile.write(GOOD[:4] if how == "cut" else GOOD)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("missing", r"missing, and not to be had \(HTTP Error 404: Not Found\)"),
        ("silent", r"missing, and not to be had \(Remote end closed connection"),
        ("garbage", r"missing, and not to be had \(no answer"),
        ("chunks", r"missing, and not to be had \(IncompleteRead"),
        ("cut", r"missing; http://.*/cut/first/table.csv gave 4 of 8 bytes, as a connection that is cut does"),
    ],
)
def test_what_a_server_fails_to_give_is_said_and_fetched_by_the_next_call(
    mirror: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str, said: str
) -> None:
    words = [str(tmp_path / "made"), "--only", "first", "--from"]
    with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        place = f"http://127.0.0.1:{http.server_port}"
        assert data.main([*words, f"{place}/{how}"]) == 1
        assert not (tmp_path / "made").exists()
        found = capsys.readouterr().out
        assert re.search(said, found)
        assert found.endswith("move them away, and the next call fetches them.\n")
        assert data.main([*words, f"{place}/whole"]) == 0
        http.shutdown()
    assert (tmp_path / "made" / "first" / "table.csv").read_bytes() == GOOD
    with pytest.raises(InputError, match="--from must be a URL that begins with https://, .*; got 'mirror'"):
        data.main([*words, "mirror"])


def test_what_differs_or_cannot_be_had_is_said_and_left(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert data.main([str(mirror), "--from", (mirror / "no").as_uri()]) == 1
    assert "second/table.csv: another SHA-256" in capsys.readouterr().out
    assert (mirror / "second" / "table.csv").read_bytes() == b"a,b\n1,3\n"
    (mirror / "second" / "table.csv").write_bytes(b"a")
    (mirror / "first" / "table.csv").unlink()
    assert data.main([str(mirror), "--from", (mirror / "no").as_uri()]) == 1
    said = capsys.readouterr().out
    assert "second/table.csv: 1 bytes in place of 8" in said
    assert "first/table.csv: missing, and not to be had (" in said
    with pytest.raises(InputError, match="--only must name sets; got 'third'; the sets are first, second"):
        data.main([str(mirror), "--only", "third"])


def test_a_run_without_data_says_what_the_set_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RKHS_DATA", raising=False)
    with pytest.raises(InputError, match=r"esol: github .*; licence: MIT; without it: .*/dev data FOLDER"):
        data_folder("esol")
