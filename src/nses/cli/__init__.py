"""The command line: from arguments to a configuration to an experiment.

Heavy imports wait until a command needs them, so that `nses --help` answers at once.
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
    """A command. The module of the same name in this package is imported when it is called."""

    subject: str
    summary: str
    prints: bool = False  # whether its output is its result: if that is lost, the command failed


COMMANDS = {
    "train": Command("TASK", "train a policy"),
    "resume": Command("RUN", "continue a run exactly where it stopped"),
    "evaluate": Command("RUN", "play fresh episodes with a trained policy", True),
    "replay": Command("RUN", "rebuild a past policy from the log and play it", True),
    "render": Command("RUN", "film a policy, or all members side by side"),
    "compare": Command("DIR...", "compare runs: tables, tests, curves and a page"),
    "reproduce": Command("TASK", "train all four algorithms on several seeds; compare"),
    "export": Command("RUN", "write a policy as an ONNX file with a model card"),
    "watch": Command("DIR", "serve a live page of runs while they train"),
    "info": Command("RUN", "show what a run is and how far it got", True),
    "check": Command("TASK", "check that a task of your own is sound"),
    "tasks": Command("", "list the built-in tasks", True),
    "estimate": Command("TASK", "measure what a run will cost on this machine", True),
    "doctor": Command("", "check that this machine is ready", True),
}

PRINTING = {name for name, command in COMMANDS.items() if command.prints}

OVERVIEW = """\
nses: novelty-seeking evolution strategies (ES, NS-ES, NSR-ES, NSRA-ES)

{commands}

TASK is a name from 'nses tasks', a Gymnasium id, or module:attribute.

Try:   nses train point-trap --algorithm nsra-es --seed 1
Help:  nses COMMAND --help, or nses train TASK --help for a task's own defaults"""


def overview() -> str:
    lines = (f"  {f'nses {name} {c.subject}':25}{c.summary}" for name, c in COMMANDS.items())
    return OVERVIEW.format(commands="\n".join(lines))


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return leave(_main(sys.argv[1:])) if arguments is None else _main(arguments)


def _main(argv: list[str]) -> int:
    with forgiving() as output:
        code = _chosen(argv)
    lost = output.failure
    if code or lost is None or PRINTING.isdisjoint(argv[:1]) or isinstance(lost, BrokenPipeError):
        return code  # a closed pipe is no failure: its reader had enough
    return failed(4, lost, f"cannot write the output: {lost}")


def _chosen(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    if argv[0] in ("-V", "--version"):
        from nses import __version__

        print(f"nses {__version__}")
        return 0
    os.environ.update(ONE_THREAD)  # as in the workers: the number of threads changes the bits
    return outcome(lambda: _command(argv[0])(argv[1:]))


def _command(name: str) -> Callable[[list[str]], int]:
    if name not in COMMANDS:
        import difflib

        close = difflib.get_close_matches(name, list(COMMANDS), n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise UsageError(f"there is no command {name!r}.{hint} 'nses --help' lists them all.")
    return importlib.import_module(f"nses.cli.{name}").command
