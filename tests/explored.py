"""A visitor of the explorer in a headless Chromium, and projects for it to look at."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Browser, Dialog, Locator, Page, Request, expect

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
WAIT_MS = 60_000  # the first question of its kind takes long on a busy machine
SLASHED = "a/b%c?d&e#f"
MARKED = "📦 <b>bold</b>"
TURNED = "evil\u202egnp.exe"
HOSTILE = "<script>document.title='x'</script><img src=x onerror=alert(1)>"
HUB_NODES = 200


def proposed(key: str, text: str, *relations: tuple[str, str], **more: Any) -> dict[str, Any]:
    """A line that says a claim."""
    links = [{"relation": relation, "to": to} for relation, to in relations]
    return {"transition": "proposed", "key": key, "payload": {"proposition": text, "relations": links, **more}}


def depot() -> list[dict[str, Any]]:
    """A calibration that falls, what rests on it over four steps, and disputes."""
    reading = [{"type": "reading", "source": "https://example.org/log/3"}]
    return [
        proposed("sensor-17", "Sensor 17 is calibrated", kind="observation", evidence=reading),
        proposed("warehouse-temp", "The warehouse stays below 18 °C", ("derived_from", "sensor-17")),
        proposed("vaccine-storage", "Vaccines may be stored in hall B", ("depends_on", "warehouse-temp")),
        proposed("shipping-plan", "Deliveries leave from hall B", ("depends_on", "vaccine-storage")),
        proposed("contract-9", "Contract 9 promises delivery within a day", ("depends_on", "shipping-plan")),
        proposed("hall-b-warm", "Hall B gets warmer than 18 °C in summer"),
        proposed("hall-a-cold", "Hall A is colder than hall B", evidence=reading),
        proposed("route-1", "Route 1 is open", evidence=reading),
        proposed("route-2", "Route 2 needs route 1", ("depends_on", "route-1")),
        proposed("route-3", "Route 3 replaces route 1"),
        {"transition": "confirmed", "key": "sensor-17", "payload": {"evidence": reading}},
        {"transition": "confirmed", "key": "vaccine-storage"},
        {
            "transition": "linked",
            "key": "hall-b-warm",
            "payload": {"relation": "contradicts", "to": "vaccine-storage"},
        },
        {"transition": "linked", "key": "hall-a-cold", "payload": {"relation": "supports", "to": "vaccine-storage"}},
        {"transition": "invalidated", "key": "sensor-17", "reason": "it was never calibrated"},
    ]


def strange() -> list[dict[str, Any]]:
    """Keys and texts that would like to be something else."""
    return [
        proposed(SLASHED, "A key with signs that addresses use"),
        proposed(
            MARKED, HOSTILE, ("related_to", SLASHED), evidence=[{"type": "<i>t</i>", "source": "javascript:alert(3)"}]
        ),
        proposed(TURNED, "The text turns \u202ebackwards\u202c here", ("depends_on", MARKED)),
        {"transition": "challenged", "key": TURNED, "reason": HOSTILE},
    ]


def hub() -> list[dict[str, Any]]:
    """Two hundred nodes, all of which rest on one."""
    dice = random.Random(4)
    keys, lines = ["hub"], [proposed("hub", "The claim that all others rest on")]
    for number in range(HUB_NODES - 1):
        key = f"c-{number:03}"
        to = "hub" if number < 25 else dice.choice(keys[-60:])
        kind = "observation" if number % 7 == 0 else "claim"
        lines.append(proposed(key, f"Claim {number} follows from what is known of {to}", ("depends_on", to), kind=kind))
        if number % 3 == 0:
            lines.append({"transition": "confirmed", "key": key})
        keys.append(key)
    return lines


@dataclass
class Visit:
    """One visitor's page, and what it did that it should not."""

    url: str
    token: str | None
    page: Page
    complaints: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])

    def go(self, route: str | None = None, **said: Any) -> Page:
        """Open a view by its address, and wait until it stands."""
        query = route if route is not None else f"?{urlencode(said, doseq=True)}"
        self.page.goto(f"{self.url}/{query}{'' if self.token is None else f'#token={self.token}'}")
        self.token = None  # the tab keeps it
        return self.settled()

    def turn(self, route: str | None = None, **said: Any) -> Page:
        """Open a view as a link within the page would, which spares the page's own start."""
        query = route if route is not None else f"?{urlencode(said, doseq=True)}"
        self.page.evaluate(
            "(to) => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')) }", f"/{query}"
        )
        return self.settled()

    def settled(self) -> Page:
        """The page once nothing is on its way."""
        self.page.wait_for_selector("main[aria-busy=false]")
        return self.page

    def said(self) -> dict[str, list[str]]:
        """What the address asks for."""
        return parse_qs(urlsplit(self.page.url).query)

    def heading(self) -> str:
        return self.page.locator("h1").inner_text()

    def rows(self) -> dict[str, str]:
        """The rows of the graph's table by their key."""
        rows = self.page.locator(".figure tbody tr").all()
        return {row.locator(".key").first.inner_text(): row.inner_text() for row in rows}

    def pictured(self, query: str) -> Any:
        """What the drawing library itself says, as an expression of ``cy``."""
        return self.page.evaluate(
            f"(() => {{ const cy = document.querySelector('.canvas')._cyreg.cy; return {query} }})()"
        )

    def focused(self) -> Locator:
        return self.page.locator(":focus")


@contextmanager
def visiting(browser: Browser, url: str, token: str | None, allowed: str = "(?!)", **context: Any) -> Generator[Visit]:
    """A visit in a session of its own, which must end without a complaint or a request to elsewhere.

    Args:
        browser: In which.
        url: Of the service.
        token: What the visitor comes with.
        allowed: What the browser may say on its console, as a pattern.
        context: Colours, size and the like.
    """
    session = browser.new_context(**context)
    session.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    page = session.new_page()
    visit = Visit(url, token, page)
    page.on("console", lambda message: visit.complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: visit.complaints.append(f"error: {error}"))

    def noted(request: Request) -> None:
        visit.asked.append(request.url)

    def dismissed(dialog: Dialog) -> None:
        visit.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("request", noted)
    page.on("dialog", dismissed)
    try:
        yield visit
        assert [each for each in visit.complaints if not re.search(allowed, each)] == []
        assert [each for each in visit.asked if not each.startswith((f"{url}/", "data:"))] == []
    finally:
        session.close()


def flags() -> list[str]:
    """Chromium has no sandbox for root, as in a container."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
