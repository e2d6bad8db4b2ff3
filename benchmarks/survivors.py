"""Mutants of `core` that no test can or need notice, each with the reason."""

KEEP = (
    "def keep(weight: Weight, f: float, *, t_w: int, delta_w: float, min_gain: float = {}) "
    "-> Weight:"
)
GROWN = "grown = np.empty((max({}, total, 2 * len(buffer.data)), added.shape[1]))"

REASONS = {
    f"{KEEP.format('0.0')}  →  {KEEP.format('1.0')}": "a weight that never moves ignores the gain",
    f"{GROWN.format(64)}  →  {GROWN.format(65)}": "spare room, which nobody reads",
}
