"""Tasks and behaviors that a user brings as Python objects, and the names that find them again."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym

from nses.errors import UsageError
from nses.rollouts.behaviors import Behavior, load_attribute, parse_behavior
from nses.rollouts.plugins import defined_name
from nses.rollouts.tasks.catalog import DEFAULT_BEHAVIOR, make_task
from nses.rollouts.tasks.gymnasium import bounded, step_limit_of, told_here, watched
from nses.rollouts.tasks.task import Task

Brought = str | Task | gym.Env[Any, Any] | Callable[..., gym.Env[Any, Any]]
Seen = str | Behavior | Callable[[Any, dict[str, Any]], Any]
UNCHOSEN = parse_behavior(DEFAULT_BEHAVIOR)  # of a task whose behavior nobody chose
NEEDS_ITS_TASK = (
    "was trained on a Task object, which has to be passed again: in Python with "
    "nses.resume(run_dir, task=...) or nses.evaluate(run, task=...), on the command line with "
    "--task module:attribute. Objects in a module that can be imported are found by themselves; "
    "those of a script are not, because that would run it again."
)
HARMLESS = {"render_mode"}  # an argument of an environment that changes no episode


def importable_name(brought: Any) -> str:
    """`module:attribute` of an object that can be imported by that name, else empty.

    What a script defines has no name: to import it would run the script again.
    """
    if not isinstance(brought, Task | Behavior):
        return defined_name(brought)
    places = _places(brought)
    home = getattr(brought.make if isinstance(brought, Task) else brought.probe, "__module__", "")
    return next((x for x in places if x.startswith(f"{home}:")), places[0] if places else "")


def _places(brought: object) -> list[str]:
    """Where modules hold an object: where it is defined, and where it is imported."""
    return [
        f"{name}:{attribute}"
        for name, module in sorted(sys.modules.items())
        if name not in ("__main__", "__mp_main__") and getattr(module, "__file__", None)
        for attribute, value in list(vars(module).items())
        if value is brought
    ]


def brought_task(
    task: Brought, behavior: Seen | None, max_steps: int | None, arguments: dict[str, Any]
) -> tuple[str, str | None, Task | None]:
    """The name of a task and of its behavior, and a Task where the names would not find them."""
    kind = _kind(task)
    seen = behavior if behavior is None or isinstance(behavior, str) else importable_name(behavior)
    name = kind if isinstance(kind, str) else importable_name(kind)
    if isinstance(kind, Task):
        own = kind
    elif not isinstance(kind, str) and not name:
        own = _task_of(kind, max_steps, arguments)
    elif seen != "":
        return name, seen, None
    else:
        own = make_task(name, max_steps=max_steps, **arguments)
    if seen == "":
        assert behavior is not None
        own = own.revised(behavior=_behavior(behavior))
    return own.name, seen or None, own


def origin_of(own: Task | None) -> bool | str:
    """Whether the task is an object, and where it can be imported from if it can."""
    return own is not None and (importable_name(own) or True)


def was_chosen(own: Task | None) -> bool:
    """Whether a user has chosen the behavior of a Task that was brought."""
    return own is not None and own.behavior is not UNCHOSEN


def task_again(task: Brought, max_steps: int | None) -> Task:
    """The Task that `brought_task` made, for a run which that one has trained."""
    found = _kind(task)
    if isinstance(found, Task):
        return found
    if isinstance(found, str):
        return task_named(found)
    return _task_of(found, max_steps, {})


def task_named(name: str) -> Task:
    """The Task object that a user names as `module:attribute`."""
    found = load_attribute(name, "task")
    if isinstance(found, Task):
        return found
    raise UsageError(
        f"task {name!r} must be an nses.Task, as the one that the run was trained on, got "
        f"{type(found).__name__}."
    )


def _kind(task: Any) -> str | Task | Callable[..., gym.Env[Any, Any]]:
    """What makes the environment, if it is not a name or a Task."""
    if isinstance(task, gym.Env):
        return _type_of(task)
    made: Any = task
    if isinstance(task, str | Task) or callable(task):
        return made
    raise UsageError(
        "task must be the name of a task, a Gymnasium id, 'module:attribute', an nses.Task, or a "
        f"class or function that makes a gymnasium.Env, got {task!r}."
    )


def _type_of(environment: gym.Env[Any, Any]) -> str | Callable[..., gym.Env[Any, Any]]:
    """The id or class of an environment, if it makes the same one: every worker needs its own."""
    spec, kind = environment.spec, type(environment)
    known = None if spec is None else gym.registry.get(spec.id)
    if spec and known and not spec.additional_wrappers:
        given = {key: value for key, value in spec.kwargs.items() if key not in HARMLESS}
        if given == known.kwargs:
            return spec.id
    needed = {*inspect.signature(kind).parameters} - HARMLESS
    if needed:
        raise UsageError(
            f"every worker makes its own environment, and nobody can tell with which arguments "
            f"({', '.join(sorted(needed))}) this {kind.__name__} was made; pass a function that "
            f"makes it, as in task=lambda: {kind.__name__}(...), or its Gymnasium id."
        )
    return kind


@dataclass(frozen=True)
class Made:
    """Makes an environment by a class or function that only this object knows."""

    factory: Callable[..., gym.Env[Any, Any]]
    arguments: tuple[tuple[str, Any], ...]

    def __call__(self) -> gym.Env[Any, Any]:
        environment = self.factory(**dict(self.arguments))
        return watched(environment) if isinstance(environment, gym.Env) else environment


def _task_of(
    factory: Callable[..., gym.Env[Any, Any]], max_steps: int | None, arguments: dict[str, Any]
) -> Task:
    name = getattr(factory, "__name__", type(factory).__name__).strip("<>")
    make = Made(factory, tuple(arguments.items()))
    return bounded(Task(name, make, UNCHOSEN, step_limit_of(None, max_steps)), told_here)


def _behavior(seen: Any) -> Behavior:
    if isinstance(seen, Behavior):
        return seen
    probe: Any = seen
    if not callable(seen):
        raise UsageError(
            "behavior must be text, an nses.Behavior or a function of (observation, info), got "
            f"{seen!r}."
        )
    return Behavior(getattr(seen, "__name__", type(seen).__name__).strip("<>"), probe)


def rendering(task: Task) -> Task:
    """The task with an environment that draws pictures, if what makes it takes a render mode."""
    make = task.make
    factory, arguments = (make.factory, make.arguments) if isinstance(make, Made) else (make, ())
    try:
        asked = "render_mode" in inspect.signature(factory).parameters
    except (TypeError, ValueError):  # of code that is not Python's
        asked = False
    drawn = {**dict(arguments), "render_mode": "rgb_array"}
    return replace(task, make=Made(factory, tuple(drawn.items()))) if asked else task
