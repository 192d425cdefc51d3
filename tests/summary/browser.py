"""Headless Chromium driven through a pipe: the DevTools protocol, JSON separated by zero bytes."""

import base64
import json
import os
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# All text of a page, including shadow DOM.
ALL_TEXT = """(() => {
  const parts = [], pending = [document.body];
  while (pending.length) {
    const node = pending.pop();
    if (node.nodeType === Node.TEXT_NODE) parts.push(node.data.trim());
    if (['STYLE', 'SCRIPT', 'TEMPLATE'].includes(node.tagName)) continue;
    pending.push(...[...node.childNodes].reverse());
    if (node.shadowRoot) pending.push(...[...node.shadowRoot.childNodes].reverse());
  }
  return parts.filter(text => text).join('\\n');
})()"""


class Browser:
    """A page of `url` in a window of `size`."""

    def __init__(self, url, folder, size="1300,800"):
        command, self._replies = self._pipes()
        self._process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={size}",
             f"--user-data-dir={folder}", "--remote-debugging-pipe"],
            stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=self._as_3_and_4)
        for fd in self._theirs:
            os.close(fd)
        self._commands = os.fdopen(command, "wb", buffering=0)
        self._rest, self._n, self._session = b"", 0, None
        target = self.tell("Target.createTarget", url=url)["targetId"]
        self._session = self.tell("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]

    def _pipes(self):
        read_commands, write_commands = os.pipe()
        read_replies, write_replies = os.pipe()
        self._theirs = read_commands, write_replies
        return write_commands, os.fdopen(read_replies, "rb", buffering=0)

    def _as_3_and_4(self):
        """Set up descriptors 3 and 4, which Chromium reads and writes."""
        theirs = [os.dup(fd) for fd in self._theirs]
        for fd, wanted in zip(theirs, (3, 4), strict=True):
            os.dup2(fd, wanted, inheritable=True)

    def tell(self, method, **params):
        """Send a command and return its result."""
        self._n += 1
        message = {"id": self._n, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                data = self._replies.read(1 << 16)
                assert data, "Chromium has ended"
                self._rest += data
            reply, _, self._rest = self._rest.partition(b"\0")
            reply = json.loads(reply)
            if reply.get("id") == self._n:
                assert "result" in reply, reply
                return reply["result"]

    def run(self, script):
        """Return the value of a JavaScript expression."""
        return self.tell("Runtime.evaluate", expression=script)["result"].get("value")

    def text_with(self, words, timeout=30):
        """Return the page's text once it contains all the words, or after the timeout."""
        end = time.monotonic() + timeout
        while True:
            text = self.run(ALL_TEXT) or ""
            if all(word in text for word in words) or time.monotonic() > end:
                return text
            time.sleep(0.1)

    def screenshot(self, path):
        """Write an image of the page as PNG."""
        data = self.tell("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._commands.close()
        self._replies.close()
