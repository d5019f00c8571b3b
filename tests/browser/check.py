#!/usr/bin/env python3
"""Opens the pages of culd in headless Chromium, clicks through them and compares what they show.

usage: check.py --culd PROGRAM --out DIRECTORY --report PAGE --cubin FILE [--large PAGE] [--viewer PAGE --objects FILE FILE --linked FILE FILE]

1. Chromium is driven over its debugging pipe, without other packages.
2. Every check is a line; screenshots stay in the output directory.
3. A page that logs an error, throws, or asks for anything but itself fails.
The last line is 'N passed, N failed'; the exit code is 1 when something failed.
"""

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 60  # seconds for one answer


class Browser:
    """One headless Chromium with one page."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        self.profile = tempfile.mkdtemp(prefix="culd-browser-")
        to_read, self.to = os.pipe()
        self.source, from_write = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--hide-scrollbars",
                 "--no-first-run", "--disable-background-networking", f"--user-data-dir={self.profile}", "about:blank"]
        redirect = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'
        self.process = subprocess.Popen(["sh", "-c", redirect, program, *flags], pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.call(f"{domain}.enable")

    def message(self):
        end = time.monotonic() + LIMIT
        while b"\0" not in self.buffer:
            if time.monotonic() > end:
                raise TimeoutError("Chromium does not answer")
            chunk = os.read(self.source, 1 << 16)
            if not chunk:
                raise ConnectionError("Chromium has ended")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def run(self, script):
        """The value of an expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return answer["result"].get("value")

    def open(self, page, size=(1400, 900), dark=False):
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="about:blank")
        start = time.monotonic()
        self.call("Page.navigate", url=Path(page).resolve().as_uri() if "#" not in str(page) else page)
        self.wait("document.readyState === 'complete' && (document.querySelector('[role=tab]') || document.getElementById('choose'))")
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.monotonic() - start

    def wait(self, condition):
        end = time.monotonic() + LIMIT
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key):
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowRight": 39, "ArrowLeft": 37, "End": 35, "Home": 36, "Tab": 9}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def type(self, selector, text):
        self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(text)};"
                 "e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); })()")
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def screenshot(self, file):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(file).write_bytes(base64.b64decode(data))

    def problems(self):
        """Errors and requests to anything but local data since the page was opened."""
        self.run("0")
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith(("file:", "data:", "blob:", "about:")):
                found.append(f"request to {parameters['request']['url']}")
        return found

    def close(self):
        try:
            self.call("Browser.close")
        except (ConnectionError, OSError, RuntimeError, TimeoutError):
            pass
        self.process.wait(timeout=20)
        shutil.rmtree(self.profile, ignore_errors=True)


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def that(self, what, condition, detail=""):
        if condition:
            self.passed += 1
            print(f"ok   {what}")
        else:
            self.failed += 1
            print(f"FAIL {what} {detail}")

    def step(self, what, work):
        try:
            work()
        except (RuntimeError, TimeoutError, ConnectionError, KeyError, AttributeError, TypeError) as error:
            self.that(what, False, f"{type(error).__name__}: {error}")


def check_report(browser, checks, options):
    browser.open(options.report)
    out = Path(options.out)
    browser.screenshot(out / "report-overview.png")
    units = browser.run("state.report.units.length")
    checks.that("the page has a unit", units >= 1)
    tabs = browser.run("[...document.querySelectorAll('[role=tab]')].map((t) => t.id)")
    checks.that("tabs", {"tab-overview", "tab-kernels", "tab-memory", "tab-sections"} <= set(tabs), str(tabs))
    checks.that("totals", browser.run("document.querySelectorAll('.card').length") >= 7)
    # the map
    before = browser.run("document.querySelectorAll('.crumbs button').length")
    browser.run("document.querySelector('canvas').focus()")
    browser.press("Enter")
    after = browser.run("document.querySelectorAll('.crumbs button').length")
    opened = after == before + 1 or browser.run("state.tab") == "kernels"
    checks.that("Enter opens a part of the map", opened, f"{before} {after}")
    if after == before + 1:
        browser.press("Escape")
        checks.that("Escape goes back", browser.run("document.querySelectorAll('.crumbs button').length") == before)
    # tabs with the keyboard
    browser.click("#tab-overview")
    browser.run("document.getElementById('tab-overview').focus()")
    browser.press("ArrowRight")
    checks.that("arrow keys change tabs", browser.run("state.tab") == "kernels")
    browser.screenshot(out / "report-kernels.png")
    # kernels
    kernels = browser.run("state.unit.functions.filter((f) => f.kernel).length")
    checks.that("every kernel has a row", browser.run("Number(document.querySelector('[role=grid]').getAttribute('aria-rowcount'))") == kernels + 1)
    browser.click("#everything")
    everything = browser.run("state.unit.functions.length")
    checks.that("functions are added", browser.run("Number(document.querySelector('[role=grid]').getAttribute('aria-rowcount'))") == everything + 1)
    browser.click("[role=columnheader]:nth-child(3) button")
    shown = browser.run("[...document.querySelectorAll('[role=gridcell]:nth-child(3)')].map((c) => Number(c.textContent.replaceAll(',', '')) || 0)")
    checks.that("a column sorts", shown == sorted(shown, reverse=True) and len(shown) > 1, str(shown[:8]))
    name = browser.run("state.unit.functions.map((f) => f.demangled).sort((a, b) => b.length - a.length)[0]")
    browser.type("input[type=search]", name)
    checks.that("the filter finds one name", 1 <= browser.run("document.querySelectorAll('.body [role=row]').length") < max(2, everything))
    browser.run("document.querySelector('.body').focus()")
    browser.press("Home")
    browser.press("Enter")
    checks.that("Enter shows the details", browser.run("document.querySelector('#detail strong').textContent") == name)
    browser.type("input[type=search]", "no such name")
    checks.that("nothing found is said", browser.run("document.querySelector('.empty') !== null"))
    browser.type("input[type=search]", "")
    browser.type("#arch", "75")
    checks.that("occupancy for another architecture", browser.run("state.sm") == 75)
    browser.type("#block", "128")
    checks.that("another block size", browser.run("state.block") == 128)
    for tab in ("memory", "sections", "dropped", "messages"):
        if f"tab-{tab}" in tabs:
            browser.click(f"#tab-{tab}")
            checks.that(f"{tab} shows something", browser.run("document.getElementById('main').textContent.length") > 20)
    browser.screenshot(out / "report-last.png")
    unnamed = browser.run("[...document.querySelectorAll('button,input,select,canvas')].filter((e) => !(e.textContent || e.getAttribute('aria-label') || e.title || e.closest('label') || e.placeholder)).length")
    checks.that("every control has a name", unnamed == 0, str(unnamed))
    problems = browser.problems()
    checks.that("no errors, no requests", not problems, "; ".join(problems))
    browser.open(options.report, dark=True)
    browser.screenshot(out / "report-dark.png")
    browser.open(options.report, size=(420, 800))
    browser.click("#tab-kernels")
    browser.screenshot(out / "report-narrow.png")
    wide = browser.run("document.documentElement.scrollWidth")
    checks.that("a narrow page does not scroll sideways", wide <= 430, str(wide))


def check_occupancy(browser, checks, options):
    """The page's calculation against that of the program, for all kernels and block sizes."""
    program = json.loads(subprocess.run([options.culd, "occupancy", "--json", options.cubin], check=True, stdout=subprocess.PIPE).stdout)
    browser.open(options.report)
    wrong, count = [], 0
    browser.run("state.dynamic = 0; 0")
    page = browser.run("Object.fromEntries(state.unit.functions.filter((f) => f.kernel).map((f) => [f.name,"
                       "Array.from({ length: 32 }, (_, i) => { const o = occupancyOf(f, 32 * (i + 1)); return o && [o.blocks, o.percent, o.limited_by]; })]))")
    for kernel in program["kernels"]:
        for at, result in enumerate(kernel["occupancy"]):
            count += 1
            if page.get(kernel["name"], [None] * 32)[at] != [result["blocks"], result["percent"], result["limited_by"]]:
                wrong.append((kernel["name"], result, page.get(kernel["name"], [None] * 32)[at]))
    checks.that(f"occupancy of the page and of the program agree ({count})", count > 0 and not wrong, str(wrong[:2]))


def check_large(browser, checks, options):
    seconds = browser.open(options.large)
    functions = browser.run("state.unit.functions.length")
    size = Path(options.large).stat().st_size
    drawn = browser.run("performance.getEntriesByName('ready')[0].startTime / 1000")
    print(f"     {functions} functions: {size} bytes, shown {drawn:.2f} s after the start of the page, at rest after {seconds:.2f} s")
    checks.that("a large page is ready in 8 s", seconds < 8, f"{seconds:.2f} s")
    browser.screenshot(Path(options.out) / "large-overview.png")
    browser.click("#tab-kernels")
    browser.click("#everything")
    nodes = browser.run("document.querySelectorAll('*').length")
    checks.that("only rows in sight are elements", nodes < 3000, str(nodes))
    spent = browser.run("(async () => { const b = document.querySelector('.body'); const t = performance.now(); for (let i = 0; i < 20; i += 1) { b.scrollTop = i * 13000;"
                        "await new Promise((d) => requestAnimationFrame(d)); } return (performance.now() - t) / 20; })()")
    print(f"     a jump in the table takes {spent:.1f} ms")
    checks.that("scrolling is quick", spent < 400, f"{spent:.1f} ms")
    spent = browser.run("(() => { const t = performance.now(); document.querySelector('[role=columnheader] button').click(); return performance.now() - t; })()")
    checks.that("sorting is quick", spent < 2000, f"{spent:.1f} ms")
    browser.screenshot(Path(options.out) / "large-kernels.png")
    checks.that("no errors on the large page", not browser.problems(), "; ".join(browser.problems()))


def check_viewer(browser, checks, options):
    out = Path(options.out)
    seconds = browser.open(options.viewer)
    print(f"     empty viewer: {Path(options.viewer).stat().st_size} bytes, at rest after {seconds:.2f} s")
    browser.screenshot(out / "viewer-empty.png")

    def drop(files):
        browser.open(options.viewer)
        root = browser.call("DOM.getDocument")["root"]["nodeId"]
        node = browser.call("DOM.querySelector", nodeId=root, selector="#files")["nodeId"]
        start = time.monotonic()
        browser.call("DOM.setFileInputFiles", nodeId=node, files=[str(Path(f).resolve()) for f in files])
        browser.wait("document.querySelector('[role=tab]') || document.querySelector('.problem').textContent")
        browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        print(f"     viewer, {len(files)} dropped: shown after {time.monotonic() - start:.2f} s")

    drop(options.linked[:1])
    expected = json.loads(subprocess.run([options.culd, "report", "--json", options.linked[0]], check=True, stdout=subprocess.PIPE).stdout)
    same = browser.run("JSON.stringify(state.report.units.map((u) => u.functions))")
    checks.that("one file: the page shows what the program reports", json.loads(same or "null") == [u["functions"] for u in expected["units"]])
    browser.screenshot(out / "viewer-one.png")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.screenshot(out / "viewer-dark.png")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    drop(options.linked[:2])
    checks.that("two linked files: the difference", browser.run("state.tab") == "growth" and browser.run("state.report.growth !== undefined"))
    browser.screenshot(out / "viewer-difference.png")
    drop(options.objects)
    checks.that("objects: linked", browser.run("state.report.status") == "linked", str(browser.run("JSON.stringify(state.report.messages)")))
    checks.that("the link names its inputs", browser.run("state.unit ? state.unit.inputs.length : 0") == len(options.objects))
    image = base64.b64decode(browser.run("(() => { let s = ''; for (const b of window.culdImage || []) s += String.fromCharCode(b); return btoa(s); })()"))
    native = out / "native.cubin"
    arch = browser.run("state.unit.arch")
    subprocess.run([options.culd, f"-arch={arch}", *options.objects, "-o", str(native)], check=True, stderr=subprocess.DEVNULL)
    checks.that("the link has the code of the program's link", code_of(options.culd, native) == code_of_bytes(options.culd, image, out))
    browser.screenshot(out / "viewer-link.png")
    drop([__file__])
    checks.that("a file without device code: a message", browser.run("state.report.messages.length") == 1)
    checks.that("no errors in the viewer", not browser.problems(), "; ".join(browser.problems()))


def code_of(culd, file):
    report = json.loads(subprocess.run([culd, "report", "--json", str(file)], check=True, stdout=subprocess.PIPE).stdout)
    return [u["functions"] for u in report["units"]]


def code_of_bytes(culd, image, out):
    file = out / "viewer.cubin"
    file.write_bytes(image)
    return code_of(culd, file)


def main():
    parser = argparse.ArgumentParser()
    for name in ("culd", "out", "report", "cubin", "large", "viewer"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--objects", nargs="+", default=[])
    parser.add_argument("--linked", nargs="+", default=[])
    options = parser.parse_args()
    Path(options.out).mkdir(parents=True, exist_ok=True)
    checks = Checks()
    browser = Browser()
    try:
        if options.report:
            checks.step("report", lambda: check_report(browser, checks, options))
        if options.report and options.cubin:
            checks.step("occupancy", lambda: check_occupancy(browser, checks, options))
        if options.large:
            checks.step("large", lambda: check_large(browser, checks, options))
        if options.viewer:
            checks.step("viewer", lambda: check_viewer(browser, checks, options))
    finally:
        browser.close()
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
