"""Mutants of `core` that no test can or need notice, each with the reason."""

KEEP = (
    "def keep(weight: Weight, f: float, *, t_w: int, delta_w: float, min_gain: float = {}) "
    "-> Weight:"
)
GROWN = "grown = np.empty((max({}, total, 2 * len(buffer.data)), added.shape[1]))"

VALID = "valid = np.repeat((np.isfinite(f) & np.isfinite(N)).reshape({}, 2).all(axis=1), 2)"
THREADS = "threads: int = {}  # for the gradient sum; any number gives the same bits"
NOBODY = "NOTHING = archive.empty({})  # to measure N against where nobody looks at it"
RETEST = "return self.evaluate(Candidates(best.theta, best.moments, seeds), archive.empty({}))"
SPARE = "spare room, which nobody reads"
WIDTH = "an archive without entries has no width to speak of"


def changed(line: str, before: str, after: str) -> str:
    return f"{line.format(before)}  →  {line.format(after)}"


REASONS = {
    changed(KEEP, "0.0", "1.0"): "a weight that never moves ignores the gain",
    changed(GROWN, "64", "65"): SPARE,
    changed(GROWN.format(64).replace("2 *", "{} *"), "2", "3"): SPARE,
    changed("if total {} len(buffer.data):", ">", ">="): SPARE,
    changed("self.treed = {}", "0", "1"): "counts the rows of a tree, and there is no tree yet",
    changed(VALID, "-1", "-2"): "NumPy takes any negative size for the unknown one",
    changed(THREADS, "1", "2"): "as the comment says",
    changed(NOBODY, "0", "1"): WIDTH,
    changed("A = archive.empty({})", "0", "1"): WIDTH,
    changed(RETEST, "0", "1"): WIDTH,
    changed("contributes=chance {} h.moments_probability,", "<", "<="): (
        "a draw is exactly the probability once in 2^53"
    ),
}
