"""The folder of benchmark data: what is there is checked, what is missing is fetched whole or not at all."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
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
