"""A headless Chromium, driven over a pipe (its DevTools protocol): what a page shows, complains of and asks for."""

import json
import os
import select
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SECONDS = 60.0
"""How long the browser may take to answer."""

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

SWITCHES = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # which root cannot have
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
)


class Browser:
    """A browser that runs until the end of a ``with`` block.

    Parameters
    ----------
    folder
        An empty folder for its profile.
    """

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        self._received = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        # It reads commands from descriptor 3 and answers on 4; a shell is the simplest way to put the pipes there.
        program = [CHROMIUM, *SWITCHES, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", *program],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._commands)
            os.close(self._answers)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and give its result; what happens meanwhile is added to ``events``."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def wait_for(self, method: str, session: str) -> None:
        """Wait until something has happened."""
        while not any(event["method"] == method and event.get("sessionId") == session for event in self.events):
            self.events.append(self._receive())

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._answers], [], [], SECONDS)
            assert ready, f"no answer of the browser in {SECONDS:g} s"
            part = os.read(self._answers, 1 << 20)
            assert part, "the browser has ended"
            self._received += part
        message, self._received = self._received.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer

    @contextmanager
    def open(
        self, file: Path, width: int, *, dark: bool = False, media: str = "screen", scripts: bool = True
    ) -> Iterator["Page"]:
        """Show a file in a window of some width in pixels; without ``scripts`` none of its own runs."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            session,
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call("Emulation.setScriptExecutionDisabled", session, value=not scripts)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, media=media, features=[scheme])
        self.events.clear()
        self.call("Page.navigate", session, url=file.as_uri())
        self.wait_for("Page.loadEventFired", session)
        yield Page(self, session)
        self.call("Target.closeTarget", targetId=target)


class Page:
    """A page that is shown."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def evaluate(self, script: str) -> Any:
        """Give the value of a JavaScript expression."""
        result = self._browser.call("Runtime.evaluate", self._session, expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def click(self, selector: str, text: str) -> None:
        """Press the mouse on the first element of a selector that has this text, where it is shown."""
        box = self.evaluate(
            f"""(() => {{
              const elements = [...document.querySelectorAll({json.dumps(selector)})];
              const element = elements.find(one => one.textContent === {json.dumps(text)});
              element.scrollIntoView({{ block: "center", inline: "center" }});
              return element.getBoundingClientRect().toJSON();
            }})()"""
        )
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self._browser.call(
                "Input.dispatchMouseEvent", self._session, type=kind, button="left", clickCount=1, **place
            )

    def press(self, key: str) -> None:
        """Press a key: ``Tab`` or ``Enter``."""
        code, text = {"Tab": (9, ""), "Enter": (13, "\r")}[key]
        for kind in ("keyDown", "keyUp"):
            self._browser.call(
                "Input.dispatchKeyEvent",
                self._session,
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                **({"text": text} if text and kind == "keyDown" else {}),
            )

    def complaints(self) -> list[str]:
        """List what stands in the console, and what scripts threw."""
        self.evaluate("0")  # by its answer, all that happened before has been told
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self._browser.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """List the addresses that the page asked for, itself first; what it carries with it left out."""
        self.evaluate("0")
        sent = [event for event in self._browser.events if event["method"] == "Network.requestWillBeSent"]
        urls = [str(event["params"]["request"]["url"]) for event in sent]
        return [url for url in urls if not url.startswith("data:")]

    def picture(self, box: dict[str, float] | None = None) -> bytes:
        """Give the page as PNG, all of it or a box of ``x``, ``y``, ``width`` and ``height``."""
        clip = {"clip": {**box, "scale": 1}} if box else {}
        shot = self._browser.call(
            "Page.captureScreenshot", self._session, format="png", captureBeyondViewport=True, **clip
        )
        return b64decode(shot["data"])

    def printed(self) -> bytes:
        """Give the page as the PDF that a printer would get."""
        self._browser.call("Emulation.setEmulatedMedia", self._session, media="print")
        return b64decode(
            self._browser.call("Page.printToPDF", self._session, paperWidth=8.27, paperHeight=11.7)["data"]
        )
