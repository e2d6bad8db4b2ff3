"""Pages as a person meets them: in the Chromium of this system, without a window."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from waiting import SOON

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-background-networking"]


@dataclass
class Visit:
    """A page, what went wrong in it, and what it asked for."""

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")

    def until(self, expression: str, seconds: float = 2 * SOON) -> None:
        """Waits for it to be true. Playwright's own way is against the policy of our pages."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never came true: {expression}"
            self.page.wait_for_timeout(50)

    def drawn(self, plot: str) -> int:
        """Traces that are to be seen in a plot, once it is there."""
        self.until(
            f"document.getElementById('{plot}')?.scrollIntoView({{block: 'center'}}) ?? true"
        )
        self.page.wait_for_selector(f"#{plot} .main-svg .scatterlayer .trace", state="attached")
        return self.page.locator(f"#{plot} .main-svg .scatterlayer .trace").count()

    def diamonds(self, plot: str) -> int:
        """On a map; each one is drawn."""
        trace = f"#{plot} .scatterlayer .trace .point"
        known = self.page.evaluate(
            f"{GRAPH}('{plot}').data.reduce((n, t) => n + (t.customdata?.length ?? 0), 0)"
        )
        assert self.page.locator(trace).count() >= known
        return known

    def click(self, plot: str, trace: int, point: int) -> None:
        """A point of a plot, where it is on the screen."""
        at = self.page.evaluate(
            f"""() => {{
              const gd = {GRAPH}('{plot}'), {{xaxis, yaxis}} = gd._fullLayout, t = gd.data[{trace}];
              const box = gd.getBoundingClientRect();
              return [box.x + xaxis._offset + xaxis.l2p(t.x[{point}]),
                      box.y + yaxis._offset + yaxis.l2p(t.y[{point}])];
            }}"""
        )
        self.page.mouse.move(at[0] - 1, at[1])
        self.page.mouse.click(*at)


# The element that Plotly draws in: the place itself in a report, below it in a dashboard.
GRAPH = (
    "(id => (e => e.data ? e : e.querySelector('.js-plotly-plot'))(document.getElementById(id)))"
)

Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'nses[dev]'"
    )
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser to open pages in: none of {', '.join(NAMES)} is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Open]:
    """Opens a page; console errors and anything asked of a network fail the test at its end."""
    visits = []

    def opened(url: str, width: int = 1280, height: int = 900, **context: Any) -> Visit:
        place = chromium.new_context(viewport={"width": width, "height": height}, **context)
        page = place.new_page()
        page.set_default_timeout(2000 * SOON)
        seen = Visit(page)
        visits.append((place, seen))
        page.on(
            "console", lambda m: m.type in ("error", "warning") and seen.problems.append(m.text)
        )
        page.on("pageerror", lambda error: seen.problems.append(str(error)))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.goto(url)
        return seen

    yield opened
    for place, _ in visits:
        place.close()
    problems = [problem for _, seen in visits for problem in seen.problems]
    assert not problems, problems
    ours = ("http://127.0.0.1:", "file:", "data:", "blob:")
    foreign = [url for _, seen in visits for url in seen.requests if not url.startswith(ours)]
    assert not foreign, foreign
