"""Headless Chromium that pages are opened in, and what a page may never do there."""
import base64
import json
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

# The contrast of text with its background: WCAG 2.2, 1.4.3, level AA; brightness of a colour as defined there.
CONTRAST = """
const brightness = (rgb) => {
  const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const behind = (element) => {
  for (let e = element; e !== null; e = e.parentElement) {
    const rgb = numbers(getComputedStyle(e).backgroundColor);
    if (rgb.length < 4 || rgb[3] > 0) return rgb.slice(0, 3);
  }
  return [255, 255, 255];
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
  const element = node.parentElement;
  if (node.textContent.trim() === "" || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
  if (element instanceof SVGElement && element.tagName === "title") continue;
  const style = getComputedStyle(element);
  const ink = numbers(element instanceof SVGElement ? style.fill : style.color).slice(0, 3);
  const [a, b] = [brightness(ink), brightness(behind(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) found.push(`${element.tagName} "${node.textContent.trim().slice(0, 40)}": ${ratio.toFixed(2)}`);
}
return found;
"""

# Finds controls and images for which a screen reader would have no name.
NAMELESS = """
const found = [];
for (const element of document.querySelectorAll("button, input, a, summary, svg, [role=region], nav")) {
  const label = element.closest("label")?.textContent ?? "";
  const name = element.getAttribute("aria-label") ?? element.textContent.trim();
  if ((name || label.trim()) === "") found.push(element.outerHTML.slice(0, 120));
}
return found;
"""


def start(width=1280, height=900, scheme="light"):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    # A window has a minimum width, an emulated screen has not.
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    return driver


def picture(driver, file, part=None):
    """The whole page, however long, or a part of it: left, top, width, height."""
    if part is None:
        # The browser takes the scroll bar away for a picture, so the page is as wide as the window.
        part = (0, 0, *driver.execute_script("return [innerWidth, document.documentElement.scrollHeight]"))
    clip = {**dict(zip(("x", "y", "width", "height"), part)), "scale": 1}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    Path(file).write_bytes(base64.b64decode(taken["data"]))


def requests_since(driver):
    """Addresses that were asked for since the last call."""
    out = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            out.append(message["params"]["request"]["url"])
    return out


def open_address(driver, address):
    """What is asked for and said from here on is that page's."""
    # The previous page may still be polling a server that has ended.
    driver.get("about:blank")
    requests_since(driver)
    driver.get_log("browser")
    driver.get(address)


def errors_since(driver):
    """What the browser has complained of since the last call."""
    return [entry["message"] for entry in driver.get_log("browser")]


def asked_of_others(driver, own):
    """Addresses asked for since the last call that do not begin as the page's own ones do."""
    return [url for url in requests_since(driver) if not url.startswith(own) and url != "data:,"]


class Opened:
    """A page at an address, opened."""

    def __init__(self, driver, address):
        self.driver = driver
        self.address = address
        open_address(driver, address)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)


class Page(Opened):
    """A page from disk, opened."""

    def __init__(self, driver, file):
        super().__init__(driver, Path(file).resolve().as_uri())

    def misdeeds(self):
        """What no page may do: errors, requests to anybody, scripts of somebody's text."""
        out = errors_since(self.driver)
        out += [url for url in requests_since(self.driver) if url != self.address]
        if self.run("return document.documentElement.dataset.shown") != "yes":
            out.append("the document was not shown")
        return out
