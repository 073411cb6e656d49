"""Everything that must hold before a release, and what is released: ``./dev release VERSION`` or ``--check``.

Steps run in order; ``--only`` and ``--skip`` pick some by name, ``--list`` names them. With a VERSION all must hold:
then ``dist/`` has what is published, and the two commands that publish it are printed. Nothing is published here.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import surface

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TOOLS = ROOT / "build" / "release-venv" / "bin"
PYTHON = sys.executable
BLOCKS = re.compile(r"^```(python|sh)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
LARGEST_WHEEL = 1_100_000  # bytes
# Deflates the files of a wheel more tightly, in the environment of the release; the same names, times and contents.
REPACK = """
import io, os, sys, zipfile, zopfli.zlib
class Deflate(io.BytesIO):
    def compress(self, data):
        self.write(data)
        return b""
    def flush(self):
        return zopfli.zlib.compress(self.getvalue())[2:-4]  # without the frame of zlib
zipfile._get_compressor = lambda *_: Deflate()
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile("dist/repacked", "w") as new:
    for one in old.infolist():
        new.writestr(one, old.read(one))
os.replace("dist/repacked", sys.argv[1])
"""
LEAST_TYPED = 0.997  # of the public symbols


class StepFailed(RuntimeError):
    """A step that does not hold; its text says why."""


def call(*command: str | Path, cwd: Path = ROOT, **settings: str) -> str:
    """Run a command; return what it prints, or raise with the end of it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **settings}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise StepFailed(f"{Path(str(command[0])).name} ended with status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout.strip()


def last_line(text: str) -> str:
    """The last line of a text that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def version() -> str:
    """The version of ``pyproject.toml``."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def wheel() -> Path:
    """The wheel that the step ``build`` has built."""
    found = sorted(DIST.glob("*.whl"))
    if not found:
        raise StepFailed("dist/ has no wheel; run the step build too")
    return found[0]


def pytest(*arguments: str) -> str:
    """Run a part of the tests; return the line of the counts."""
    return last_line(call(PYTHON, "-m", "pytest", "-q", *arguments))


def clean() -> str:
    """Refuse a tree with changes that no commit holds."""
    changed = call("git", "status", "--porcelain")
    if changed:
        raise StepFailed(f"commit or remove these first:\n{changed}")
    return call("git", "rev-parse", "--short", "HEAD")


def changelog() -> str:
    """Refuse a list of changes without this version."""
    if f"\n## {version()}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise StepFailed(f"CHANGELOG.md has no part '## {version()}'")
    return f"CHANGELOG.md speaks of {version()}"


def public_names() -> str:
    """Compare the public names with the stored ones."""
    difference = surface.changes()
    if difference:
        raise StepFailed(f"public names changed; if that is meant, run ./dev surface --write\n{difference}")
    return f"{len(surface.homes())} public classes and functions"


def lint() -> str:
    """Check style, types, layers and spelling."""
    return last_line(call("bash", "./dev", "lint"))


def build() -> str:
    """Build the wheel and the sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    call(PYTHON, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    call(TOOLS / "python", "-c", REPACK, wheel())
    sizes = {path.name: path.stat().st_size for path in sorted(DIST.iterdir())}
    if sizes[wheel().name] >= LARGEST_WHEEL:
        raise StepFailed(f"the wheel has {sizes[wheel().name]} bytes, and must have less than {LARGEST_WHEEL}")
    return ", ".join(f"{name}: {size} bytes" for name, size in sizes.items())


def twine() -> str:
    """Check the metadata and the text of the project's page."""
    return last_line(call(TOOLS / "twine", "check", "--strict", *sorted(DIST.glob("rkhs-*"))))


def contents() -> str:
    """Check which files the wheel holds."""
    return last_line(call(TOOLS / "check-wheel-contents", wheel()))


def pyroma() -> str:
    """Rate the packaging."""
    text = call(TOOLS / "pyroma", "--min", "8", ".")
    return next(line for line in text.splitlines() if "rating" in line.lower())


def bandit() -> str:
    """Search for calls that are known to be unsafe, of medium severity or above."""
    call(TOOLS / "bandit", "-q", "-r", "-ll", "src")
    return "no finding of medium severity or above"


def review() -> str:
    """Check the guidelines of scientific Python; ``pyproject.toml`` names the ignored rules with reasons."""
    command = [TOOLS / "repo-review", "--format", "json", "."]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )  # its status is 3 where rules fail
    checks = json.loads(done.stdout)["checks"]
    failed = [f"{name}: {one['description']}" for name, one in checks.items() if one["result"] is False]
    if failed:
        raise StepFailed("\n".join(failed))
    return f"{sum(1 for one in checks.values() if one['result'])} rules hold, none fails"


def types() -> str:
    """Count the public symbols whose types a checker knows."""
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel()).extractall(folder)
        command = [TOOLS / "basedpyright", "--pythonpath", PYTHON, "--verifytypes", "rkhs"]
        done = subprocess.run(
            [*command, "--ignoreexternal", "--outputjson"],
            env={**os.environ, "PYTHONPATH": folder},
            capture_output=True,
            text=True,
            check=False,  # its status is 1 below 100 %
        )
    homes = surface.homes()
    symbols = [one for one in json.loads(done.stdout)["typeCompleteness"]["symbols"] if is_public(one["name"], homes)]
    known = sum(1 for one in symbols if one["isTypeKnown"])
    text = f"{known} of {len(symbols)} public symbols have known types: {known / max(len(symbols), 1):.1%}"
    if known < LEAST_TYPED * len(symbols) or not symbols:
        rest = [one["name"] for one in symbols if not one["isTypeKnown"]]
        raise StepFailed(f"{text}; not {', '.join(rest)}")
    return text


def is_public(name: str, homes: set[str]) -> bool:
    """Whether a symbol is a public class or function, or a member of one."""
    words = name.split(".")
    return any(".".join(words[:count]) in homes for count in range(1, len(words) + 1)) and "._" not in name


def tests() -> str:
    """Run the tests that are neither slow nor of a browser."""
    return pytest("-n", "2", "-m", "not slow and not browser")


def slow() -> str:
    """Run the slow tests."""
    return pytest("-n", "2", "-m", "slow and not browser")


def docs() -> str:
    """Build the site, and run the code of its pages."""
    return last_line(call("bash", "./dev", "docs"))


def browser() -> str:
    """Run the tests of the report page where a browser is installed."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        return "left out: no Chromium is installed"
    return pytest("-m", "browser", "tests/browser")


def reliability() -> str:
    """Measure the goals of the page on reliability at reduced size."""
    return last_line(call(PYTHON, "-m", "studies.reliability"))


def versions() -> str:
    """Install and test the wheel beside the lowest and newest versions of what it needs."""
    return call("bash", "./dev", "versions")


def readme() -> str:
    """Follow README word by word in an empty environment that has the wheel and the extras that it names."""
    with tempfile.TemporaryDirectory(prefix="rkhs-readme-") as name:
        room = Path(name)
        call(PYTHON, "-m", "venv", room / "venv")
        programs = room / "venv" / "bin"
        start = time.monotonic()
        pin = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
        target = f"{wheel()}[chem,plots,tables]"
        installer = [Path(PYTHON).with_name("uv"), "pip", "install", "-q", "--python", programs / "python"]
        call(*installer, "-c", ROOT / "constraints.txt", pin, target)
        lines = [f"installed in {time.monotonic() - start:.0f} s"]
        lines += follow(room, programs)
    return "; ".join(lines)


def follow(room: Path, programs: Path) -> Iterator[str]:
    """Run the blocks of README in order, in one folder; those that install are left out."""
    search = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": ""}
    for kind, code in BLOCKS.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        commands = [] if kind == "python" else [line for line in code.splitlines() if not line.startswith("pip ")]
        start = time.monotonic()
        if kind == "python":
            (room / "block.py").write_text(code, encoding="utf-8")
            call(programs / "python", "block.py", cwd=room, **search)
            yield f"Python block: {time.monotonic() - start:.1f} s"
        for command in commands:
            call("bash", "-c", command, cwd=room, **search)
            yield f"{' '.join(command.split()[:2])}: {time.monotonic() - start:.1f} s"
            start = time.monotonic()


def sums() -> str:
    """Write the SHA-256 of what is released."""
    files = sorted(DIST.glob("rkhs-*"))
    text = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (DIST / "SHA256SUMS").write_text(text, encoding="ascii", newline="\n")
    return f"dist/SHA256SUMS, {len(files)} files"


def sbom() -> str:
    """Write what is inside as SPDX: the files of the wheel, and what the library needs as it was tested."""
    needed = sorted(requirements("rkhs"))
    packages = [package("rkhs", version())] + [package(name, importlib.metadata.version(name)) for name in needed]
    with zipfile.ZipFile(wheel()) as archive:
        files = [spdx_file(name, archive.read(name)) for name in archive.namelist()]
    stamp = call("git", "log", "-1", "--format=%cI")
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"rkhs-{version()}",
        "documentNamespace": f"urn:rkhs:{version()}:{hashlib.sha256(wheel().read_bytes()).hexdigest()}",
        "creationInfo": {"created": stamp, "creators": ["Tool: rkhs-tools-release"]},
        "packages": packages,
        "files": files,
        "relationships": [
            {"spdxElementId": "SPDXRef-rkhs", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": f"SPDXRef-{name}"}
            for name in needed
        ],
    }
    (DIST / "sbom.spdx.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8", newline="\n")
    return f"dist/sbom.spdx.json: {len(packages)} packages, {len(files)} files"


def requirements(name: str, found: set[str] | None = None) -> set[str]:
    """Names of all distributions that one needs, without extras, as they are installed here."""
    found = set() if found is None else found
    for line in importlib.metadata.requires(name) or []:
        words = re.match(r"[\w.-]+", line)
        needed = re.sub(r"[-_.]+", "-", words[0]).lower() if words else ""
        if "extra ==" in line or needed in found or not needed:
            continue
        try:
            importlib.metadata.version(needed)
        except importlib.metadata.PackageNotFoundError:  # of another system
            continue
        found.add(needed)
        requirements(needed, found)
    return found


def package(name: str, number: str) -> dict[str, object]:
    """A package in the words of SPDX."""
    facts = importlib.metadata.metadata(name)
    return {
        "SPDXID": f"SPDXRef-{name}",
        "name": name,
        "versionInfo": number,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseDeclared": facts.get("License-Expression") or "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:pypi/{name}@{number}",
            }
        ],
    }


def spdx_file(name: str, content: bytes) -> dict[str, object]:
    """A file of the wheel in the words of SPDX."""
    sums_of = {"SHA1": hashlib.sha1(content, usedforsecurity=False), "SHA256": hashlib.sha256(content)}
    return {
        "SPDXID": f"SPDXRef-File-{hashlib.sha256(name.encode()).hexdigest()[:16]}",
        "fileName": f"./{name}",
        "checksums": [{"algorithm": kind, "checksumValue": found.hexdigest()} for kind, found in sums_of.items()],
    }


STEPS: dict[str, Callable[[], str]] = {
    step.__name__.replace("_", "-"): step
    for step in (
        *(
            clean,
            changelog,
            public_names,
            lint,
            build,
            twine,
            contents,
            pyroma,
            bandit,
            review,
            types,
            readme,
            sums,
            sbom,
        ),
        *(tests, slow, docs, browser, reliability, versions),
    )
}


def run(names: list[str]) -> bool:
    """Run steps, and print a line each; whether all hold."""
    failed = []
    for name in names:
        start = time.monotonic()
        try:
            text, word = STEPS[name](), "holds"
        except (StepFailed, OSError, ValueError) as error:
            text, word = str(error), "FAILS"
            failed.append(name)
        print(f"{name:13s} {word} {time.monotonic() - start:6.0f} s  {text}", flush=True)
    print(f"{len(names) - len(failed)} of {len(names)} steps hold" + (f"; not {', '.join(failed)}" if failed else ""))
    return not failed


def arguments(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="./dev release", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version", nargs="?", help="the version to release, as in pyproject.toml")
    parser.add_argument("--check", action="store_true", help="run the steps and print nothing to publish")
    parser.add_argument("--only", default="", metavar="STEP,STEP", help="run these steps alone")
    parser.add_argument("--skip", default="", metavar="STEP,STEP", help="leave these steps out")
    parser.add_argument("--list", action="store_true", help="name the steps")
    found = parser.parse_args(argv)
    picked = [name for name in f"{found.only},{found.skip}".split(",") if name]
    if unknown := sorted(set(picked) - set(STEPS)):
        parser.error(f"unknown steps: {', '.join(unknown)}; the steps are {', '.join(STEPS)}")
    if not found.list and found.check == bool(found.version):
        parser.error("name the version to release, or give --check")
    if found.version and (picked or found.version != version()):
        parser.error(f"a release runs all steps, of the version of pyproject.toml: {version()}")
    return found


def main(argv: list[str]) -> int:
    """Check, and say how to publish."""
    found = arguments(argv)
    if found.list:
        print(*(f"{name:13s} {(step.__doc__ or '').splitlines()[0]}" for name, step in STEPS.items()), sep="\n")
        return 0
    only, skip = found.only.split(",") if found.only else list(STEPS), found.skip.split(",")
    held = run([name for name in STEPS if name in only and name not in skip])
    if held and found.version:
        print(f"\nTo publish:\n  git tag -s v{found.version} && git push origin v{found.version}")
        print(f"  twine upload dist/rkhs-{found.version}*")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
