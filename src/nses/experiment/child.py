"""A process started by fleet.py: trains one run, with the settings that it reads from stdin.

They include the module search path, so nothing of this package is imported before it is set.
"""

import json
import signal
import sys
from typing import Any


def main(parent: int) -> int:
    told = json.load(sys.stdin)
    sys.path, sys.argv = told["path"], told["command"]  # a run records its command
    from nses.execution.leaving import leave, outcome
    from nses.execution.output import forgiving
    from nses.execution.worker import die_with_parent

    die_with_parent(parent, signal.SIGTERM)  # SIGTERM, so that it still writes a checkpoint
    with forgiving():
        code = outcome(lambda: _train(told))
    return leave(code)


def _train(told: dict[str, Any]) -> int:
    import logging

    from nses.execution.one_cluster import join
    from nses.execution.sharing import sharers_on
    from nses.experiment.settings.config import from_dict
    from nses.experiment.train import pursue

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    if told["cluster"]:
        join(told["cluster"])
    pursue(from_dict(told["config"]), sharers=sharers_on(told["board"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
