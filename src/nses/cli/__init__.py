"""The command line: arguments to configuration to experiment.

Heavy imports wait until a command needs them: `nses --help` answers at once.
"""

import importlib
import os
import sys
from collections.abc import Callable

from nses.execution.cpus import ONE_THREAD
from nses.execution.leaving import leave
from nses.execution.output import forgiving, visible

OVERVIEW = """\
nses: novelty-seeking evolution strategies (ES, NS-ES, NSR-ES, NSRA-ES)

  nses train TASK          train; TASK is a name of 'nses tasks', a Gymnasium id or module:attribute
  nses resume RUN          continue a run, exactly
  nses evaluate RUN        fresh episodes of a trained policy
  nses replay RUN          any policy of any past generation, rebuilt from the log
  nses render RUN          a video of a trained policy, or of all members side by side
  nses compare RUN...      medians, intervals, tests, curves and one page of any runs
  nses reproduce TASK      all four algorithms, several seeds, then such a comparison
  nses export RUN          a trained policy as an ONNX file, with a model card
  nses watch DIR           a live page of runs while they train
  nses info RUN            what a run is and how far it got
  nses check TASK          whether a task of your own is sound: same seed, same episode
  nses tasks               the tasks that come along
  nses estimate TASK       what a recipe will cost here, from a short measurement
  nses doctor              whether this machine is ready

Try:   nses train point-trap --algorithm nsra-es --seed 1
Then:  nses COMMAND --help   lists every setting (nses train TASK --help: for that task)
"""


# The module of this package that has the command; it is imported when the command is called.
COMMANDS = {
    "train": "training",
    "resume": "training",
    "evaluate": "looking",
    "replay": "looking",
    "render": "showing",
    "compare": "looking",
    "export": "showing",
    "reproduce": "training",
    "watch": "watching",
    "info": "looking",
    "check": "checking",
    "tasks": "looking",
    "estimate": "training",
    "doctor": "looking",
}


# Commands whose product is what they print.
PRINTING = {"evaluate", "replay", "info", "tasks", "estimate", "doctor"}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code says what became of it."""
    return leave(_main(sys.argv[1:])) if arguments is None else _main(arguments)


def _main(argv: list[str]) -> int:
    with forgiving() as output:
        code = _chosen(argv)
    lost = output.failure
    if code or lost is None or PRINTING.isdisjoint(argv[:1]) or isinstance(lost, BrokenPipeError):
        return code  # who closes a pipe wants no more
    return _fail(4, lost, f"cannot write the output: {lost}")


def _chosen(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(OVERVIEW, end="")
        return 0
    if argv[0] in ("-V", "--version"):
        from nses import __version__

        print(f"nses {__version__}")
        return 0
    if argv[0] not in COMMANDS:
        import difflib

        close = difflib.get_close_matches(argv[0], list(COMMANDS), n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        message = f"there is no command {argv[0]!r}.{hint} 'nses --help' lists all."
        return _fail(2, ValueError(message))
    os.environ.update(ONE_THREAD)  # as in the workers: other counts of threads give other bits
    try:
        return _guarded(_command(argv[0]), argv[1:])
    except KeyboardInterrupt as error:  # while we were still importing
        return _fail(130, error, "stopped by SIGINT")


def _guarded(command: Callable[[list[str]], int], argv: list[str]) -> int:
    """The command, with every way in which it can end as one clear line and an exit code."""
    from nses.core.algorithms import NotFinite
    from nses.execution.evaluator import TooManyFailures
    from nses.experiment.fleet import RunsFailed
    from nses.experiment.interruption import Stopped
    from nses.experiment.runs.storage import CheckpointRefused, StorageFailed

    try:
        return command(argv)
    except (Stopped, RunsFailed) as error:
        return _fail(error.exit_code, error)
    except CheckpointRefused as error:
        return _fail(3, error)
    except StorageFailed as error:
        return _fail(4, error)
    except TooManyFailures as error:
        return _fail(5, error)
    except NotFinite as error:
        return _fail(1, error)
    except MemoryError as error:
        return _fail(2, error, f"out of memory: {error}. Lower --n, --hidden or --workers.")
    except Exception as error:
        if isinstance(error, ValueError) and not os.environ.get("NSES_TRACEBACK"):
            return _fail(2, error)
        import traceback

        print(visible("".join(traceback.format_exception(error))), end="", file=sys.stderr)
        return _fail(1, error, f"this is a bug of ours, please report it: {error!r}")


def _fail(code: int, error: BaseException, message: str = "") -> int:
    """What went wrong, and how to go on where that is known (notes of the exception)."""
    for line in (message or str(error), *getattr(error, "__notes__", ())):
        print(visible(f"nses: {line}"), file=sys.stderr)
    return code


def _command(name: str) -> Callable[[list[str]], int]:
    return getattr(importlib.import_module(f"nses.cli.{COMMANDS[name]}"), f"{name}_command")
