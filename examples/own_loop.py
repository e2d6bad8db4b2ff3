"""Your own loop: a search is iterated, so you can log, stop or change anything.

python examples/own_loop.py
"""

import nses


def main() -> None:
    config = nses.recipe("point-trap", "laptop", "nsr-es")
    task = nses.make_task("point-trap")
    with nses.search_of(config, task) as search:
        for state, report in search.run(generations=300):
            if report.generation % 20 == 0:
                x, y = report.behavior
                print(
                    f"generation {report.generation:3}  best {report.best:6.2f}  at ({x:.1f}, {y:.1f})"
                )
            if task.goal is not None and report.best > task.goal:
                print(f"out of the trap in generation {report.generation}")
                break
        tested = search.retest(state.best, episodes=30)
        print(f"30 fresh episodes of the best policy: {tested.f.mean():.2f}")


if __name__ == "__main__":
    main()
