"""What all figures share: colours, quiet axes, and files. Matplotlib never opens a window."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nses.core.algorithms import ALGORITHMS
from nses.experiment.runs.storage import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Color = tuple[float, float, float]

# One hue per member, which colour-blind readers can tell apart; a sixth member reuses the first.
HUES: tuple[Color, ...] = (
    (0.00, 0.45, 0.70),  # blue
    (0.90, 0.45, 0.00),  # orange
    (0.00, 0.60, 0.42),  # green
    (0.75, 0.28, 0.58),  # purple
    (0.80, 0.68, 0.05),  # gold
)
WALL, INK, FAINT, STAR_COLOR = "#3a3a42", "#222226", "#9a9aa2", "#ffd24a"
PALE = "#cfc6bd"  # beside FAINT, for what is no member
GOAL = "#00704e"

# One hue per algorithm, the same in every figure and on every page.
ALGORITHM_HUES: dict[str, Color] = {
    "es": (0.45, 0.45, 0.49),
    "ns-es": HUES[1],
    "nsr-es": HUES[2],
    "nsra-es": HUES[0],
}


def _hue(algorithm: str) -> Color:
    """Its own, or one of the unused hues, by its place in ALGORITHMS."""
    if algorithm in ALGORITHM_HUES:
        return ALGORITHM_HUES[algorithm]
    others, left = [x for x in ALGORITHMS if x not in ALGORITHM_HUES], HUES[3:]
    place = others.index(algorithm) if algorithm in others else len(others)
    return left[place % len(left)]


def colors_of(algorithms: Sequence[str]) -> list[Color]:
    """The colour of each algorithm; if one appears twice, the hues in order instead.

    From the sixth on they are darker, then lighter.
    """
    if len({*algorithms}) == len(algorithms):
        return [_hue(name) for name in algorithms]
    turn = np.arange(len(algorithms))
    age = np.array([0.5, 0.95, 0.1])[turn // len(HUES) % 3]
    return [(r, g, b) for r, g, b in shades(turn, age).tolist()]


def shades(member: NDArray[np.int64], age: NDArray[np.float64]) -> NDArray[np.float64]:
    """A colour for each point, (T, 3): a light tint of the member's hue at age 0, dark at age 1."""
    hue = np.array(HUES)[member % len(HUES)]
    age = age[:, None]
    light, dark = 1 - 0.40 * (1 - hue), 0.45 * hue
    early, late = 2 * np.minimum(age, 0.5), 2 * np.maximum(age - 0.5, 0.0)
    return light + early * (hue - light) + late * (dark - hue)


# Fonts for more scripts, in order of preference; those that are installed are used.
MORE_LETTERS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei"),
    *("PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Droid Sans Fallback"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS", "Unifont"),
)
LONGEST_NAME = 60  # characters


@contextmanager
def plainly() -> Iterator[None]:
    """Draw names literally: `$` starts no formula, and a missing glyph gives no warning.

    Use it as a decorator of functions that draw.
    """
    import matplotlib

    plain: dict[Any, Any] = {
        "text.parse_math": False,
        "text.usetex": False,
        "font.family": _families(),
    }
    with matplotlib.rc_context(plain), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


@cache
def _families() -> list[str]:
    from matplotlib.font_manager import fontManager

    here = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in MORE_LETTERS if name in here)]


def name_of(text: str) -> str:
    """A name, shortened to fit into a figure."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"


def tick_texts(values: Sequence[float]) -> list[str]:
    """Numbers in order, with as few digits as tell where each of them is."""
    close = 0.01 * min((b - a for a, b in pairwise(values)), default=1.0)
    for digits in range(3, 17):
        texts = [f"{x:.{digits}g}" for x in values]
        if all(abs(float(text) - x) <= close for text, x in zip(texts, values, strict=True)):
            return texts
    return [repr(x) for x in values]


def quiet(axes: "Axes") -> None:
    """Unobtrusive frame and ticks."""
    axes.tick_params(labelsize=7, length=2, width=0.6, color=FAINT, labelcolor=INK, pad=2)
    for spine in axes.spines.values():
        spine.set(color=FAINT, linewidth=0.6)


def save(figure: "Figure", path: Path) -> None:
    """PNG and PDF, the same bytes for the same runs."""
    for suffix, dpi, metadata in ((".png", 150, None), (".pdf", 300, {"CreationDate": None})):
        buffer = io.BytesIO()
        with warnings.catch_warnings():  # a busy machine takes a second to place a legend
            warnings.filterwarnings("ignore", message="Creating legend with loc")
            figure.savefig(buffer, format=suffix[1:], dpi=dpi, metadata=metadata)
        figure.set_layout_engine("none")  # the first save has laid everything out
        write_atomically(path.with_suffix(suffix), buffer.getvalue())
