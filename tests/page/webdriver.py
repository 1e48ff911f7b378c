"""A browser driven over the WebDriver protocol (https://www.w3.org/TR/webdriver2/) with the standard library alone."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key under which the protocol names elements
KEYS = {"left": "\ue012", "right": "\ue014", "up": "\ue013", "down": "\ue015", "enter": "\ue007", "escape": "\ue00c"}


def missing():
    """What is not installed, as a text; empty where all is."""
    if not shutil.which("chromedriver"):
        return "chromedriver is not installed (Debian: apt-get install chromium chromium-driver)"
    if not (shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")):
        return "chromium is not installed (Debian: apt-get install chromium chromium-driver)"
    return ""


class Browser:
    """One window. `with Browser(dark=True) as browser:`"""

    def __init__(self, width=1366, height=768, dark=False):
        self.size = (width, height)
        self.dark = dark

    def __enter__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(["chromedriver", f"--port={port}", "--allowed-ips="], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        try:
            self._wait_for_driver()
            self._open_session()
        except BaseException:
            self.process.terminate()
            self.process.wait()
            raise
        return self

    def __exit__(self, *_):
        try:
            self._call("DELETE", "")
        except (OSError, RuntimeError):
            pass
        self.process.terminate()
        self.process.wait()

    def _wait_for_driver(self):
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{self.base}/status", timeout=5).read()
                return
            except (urllib.error.URLError, OSError):
                if self.process.poll() is not None:
                    raise RuntimeError("chromedriver ended at once") from None
                time.sleep(0.1)
        raise RuntimeError("chromedriver does not answer")

    def _open_session(self):
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--allow-file-access-from-files=false", "--force-device-scale-factor=1",
                     f"--window-size={self.size[0]},{self.size[1]}"]
        if self.dark:
            arguments.append("--force-dark-mode")
        browser = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
        wanted = {"alwaysMatch": {"goog:chromeOptions": {"args": arguments, "binary": browser},
                                  "goog:loggingPrefs": {"browser": "ALL"}}}
        self.session = ""
        answer = self._request("POST", f"{self.base}/session", {"capabilities": wanted})
        self.session = answer["sessionId"]
        # The window has a frame even without a head: the page is to have the size.
        self.cdp("Emulation.setDeviceMetricsOverride",
                 width=self.size[0], height=self.size[1], deviceScaleFactor=1, mobile=False)
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}])

    def _request(self, method, url, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=240) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def _call(self, method, path, body=None):
        return self._request(method, f"{self.base}/session/{self.session}{path}", body)

    def cdp(self, command, **parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path, fragment=""):
        self._call("POST", "/url", {"url": "about:blank"})  # else another fragment would not load the page again
        self._call("POST", "/url", {"url": f"file://{path}{fragment}"})
        self.run_async("""const done = arguments[0];
            const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 20);
            look();""")
        self.frame()

    def run(self, script, *arguments):
        """What the body of a function returns in the page."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The same of one that calls its last argument when it is done."""
        return self._call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def frame(self):
        """Until what was asked for is drawn."""
        self.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")

    def element(self, selector):
        return self._call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def click(self, selector):
        self._call("POST", f"/element/{self.element(selector)}/click", {})
        self.frame()

    def type(self, selector, text):
        self._call("POST", f"/element/{self.element(selector)}/value", {"text": text})
        self.frame()

    def move_to(self, x, y, click=False, drag_to=None):
        """The pointer, in pixels of the window."""
        acts = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]
        if click or drag_to:
            acts.append({"type": "pointerDown", "button": 0})
        if drag_to:
            acts.append({"type": "pointerMove", "duration": 0, "x": int(drag_to[0]), "y": int(drag_to[1])})
        if click or drag_to:
            acts.append({"type": "pointerUp", "button": 0})
        self._call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                                                     "actions": acts}]})
        self.frame()

    def press(self, key):
        text = KEYS.get(key, key)
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": text}, {"type": "keyUp", "value": text}]}]})
        self.frame()

    def screenshot(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def console_errors(self):
        entries = self._call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]
