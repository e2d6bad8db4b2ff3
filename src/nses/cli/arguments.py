"""From the command line to values: tyro parses the flags, a recipe gives the other settings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, make_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

import tyro

from nses.errors import UsageError
from nses.words import duration, in_words, say

if TYPE_CHECKING:
    from rich.console import Console

    from nses.experiment.settings.config import Config

T = TypeVar("T")

RunDirectory = Annotated[
    str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="The run directory.")
]

RunDirectories = Annotated[
    tuple[str, ...],
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="DIR...",
        help="Run directories, or directories that contain runs.",
        help_behavior_hint="(required)",
    ),
]

TASK_HELP = "A name from 'nses tasks', a Gymnasium id, module:Id-v0, or module:attribute."

POLICY_HELP = (
    "best, final (the member updated last), member:I, generation:G (the member updated in that "
    "generation) or generation:G:candidate:I."
)
PolicyName = Annotated[str, tyro.conf.arg(metavar="POLICY", help=POLICY_HELP)]

# A list that is empty unless given: tyro alone would say "(default: )".
ListOfText = Annotated[tuple[str, ...], tyro.conf.arg(help_behavior_hint="(default: none)")]

# `--import a --import b`; the word itself is no name in Python.
Modules = Annotated[
    tuple[str, ...],
    tyro.conf.arg(name="import", metavar="MODULE", help_behavior_hint="(default: none)"),
    tyro.conf.UseAppendAction,
]

OwnTask = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="MODULE:ATTRIBUTE",
        help="The Task object of a run that was trained on one in Python, where the run does not "
        "know where to find it.",
        help_behavior_hint="(default: none)",
    ),
]


def required(directories: tuple[str, ...], command: str) -> tuple[str, ...]:
    """The directories, if there are any: tyro would accept none."""
    if not directories:
        raise UsageError(f"'nses {command}' needs a directory of runs, as in: nses {command} runs")
    return directories


@dataclass(frozen=True)
class Nothing:
    """A command without arguments."""


def terminal() -> "Console":
    """The terminal, which also shows the package's log messages."""
    import logging

    from rich.logging import RichHandler

    from nses.experiment.showing.terminal import Terminal

    console = Terminal()
    handler = RichHandler(
        console=Terminal(stderr=True) if not console.is_terminal else console,
        show_time=False,
        show_path=False,
        markup=False,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format="%(message)s")
    return console


def show_facts(facts: Mapping[str, Any], as_json: bool, console: "Console") -> None:
    """Print named facts: one per line for people, or all as one line of JSON for programs."""
    if as_json:
        print(json.dumps(facts))
        return
    for name, value in facts.items():
        if name == "seconds":
            say(console, "training time", duration(value), width=20)
        else:  # a seed is a name, not a quantity
            say(console, name, str(value) if name == "seed" else in_words(value), width=20)


def parse(
    kind: type[T], argv: list[str], command: str, description: str, default: T | None = None
) -> T:
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

        def value_of(text: str) -> Any:
            """For a number, auto and none mean None; a text may really be "auto"."""
            return None if text in ("auto", "none") and kind is not str else kind(text)

        return tyro.constructors.PrimitiveConstructorSpec(
            nargs=1,
            metavar="{" + ",".join(choices) + "}" if choices else kind.__name__.upper(),
            instance_from_str=lambda texts: value_of(texts[0]),
            is_instance=lambda value: value is None or isinstance(value, kind),
            choices=choices or None,
            str_from_instance=lambda value: ["auto" if value is None else str(value)],
        )

    keywords: dict[str, Any] = {} if default is None else {"default": default}
    return tyro.cli(
        kind,
        args=argv,
        prog=f"nses {command}",
        description=description,
        config=(tyro.conf.HelptextFromCommentsOff,),
        registry=registry,
        **keywords,
    )


def with_choices(kind: type[T], *others: str) -> type[T]:
    """`kind`, where each setting that names a row of a table offers its rows, and `others`."""
    from nses.experiment.settings.config import SETTINGS

    offered: list[tuple[str, Any, Any]] = []
    for f in fields(kind):  # type: ignore[arg-type]
        table = SETTINGS[f.name].among if f.name in SETTINGS else None
        if table is not None:
            row: Any = Literal[(*others, *table)]
            offered.append((f.name, row | None if f.default is None else row, f.default))
    return make_dataclass(kind.__name__, offered, bases=(kind,), frozen=True)


def configuration(argv: list[str], command: str, description: str) -> "Config":
    """A Config from flags; settings not given come from the recipe."""
    return configuration_and(argv, command, description, Nothing)[0]


def configuration_and(
    argv: list[str], command: str, description: str, more: type[T]
) -> tuple["Config", T]:
    """The same, and the flags of a dataclass besides, all of which have defaults."""
    from nses.experiment.settings.config import Config, changed
    from nses.experiment.settings.recipes import recipe

    @with_choices
    @dataclass(frozen=True)
    class Arguments(Config, more):
        task: Annotated[
            str,
            tyro.conf.Positional,
            tyro.conf.arg(
                help_behavior_hint="",
                metavar="TASK",
                help=TASK_HELP,
            ),
        ] = ""
        environment: ListOfText = ()
        training_environment: ListOfText = ()
        imports: Modules = ()

    def arguments(config: Config) -> Arguments:
        return Arguments(**{f.name: getattr(config, f.name) for f in fields(Config)})

    wants_help = not {"-h", "--help"}.isdisjoint(argv)
    plain = [a for a in argv if a not in ("-h", "--help")]
    if not plain and not wants_help:
        raise UsageError(f"'nses {command}' needs a task; 'nses tasks' lists the built-in ones.")
    first = parse(Arguments, plain, command, description, Arguments(task=""))
    base = recipe(first.task, first.recipe, first.algorithm)
    # Only "--help", because tyro's help omits settings that are already on the line.
    argv = ["--help"] if wants_help else argv
    given = parse(Arguments, argv, command, description, arguments(base))
    besides = {f.name: getattr(given, f.name) for f in fields(more)}  # type: ignore[arg-type]
    settings = {f.name: getattr(given, f.name) for f in fields(Config)}
    return changed(base, settings), more(**besides)
