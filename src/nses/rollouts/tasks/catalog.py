"""Tasks by name: the built-in ones, any Gymnasium id, or a user's own `module:attribute`."""

import re
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import partial
from typing import Any

from nses.errors import UsageError
from nses.rollouts.behaviors import PLACE, Behavior, load_attribute, parse_behavior
from nses.rollouts.episode import Player
from nses.rollouts.policies import Policy
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks import gymnasium, point
from nses.rollouts.tasks.adapted import Adapted, telling
from nses.rollouts.tasks.bodies import BODIES, BODY_TASKS
from nses.rollouts.tasks.chance import Chance
from nses.rollouts.tasks.physics import OPTIONS
from nses.rollouts.tasks.register import register_environments
from nses.rollouts.tasks.task import Task
from nses.rollouts.tasks.trap import trap_of

DEFAULT_BEHAVIOR = "final-observation"
POINTS = {"point": "NSES/Point-v0", "point-trap": "NSES/PointTrap-v0"}
VECTOR_DISTANCE, TRACE_DISTANCE = "squared-euclidean", "ram"
ATARI = "atari:"  # followed by a game: ale-py's name for it, or another spelling
PAPER_GAMES = (
    *("alien", "amidar", "bank_heist", "beam_rider", "freeway", "frostbite"),
    *("gravitar", "montezuma_revenge", "ms_pacman", "qbert", "seaquest", "zaxxon"),
)


def make_task(
    name: str,
    /,  # an environment may have an argument of this name
    behavior: str | Behavior | None = None,
    *,
    distance: str | None = None,
    max_steps: int | None = None,
    **arguments: Any,
) -> Task:
    """The task called `name`; `arguments` go to its environment.

    Without a behavior, a built-in task uses the paper's and any other the whole last observation.
    Without a distance, it is one that fits the behavior. An environment that is registered without
    a step limit is made once, to ask for it, unless max_steps is given.
    """
    task = named_task(name, behavior, distance, max_steps, arguments)
    return gymnasium.bounded(telling(task), gymnasium.told_here)


def named_task(
    name: str,
    behavior: str | Behavior | None,
    distance: str | None,
    max_steps: int | None,
    arguments: dict[str, Any],
) -> Task:
    """The same before `telling` and `gymnasium.bounded`: the step limit may be UNKNOWN."""
    chosen = parse_behavior(behavior) if isinstance(behavior, str) else behavior
    if name in SHIPPED:
        task = SHIPPED[name](arguments, max_steps)
    elif name.startswith(ATARI):
        task = _atari(name, arguments, max_steps)
    elif ":" in name and not re.search(r"-v\d+$", name):  # as in gymnasium.make("module:Id-v0")
        task = _own(name, chosen, arguments, max_steps)
    else:
        task = _registered(name, arguments, max_steps)
    if distance is None and chosen is not None:
        distance = _distance(task, chosen)
    return task.revised(behavior=chosen, distance=distance)


def is_shipped(name: str) -> bool:
    """Whether a task of this name is a built-in one."""
    return name in SHIPPED or name.startswith(ATARI)


def default_behavior(name: str) -> str:
    """The behavior of a task without `--behavior`, as far as its name tells."""
    if name in SHIPPED:
        return PLACE
    return "ram" if name.startswith(ATARI) else DEFAULT_BEHAVIOR


def _distance(task: Task, behavior: Behavior) -> str:
    """The task's own distance, unless one of its behavior and the new one is a trace."""
    trace = behavior.summary == "trace"
    if trace == (task.behavior.summary == "trace"):
        return task.distance
    return TRACE_DISTANCE if trace else VECTOR_DISTANCE


def _point(name: str, identifier: str, arguments: dict[str, Any], max_steps: int | None) -> Task:
    spec = gymnasium.spec_of(identifier)
    settings = {**spec.kwargs, **arguments}
    half_width = settings.get("half_width", point.HALF_WIDTH)
    known = set(settings) <= {"half_width"}  # what the compiled loop knows how to do
    return Task(
        name=name,
        make=partial(gymnasium.make_environment, spec, arguments),
        behavior=parse_behavior(PLACE),
        step_limit=gymnasium.step_limit_of(point.STEPS, max_steps),
        goal=None if half_width is None else point.OUTSIDE,
        native=partial(point.native, half_width=half_width) if known else None,
    )


def _body(name: str, identifier: str, arguments: dict[str, Any], max_steps: int | None) -> Task:
    """A MuJoCo body. MuJoCo itself is imported when its environment is made."""
    spec = gymnasium.spec_of(identifier)
    settings = {**spec.kwargs, **arguments}
    trap = trap_of(settings.get("trap"))
    # What the compiled loop knows how to do:
    known = set(settings) <= {"body", "reward", "trap", "left_hip", *OPTIONS}
    task = Task(
        name=name,
        make=partial(gymnasium.make_environment, spec, arguments),
        behavior=parse_behavior(PLACE),
        step_limit=gymnasium.step_limit_of(spec.max_episode_steps, max_steps),
        goal=trap.outside if trap and settings["reward"] == "forward" else None,
        native=partial(_body_native, arguments=settings) if known else None,
    )
    return task.revised(variations=_body_variations(task, settings, arguments, max_steps))


def _body_variations(
    task: Task, settings: dict[str, Any], arguments: dict[str, Any], max_steps: int | None
) -> dict[str, Task]:
    """The task as it is without options, if it is simulated in another way."""
    body = BODIES.get(str(settings["body"]))
    own = body.simulation.other_than(arguments) if body else {}
    if not own:
        return {}
    words = ", ".join(f"{option} {value}" for option, value in own.items())
    rest = {name: x for name, x in arguments.items() if name not in OPTIONS}
    return {words: SHIPPED[task.name](rest, max_steps)}


def _body_native(task: Task, policy: Policy, arguments: dict[str, Any]) -> Player | None:
    """The compiled loop, if the policy is an MLP and the behavior the one it knows."""
    if type(policy) is not MLP or not task.behavior.same_as(parse_behavior(PLACE)):
        return None
    from nses.rollouts.tasks import mujoco

    keys = task.make.keys if isinstance(task.make, Adapted) else ()
    return mujoco.native(task, policy, arguments, keys)


def _atari(name: str, arguments: dict[str, Any], max_steps: int | None) -> Task:
    """An Atari game. ale-py is imported only here, since it is an extra."""
    gymnasium.check_extra(name)
    from nses.rollouts.tasks import atari

    if "game" in arguments:
        raise UsageError(f"the game is part of the name; write {ATARI}{arguments['game']}.")
    game, spec = atari.game_of(name.removeprefix(ATARI)), gymnasium.spec_of("NSES/Atari-v0")
    task = Task(
        name=ATARI + game,
        make=partial(gymnasium.make_environment, spec, {**arguments, "game": game}),
        behavior=parse_behavior("ram"),
        step_limit=gymnasium.step_limit_of(spec.max_episode_steps, max_steps),
        distance=TRACE_DISTANCE,
    )
    if not set(arguments) <= {field.name for field in fields(Chance)}:
        return task  # the player does not know other arguments
    chance = Chance(**arguments)
    others = chance.variations().items()
    return task.revised(
        native=partial(atari.native, game=game, chance=chance),
        starts=chance.starts(),
        variations={kind: _atari(name, asdict(other), max_steps) for kind, other in others},
    )


def _registered(name: str, arguments: dict[str, Any], max_steps: int | None) -> Task:
    """An environment by its id, which may come after the module that registers it."""
    spec = gymnasium.spec_of(name, [*SHIPPED, *(ATARI + game for game in PAPER_GAMES)])
    limit = gymnasium.step_limit_of(spec.max_episode_steps, max_steps)
    make: Callable[[], Any] = partial(gymnasium.make_environment, spec, arguments)
    module, _, _ = name.rpartition(":")
    if module:
        make = Adapted(make, modules=(module,))
    return Task(name, make, parse_behavior(DEFAULT_BEHAVIOR), limit, goal=spec.reward_threshold)


def _own(
    name: str, behavior: Behavior | None, arguments: dict[str, Any], max_steps: int | None
) -> Task:
    """A user's Task, or a function or class that makes a Gymnasium environment."""
    found = load_attribute(name, "task")
    if isinstance(found, Task):
        if arguments:
            raise UsageError(
                f"task {name!r} makes its environment itself and takes no arguments for it, "
                f"got {', '.join(arguments)}."
            )
        limit = gymnasium.step_limit_of(found.step_limit, max_steps)
        return found.revised(step_limit=limit)
    if not callable(found):
        raise UsageError(
            f"task {name!r} must be an nses.Task or make a Gymnasium environment, "
            f"got {type(found).__name__}."
        )
    make = partial(gymnasium.make_own, name, arguments)
    limit = gymnasium.step_limit_of(None, max_steps)
    return Task(name, make, behavior or parse_behavior(DEFAULT_BEHAVIOR), limit)


SHIPPED: dict[str, Callable[[dict[str, Any], int | None], Task]] = {
    **{name: partial(_point, name, identifier) for name, identifier in POINTS.items()},
    **{name: partial(_body, name, task.identifier) for name, task in BODY_TASKS.items()},
}

register_environments()
