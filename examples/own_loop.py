"""Your own loop: you iterate over a search, so you can log, stop or change anything.

python examples/own_loop.py
"""

import nses


def main() -> None:
    config = nses.recipe("point-trap", "laptop", "nsr-es")
    with nses.search_of(config, nses.make_task("point-trap")) as search:
        best = search.init().best
        for state, report in search.run(generations=300):
            best = state.best
            if report.generation % 20 == 0:
                x, y = report.behavior
                print(
                    f"generation {report.generation:3}  best {best.score:5.2f}  at {x:.1f}, {y:.1f}"
                )
            if best.score > 10:
                print(f"out of the trap in generation {report.generation}")
                break
        tested = search.retest(best, episodes=30)
        print(f"30 fresh episodes of the best policy: {tested.f.mean():.2f}")


if __name__ == "__main__":
    main()
