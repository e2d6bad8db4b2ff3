"""The command line: arguments to configuration to experiment.

Heavy imports wait until a command needs them: `nses --help` answers at once.
"""

import importlib
import os
import sys
from collections.abc import Callable
from typing import NamedTuple

from nses.errors import UsageError
from nses.execution.cpus import ONE_THREAD
from nses.execution.leaving import failed, leave, outcome
from nses.execution.output import forgiving


class Command(NamedTuple):
    """A command; the module of this package with its name is imported when it is called."""

    subject: str
    summary: str
    prints: bool = False  # whether what it prints is its product


COMMANDS = {
    "train": Command(
        "TASK", "train; TASK is a name of 'nses tasks', a Gymnasium id or module:attribute"
    ),
    "resume": Command("RUN", "continue a run, exactly"),
    "evaluate": Command("RUN", "fresh episodes of a trained policy", True),
    "replay": Command("RUN", "any policy of any past generation, rebuilt from the log", True),
    "render": Command("RUN", "a video of a trained policy, or of all members side by side"),
    "compare": Command("RUN...", "medians, intervals, tests, curves and one page of any runs"),
    "reproduce": Command("TASK", "all four algorithms, several seeds, then such a comparison"),
    "export": Command("RUN", "a trained policy as an ONNX file, with a model card"),
    "watch": Command("DIR", "a live page of runs while they train"),
    "info": Command("RUN", "what a run is and how far it got", True),
    "check": Command("TASK", "whether a task of your own is sound: same seed, same episode"),
    "tasks": Command("", "the built-in tasks", True),
    "estimate": Command("TASK", "what a recipe will cost here, from a short measurement", True),
    "doctor": Command("", "whether this machine is ready", True),
}

PRINTING = {name for name, command in COMMANDS.items() if command.prints}

OVERVIEW = """\
nses: novelty-seeking evolution strategies (ES, NS-ES, NSR-ES, NSRA-ES)

{commands}

Try:   nses train point-trap --algorithm nsra-es --seed 1
Then:  nses COMMAND --help   lists every setting (nses train TASK --help: for that task)"""


def overview() -> str:
    lines = (f"  {f'nses {name} {c.subject}':25}{c.summary}" for name, c in COMMANDS.items())
    return OVERVIEW.format(commands="\n".join(lines))


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code says what became of it."""
    return leave(_main(sys.argv[1:])) if arguments is None else _main(arguments)


def _main(argv: list[str]) -> int:
    with forgiving() as output:
        code = _chosen(argv)
    lost = output.failure
    if code or lost is None or PRINTING.isdisjoint(argv[:1]) or isinstance(lost, BrokenPipeError):
        return code  # who closes a pipe wants no more
    return failed(4, lost, f"cannot write the output: {lost}")


def _chosen(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    if argv[0] in ("-V", "--version"):
        from nses import __version__

        print(f"nses {__version__}")
        return 0
    os.environ.update(ONE_THREAD)  # as in the workers: other counts of threads give other bits
    return outcome(lambda: _command(argv[0])(argv[1:]))


def _command(name: str) -> Callable[[list[str]], int]:
    if name not in COMMANDS:
        import difflib

        close = difflib.get_close_matches(name, list(COMMANDS), n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise UsageError(f"there is no command {name!r}.{hint} 'nses --help' lists all.")
    return importlib.import_module(f"nses.cli.{name}").command
