"""A process started by fleet.py: one run, whose settings stand in the file on standard input.

Nothing of this package is imported before that file has said where modules are found.
"""

import json
import signal
import sys
from typing import Any


def main(parent: int) -> int:
    told = json.load(sys.stdin)
    sys.path, sys.argv = told["path"], told["command"]  # a run records how it was begun
    from nses.execution.leaving import leave, outcome
    from nses.execution.output import forgiving
    from nses.execution.worker import die_with_parent

    die_with_parent(parent, signal.SIGTERM)  # which still writes a checkpoint
    with forgiving():
        code = outcome(lambda: _train(told["config"]))
    return leave(code)


def _train(settings: dict[str, Any]) -> int:
    import logging

    from nses.experiment.settings.config import from_dict
    from nses.experiment.train import pursue

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    pursue(from_dict(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
