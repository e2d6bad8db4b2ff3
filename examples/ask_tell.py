"""Ask and tell: bring your own evaluation, here a function with a deceptive slope.

python examples/ask_tell.py
"""

import numpy as np

import nses


def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray]:
    """A hill at x = 1 in front of a higher one at x = 4; the behavior is x, the mean of theta."""
    x = float(theta.mean())
    return np.exp(-((x - 1) ** 2)) + 3 * np.exp(-((x - 4) ** 2)), np.array([x])


def main() -> None:
    for algorithm in ("es", "nsra-es"):
        strategy = nses.Strategy(
            algorithm, np.zeros(8), n=40, sigma=0.1, lr=0.05, l2=0.0, k=5, weight_patience=5, seed=1
        )
        for _ in range(300):
            results = [evaluate(theta) for theta in strategy.ask()]
            strategy.tell([f for f, _ in results], [b for _, b in results])
        x = float(strategy.best.theta.mean())
        print(f"{algorithm:8} best return {strategy.best.score:.3f} at x = {x:.2f}")


if __name__ == "__main__":
    main()
