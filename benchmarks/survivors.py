"""Mutants of `core` that no test can or need notice, each with the reason."""

KEEP = (
    "def keep(weight: Weight, f: float, *, t_w: int, delta_w: float, min_gain: float = {}) "
    "-> Weight:"
)
GROWN = "grown = np.empty((max({}, total, 2 * len(buffer.data)), added.shape[1]))"

VALID = "valid = np.repeat((np.isfinite(f) & np.isfinite(N)).reshape({}, 2).all(axis=1), 2)"
THREADS = "threads: int = {}  # for the gradient sum; any number gives the same bits"
STEPS = "steps = np.cumsum(lengths.reshape({}, 2).sum(axis=1))"
DAYS = (
    "FORGOTTEN = {} * 86_400.0  "
    "# seconds without use after which another version's cache is removed"
)
HUGE = "LARGEST = {}  # larger observations count as this, so that sums of squares stay finite"
NOBODY = "NOTHING = archive.empty({})  # to measure N against where nobody looks at it"
RETEST = "return self.evaluate(Candidates(best.theta, best.moments, seeds), archive.empty({}))"
UNKNOWN = "NumPy takes any negative size for the unknown one"
EQUAL = "of two equal distances it does not matter which comes first"
SPARE = "spare room, which nobody reads"
WIDTH = "an archive without entries has no width to speak of"


def changed(line: str, before: str, after: str) -> str:
    return f"{line.format(before)}  →  {line.format(after)}"


SHARE = (
    "SHARE = {}  # parameters that a thread sums at a time: a multiple of the block in "
    "`_weighted_sum`"
)
POOL = "with ThreadPoolExecutor(max_workers={}(4, len(blocks))) as pool:"
WORTH = "if threads == 1 or self.d * len(pairs) {} WORTH_THREADS:"
SUM = "def weighted_sum(self, F: NDArray[np.float64], threads: int = {}) -> NDArray[np.float64]:"
NEIGHBOURS = "neighbours requested beyond k: the tree rounds differently, so near-ties may swap"
CROWDED = "crowded = missed | (kth > 0) & (far[:, -1] ** 2 <= kth * (1 + 1e-9))"
TREE = "buffer.tree = KDTree(rows, balanced_tree=False, compact_nodes=False)"
KNOWN = "nearest = k_smallest(b, rows, buffer.treed, np.where(np.isinf(far), {}, known), k)"
NEWEST = (
    "newest_first = A[::{}]  # usually the nearest: after them, the other distances are cut short"
)
SPEED = "changes only how fast it is"
RARE = "a difference only where two numbers are equal to the last bit"


def replaced(line: str, before: str, after: str) -> str:
    assert line.count(before) == 1
    return f"{line}  →  {line.replace(before, after)}"


REASONS = {
    changed(KEEP, "0.0", "1.0"): "a weight that never moves ignores the gain",
    changed(GROWN, "64", "65"): SPARE,
    changed(GROWN.format(64).replace("2 *", "{} *"), "2", "3"): SPARE,
    changed("if total {} len(buffer.data):", ">", ">="): SPARE,
    changed("self.treed = {}", "0", "1"): "counts the rows of a tree, and there is no tree yet",
    changed(VALID, "-1", "-2"): UNKNOWN,
    changed(STEPS, "-1", "-2"): UNKNOWN,
    changed("pair = max({}, 2 * float(lengths.mean()))", "1.0", "2.0"): (
        "how many candidates are asked for at a time does not change which ones count"
    ),
    changed(DAYS, "30", "31"): "a day more",
    changed("if path.stat().st_mtime {} time.time() - FORGOTTEN:", "<", "<="): "not a moment more",
    changed("shutil.rmtree(path, ignore_errors={})", "True", "False"): (
        "the errors are caught just below"
    ),
    changed("return digest.hexdigest()[:{}]", "24", "25"): "a name that is one letter longer",
    changed("shutil.rmtree(directory, ignore_errors={})", "True", "False"): (
        "at the end of a process, for a directory that may be gone"
    ),
    changed("if value {} smallest[i]:", ">=", ">"): EQUAL,
    changed("while i > 0 and smallest[i - 1] {} value:", ">", ">="): EQUAL,
    changed(HUGE, "1e100", "2e+100"): "the squares of these stay finite, too",
    changed("rows = np.empty((0, {}))", "0", "1"): WIDTH,
    changed(THREADS, "1", "2"): "as the comment says",
    changed(NOBODY, "0", "1"): WIDTH,
    changed("A = archive.empty({})", "0", "1"): WIDTH,
    changed(RETEST, "0", "1"): WIDTH,
    changed("contributes=chance {} h.moments_probability,", "<", "<="): (
        "a draw is exactly the probability once in 2^53"
    ),
    changed(SHARE, "4096", "4097"): SPEED,
    changed(POOL, "min", "max"): SPEED,
    replaced(POOL.format("min"), "4", "5"): SPEED,
    changed(WORTH, "<", "<="): SPEED,
    changed(SUM, "1", "2"): "any number of threads gives the same bits",
    changed("pairs = F.reshape({}, 2)", "-1", "-2"): UNKNOWN,
    changed("TREE_FROM = {}  # rows; below, scanning is as fast as a tree", "8192", "8193"): SPEED,
    changed(
        "TREE_TAIL = {}  # rows added since the tree was built; scanned until it is rebuilt",
        "1024",
        "1025",
    ): SPEED,
    changed("TREE_DIMENSIONS = {}  # above, a tree visits most rows anyway", "8", "9"): SPEED,
    changed(f"SPARE = {{}}  # {NEIGHBOURS}", "8", "9"): SPEED,
    changed(NEWEST, "-1", "1"): SPEED,
    changed("for row, query in zip(nearest, queries, strict={}):", "True", "False"): (
        "they are equally many"
    ),
    replaced(TREE, "balanced_tree=False", "balanced_tree=True"): SPEED,
    replaced(TREE, "compact_nodes=False", "compact_nodes=True"): SPEED,
    changed(
        "far, known = buffer.tree.query(b, k={}(k + SPARE, buffer.treed))", "min", "max"
    ): SPEED,
    changed(KNOWN, "0", "1"): "where the tree found nothing, all rows are scanned anyway",
    replaced(CROWDED, "&", "|"): "scans all rows more often than it has to",
    replaced(CROWDED, "kth > 0", "kth >= 0"): "scans all rows more often than it has to",
    replaced(CROWDED, "(1 +", "(2 +"): "scans all rows more often than it has to",
    replaced(CROWDED, "1e-9", "2e-09"): "scans all rows more often than it has to",
    replaced(CROWDED, "[:, -1]", "[:, 1]"): "scans all rows more often than it has to",
    replaced(CROWDED, "[:, -1]", "[:, -2]"): "scans all rows more often than it has to",
    replaced(CROWDED, "<=", "<"): RARE,
    changed("if speed {} FASTEST * lr:", ">", ">="): "a factor of exactly one",
    changed("if total {} bound:", ">=", ">"): EQUAL,
}
