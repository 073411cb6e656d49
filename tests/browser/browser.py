"""A browser without a window, driven by its debugging protocol over the websocket that tornado brings."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = (
    "no browser was found, and these tests need one: install Chromium (Debian and Ubuntu: apt-get install chromium), "
    "or name one in the environment variable RKHS_BROWSER"
)
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def find_browser() -> str:
    """The program, or the sentence how to install one."""
    named = os.environ.get("RKHS_BROWSER")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise FileNotFoundError(MISSING)
    return found


class Browser:
    """One page of a browser; what it complains of and asks the network for is kept."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        options = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-allow-origins=*"]
        # What a browser does on its own: a test shows its page and asks the network for nothing.
        options += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # a container's root has no user to change to
        self.process = subprocess.Popen(
            [
                find_browser(),
                *options,
                "--remote-debugging-port=0",
                f"--user-data-dir={self.folder.name}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.loop = asyncio.new_event_loop()
        self.socket = self.loop.run_until_complete(self._connect())
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    async def _connect(self) -> Any:
        from tornado.websocket import websocket_connect

        port = Path(self.folder.name, "DevToolsActivePort")
        end = time.monotonic() + 60
        while not (port.exists() and port.read_text().strip()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("the browser did not start")
            await asyncio.sleep(0.1)
        address = f"http://127.0.0.1:{port.read_text().split()[0]}/json/list"
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        pages = json.load(direct.open(address, timeout=30))
        target = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
        return await websocket_connect(target, max_message_size=2**27)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask, and wait for the answer; events on the way are kept."""
        self._number += 1
        return self.loop.run_until_complete(self._ask(self._number, method, params))

    async def _ask(self, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        await self.socket.write_message(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            text = await asyncio.wait_for(self.socket.read_message(), 120)
            message = json.loads(text)
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif message["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(params["args"]))
        elif message["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(
        self, path: Path, width: int = 1200, height: int = 900, *, dark: bool = False, scripts: bool = True
    ) -> None:
        """Show a file in a window of a size and a colour scheme, with nothing kept from before."""
        self.complaints, self.requests = [], []
        window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **window)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=path.as_uri())
        end = time.monotonic() + 60
        while self.run("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < end, "the page did not load"
            time.sleep(0.05)

    def run(self, expression: str) -> Any:
        """The value of an expression of the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, buttons: int = 0) -> None:
        """Move, press or release."""
        button = "left" if kind != "mouseMoved" else "none"
        count = int(kind != "mouseMoved")
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=count)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y)

    def key(self, name: str) -> None:
        code = {"key": name, "code": name, "windowsVirtualKeyCode": KEYS[name]}
        text = {"text": "\r"} if name == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Save what is seen."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def close(self) -> None:
        self.socket.close()
        self.loop.close()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
