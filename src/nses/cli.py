"""The command line: arguments to configuration to experiment.

Heavy imports wait until a command needs them: `nses --help` answers at once.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from nses.execution.cpus import ONE_THREAD

if TYPE_CHECKING:
    from rich.console import Console

OVERVIEW = """\
nses: novelty-seeking evolution strategies (ES, NS-ES, NSR-ES, NSRA-ES)

  nses train TASK          train; TASK is a name of 'nses tasks', a Gymnasium id or module:attribute
  nses resume RUN          continue a run, exactly
  nses evaluate RUN        fresh episodes of a trained policy
  nses reproduce TASK      all four algorithms, several seeds: a table and a picture
  nses info RUN            what a run is and how far it got
  nses tasks               the tasks that come along
  nses estimate TASK       what a recipe will cost here, from a short measurement
  nses doctor              whether this machine is ready

Try:   nses train point-trap --algorithm nsra-es --seed 1
Then:  nses COMMAND --help   lists every setting (nses train TASK --help: for that task)
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code says what became of it."""
    argv = sys.argv[1:] if arguments is None else arguments
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
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # module:attribute may be in the current directory
    try:
        return _guarded(COMMANDS[argv[0]], argv[1:])
    except KeyboardInterrupt as error:  # while we were still importing
        return _fail(130, error, "stopped by SIGINT")


def _guarded(command: Callable[[list[str]], int], argv: list[str]) -> int:
    """The command, with every way in which it can end as one clear line and an exit code."""
    from nses.core.algorithms import NotFinite
    from nses.execution.evaluator import TooManyFailures
    from nses.experiment.fleet import RunsFailed
    from nses.experiment.interruption import Stopped
    from nses.experiment.storage import CheckpointRefused, StorageFailed

    try:
        return command(argv)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
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
    except Exception as error:
        if isinstance(error, ValueError) and not os.environ.get("NSES_TRACEBACK"):
            return _fail(2, error)
        import traceback

        traceback.print_exception(error)
        return _fail(1, error, f"this is a bug of ours, please report it: {error!r}")


def _fail(code: int, error: BaseException, message: str = "") -> int:
    """What went wrong, and how to go on where that is known (notes of the exception)."""
    for line in (message or str(error), *getattr(error, "__notes__", ())):
        print(f"nses: {line}", file=sys.stderr)
    return code


def _console() -> "Console":
    """The terminal, with the package's log messages on it."""
    import logging

    from rich.console import Console
    from rich.logging import RichHandler

    console = Console()
    handler = RichHandler(
        console=Console(stderr=True) if not console.is_terminal else console,
        show_time=False,
        show_path=False,
        markup=False,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format="%(message)s")
    return console


def _parse(kind: Any, argv: list[str], command: str, description: str, default: Any = None) -> Any:
    import tyro

    registry = tyro.constructors.ConstructorRegistry()

    @registry.primitive_rule
    def optional(
        info: tyro.constructors.PrimitiveTypeInfo,
    ) -> tyro.constructors.PrimitiveConstructorSpec[Any] | None:
        """`--workers INT`, where tyro alone would say `--workers {None}|INT`."""
        types = [option for option in get_args(info.type) if option is not NoneType]
        if NoneType not in get_args(info.type) or len(types) != 1:
            return None
        choices = get_args(types[0])  # of a Literal
        kind = str if choices else types[0]
        return tyro.constructors.PrimitiveConstructorSpec(
            nargs=1,
            metavar="{" + ",".join(choices) + "}" if choices else kind.__name__.upper(),
            instance_from_str=lambda texts: kind(texts[0]),
            is_instance=lambda value: value is None or isinstance(value, kind),
            choices=choices or None,
            str_from_instance=lambda value: ["auto" if value is None else str(value)],
        )

    keywords = {} if default is None else {"default": default}
    return tyro.cli(
        kind,
        args=argv,
        prog=f"nses {command}",
        description=description,
        config=(tyro.conf.HelptextFromCommentsOff,),
        registry=registry,
        **keywords,
    )


def _configuration(argv: list[str], command: str, description: str) -> Any:
    """A Config from flags: what they do not say comes from the recipe that they name."""
    import tyro

    from nses.experiment.config import Config, changed
    from nses.experiment.recipes import recipe

    @dataclass(frozen=True)
    class Arguments(Config):
        task: Annotated[
            str,
            tyro.conf.Positional,
            tyro.conf.arg(
                help_behavior_hint="",
                metavar="TASK",
                help="A name of 'nses tasks', a Gymnasium id, or module:attribute.",
            ),
        ] = ""

    def arguments(config: Config) -> Arguments:
        return Arguments(**{f.name: getattr(config, f.name) for f in fields(Config)})

    wants_help = not {"-h", "--help"}.isdisjoint(argv)
    plain = [a for a in argv if a not in ("-h", "--help")]
    if not plain and not wants_help:
        raise ValueError(f"'nses {command}' needs a task; 'nses tasks' lists some.")
    first = _parse(Arguments, plain, command, description, Arguments(task=""))
    base = recipe(first.task, first.recipe, first.algorithm)
    # Help alone, because tyro leaves out what stands on the line already.
    argv = ["--help"] if wants_help else argv
    given = _parse(Arguments, argv, command, description, arguments(base))
    return changed(base, {f.name: getattr(given, f.name) for f in fields(Config)})


def train_command(argv: list[str]) -> int:
    config = _configuration(
        argv, "train", "Train on a task. The values shown are those of the task's recipe."
    )
    return _train(config)


def _train(config: Any) -> int:
    from nses.experiment.figures import curve
    from nses.experiment.progress import ProgressView, show_end
    from nses.experiment.run import CURVE
    from nses.experiment.train import pursue

    console = _console()
    with ProgressView(config, console) as view:
        run = pursue(config, listener=view)
    if view.began is None:
        console.print("nothing to train: all generations were done before")
    else:
        curve(run, run.path / CURVE)
    show_end(run, console)
    return 0


def resume_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        generations: int | None = None
        """Extend the run to so many generations in all."""
        workers: int | None = None
        """Worker processes."""
        backend: Literal["auto", "serial", "processes"] = "auto"
        """Where episodes are played; as before if auto."""
        deadline: float = 0.0
        """Seconds after which an episode counts as hanging; as before if 0."""
        checkpoint_seconds: float = -1.0
        """Seconds between checkpoints; as before if negative."""

    from nses.experiment.config import changed
    from nses.experiment.run import load

    given = _parse(Arguments, argv, "resume", "Continue a run exactly where it stopped.")
    run = load(given.run)
    run.task()
    as_before = {"backend": "auto", "deadline": 0.0, "checkpoint_seconds": -1.0}
    settings = {
        name: value
        for name, value in asdict(given).items()
        if name != "run" and value is not None and value != as_before.get(name)
    }
    return _train(changed(run.config, settings))


def evaluate_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        policy: str = "best"
        """best, final (the member updated last) or member:I."""
        episodes: int = 30
        """How many episodes."""
        seed: int = 0
        """Another seed, other episodes."""
        json: bool = False
        """Print JSON in place of a table."""

    import json

    from nses.experiment.evaluate import evaluate
    from nses.experiment.run import load

    given = _parse(Arguments, argv, "evaluate", "Fresh episodes of a trained policy.")
    console = _console()
    tested = evaluate(load(given.run), given.policy, given.episodes, given.seed)
    if given.json:
        asked = {name: value for name, value in asdict(given).items() if name != "json"}
        print(json.dumps({**asked, **tested.summary}))
    else:
        console.print(
            f"{given.policy} policy of {given.run}: {tested}", highlight=False, soft_wrap=True
        )
    return 0


def tasks_command(argv: list[str]) -> int:
    _parse(_Nothing, argv, "tasks", "The tasks that come along.")
    from nses.experiment.info import show_tasks

    show_tasks(_console())
    return 0


def info_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        json: bool = False
        """Print JSON in place of a table."""

    import json

    from nses.experiment.info import facts_of
    from nses.experiment.run import load

    given = _parse(Arguments, argv, "info", "What a run is and how far it got.")
    facts = facts_of(load(given.run))
    if given.json:
        print(json.dumps(facts))
        return 0
    from nses.experiment.progress import say

    console = _console()
    for name, value in facts.items():
        say(console, name, value if isinstance(value, str) else json.dumps(value), width=20)
    return 0


def estimate_command(argv: list[str]) -> int:
    config = _configuration(
        argv, "estimate", "Time and memory of a recipe on this machine, from a short measurement."
    )
    from nses.experiment.estimate import estimate, show

    show(estimate(config), config, _console())
    return 0


def doctor_command(argv: list[str]) -> int:
    _parse(_Nothing, argv, "doctor", "Whether this machine is ready.")
    from nses.experiment.doctor import examine, show

    return 0 if show(examine(), _console()) else 1


def reproduce_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        experiment: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
        """A task: all four algorithms are trained on it."""
        recipe: Literal["paper", "laptop", "smoke"] = "laptop"
        """The settings of every run."""
        runs: int = 5
        """Seeds per algorithm."""
        seed: int = 0
        """The first seed."""
        workers: int | None = None
        """CPUs to use; all that this process may use if not given."""
        directory: str = "reproduced"
        """Where runs, table and picture are kept."""

    given = _parse(
        Arguments,
        argv,
        "reproduce",
        "Train all four algorithms with several seeds, skipping what is done, and compare them.",
    )
    from pathlib import Path

    from nses.experiment.reproduce import reproduce

    reproduce(
        given.experiment,
        recipe=given.recipe,
        seeds=range(given.seed, given.seed + given.runs),
        workers=given.workers,
        directory=Path(given.directory),
        console=_console(),
    )
    return 0


@dataclass(frozen=True)
class _Nothing:
    """A command without arguments."""


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "train": train_command,
    "resume": resume_command,
    "evaluate": evaluate_command,
    "reproduce": reproduce_command,
    "info": info_command,
    "tasks": tasks_command,
    "estimate": estimate_command,
    "doctor": doctor_command,
}


if __name__ == "__main__":
    sys.exit(main())
