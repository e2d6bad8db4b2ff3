"""nses check: check that a task is sound, and a policy for it."""

from dataclasses import asdict, dataclass
from typing import Annotated

import tyro

from nses.cli.arguments import TASK_HELP, ListOfText, Modules, parse, terminal


@dataclass(frozen=True)
class Arguments:
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK", help=TASK_HELP)]
    behavior: str | None = None
    """What novelty is measured on, as in 'nses train'."""
    max_steps: int | None = None
    """Step limit of an episode, where the environment has none or a longer one."""
    environment: ListOfText = ()
    """Arguments of the environment, as NAME=VALUE."""
    observation: str | None = None
    """Which entries of the observation to use: KEY,KEY of a Dict, 0,1 of a Tuple, or 0:45 of a
    vector."""
    imports: Modules = ()
    """A module to import first, which may register environments; can be given several times."""
    policy_class: str | None = None
    """A network of your own to check as well, as in 'nses train'."""
    deadline: float = 300.0
    """Seconds after which the environment counts as hanging."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "check", "Check that a task is sound, in a separate process.")
    from nses.experiment.check import check
    from nses.experiment.settings.config import changed
    from nses.experiment.settings.recipes import recipe

    settings = {name: value for name, value in asdict(given).items() if name != "task"}
    config = changed(recipe(given.task, "laptop", "nsra-es"), settings)
    lines = check(config)
    terminal().print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
    return 0
