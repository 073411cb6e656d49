"""What is written takes the place of a file and nothing else, with the permissions of the file that it replaces."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs._core.errors import InputError
from rkhs._core.files import atomic_path, check_writable

X = np.random.default_rng(0).normal(size=(20, 3))


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_permissions_and_new_ones_follow_umask(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "m.rkhs"
    model = rkhs.KernelPCA(2).fit(X)
    rkhs.save(model, path)
    assert mode(path) == 0o644
    path.chmod(bits)
    rkhs.save(model, path)
    assert mode(path) == bits
    with atomic_path(path) as temporary:
        assert mode(temporary) == 0o600  # nobody else reads it before it has its permissions
        temporary.write_text("x")
    os.umask(0o077)
    rkhs.save(model, tmp_path / "private.rkhs")
    assert mode(tmp_path / "private.rkhs") == 0o600


def special_files(folder: Path) -> list[Path]:
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "socket"))
    server.close()
    (folder / "link").symlink_to("/dev/null")
    return [folder / "pipe", folder / "folder", folder / "socket", folder / "link", Path("/dev/full")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
def test_devices_pipes_and_folders_are_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in special_files(Path()):
        before = os.stat(path)
        for refused in (check_writable, lambda target: rkhs.save(rkhs.KernelPCA(1).fit(X), target)):
            with pytest.raises(InputError, match="expected the name of a file"):
                refused(path)
        assert os.path.samestat(before, os.stat(path))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "which is none"),
        ("a\0b", "which is none"),
        ("new/", "which is none"),
        ("no/m.rkhs", "whose folder does not exist"),
        ("file/m.rkhs", "whose folder does not exist"),
        ("n" * 300, "File name too long"),
        ("loop", "symbolic links"),
        ("protected", "protected against writing"),
    ],
)
def test_names_that_cannot_be_written_are_refused_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    Path("loop").symlink_to("loop")
    Path("protected").write_text("x")
    Path("protected").chmod(0o444)
    before = sorted(os.listdir())
    with pytest.raises(InputError, match=message):
        check_writable(path)
    with pytest.raises(InputError, match=message), atomic_path(path):
        pass
    assert sorted(os.listdir()) == before


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / ("n" * 250))  # the longest names too
    (tmp_path / "old").write_text("x")
    check_writable(tmp_path / "old")
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "x"
