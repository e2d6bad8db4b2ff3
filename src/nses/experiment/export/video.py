"""Videos of policies, without a screen, in the same episodes that `nses evaluate` plays."""

import math
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.core.seeding import Purpose, check_fresh, episode_seeds
from nses.errors import UsageError
from nses.experiment.export.captions import Frame, fill, sheet_of
from nses.experiment.export.mp4 import Picture, encoder, mp4
from nses.experiment.runs.place import absolute, same_place
from nses.experiment.runs.replay import parse_past, rebuild
from nses.experiment.runs.run import Run
from nses.experiment.settings.build import task_of
from nses.rollouts.episode import Episode, GymnasiumPlayer
from nses.rollouts.foreign import generators_kept
from nses.rollouts.policies import Policy
from nses.rollouts.tasks.gymnasium import step_limit_of
from nses.rollouts.tasks.task import Task

FPS = 30.0  # if the environment does not say
FASTEST = 1000.0
MEMBERS = "members"

Listener = Callable[[], None]  # called after each picture


@dataclass(frozen=True, eq=False)
class Take:
    """An episode to film."""

    title: str
    theta: NDArray[np.float32]
    moments: Moments
    seed: int
    action_noise: float = 0.0


@dataclass(frozen=True, eq=False)
class Video:
    """A file and its content: one scene after the other, the takes of a scene side by side."""

    path: Path
    scenes: list[list[tuple[str, Episode]]]
    seconds: float


def ignore() -> None:
    """The default listener: does nothing."""


def render(
    run: Run,
    policy: str = "best",
    *,
    episodes: int = 1,
    seed: int = 0,
    grid: bool = False,
    output: str | Path | None = None,
    fps: float | None = None,
    max_steps: int | None = None,
    task: Task | None = None,
    listener: Listener = ignore,
) -> Video:
    """Film the first fresh episodes of this seed; with `grid`, of all members side by side.

    A past candidate (generation:G:candidate:I) is filmed in the one episode that it played.
    """
    check_fresh(episodes, seed)
    if grid and policy != "best":
        raise UsageError(f"a grid shows all members; omit the policy, got {policy!r}.")
    name = MEMBERS if grid else policy.replace(":", "-")
    path = run.path / f"{name}.mp4" if output is None else Path(output)
    if "candidate" in policy:
        past = rebuild(run, **parse_past(policy))
        assert past.candidate is not None
        seed = int(past.episodes.seeds[past.candidate])
        take = Take(policy, past.theta, past.moments, seed, run.config.action_noise)
        return shoot(run, [[take]], path, fps, max_steps, task, listener)
    if grid:
        members = enumerate(run.state.members)
        shown = [(f"member {i}", member.theta, member.moments) for i, member in members]
    else:
        shown = [(policy, *run.parameters(policy))]
    seeds = episode_seeds(run.config.seed, seed, 0, Purpose.FRESH_EPISODES, episodes).tolist()
    which = [f", episode {i + 1} of {episodes}" if episodes > 1 else "" for i in range(episodes)]
    scenes = [
        [Take(title + number, theta, moments, start) for title, theta, moments in shown]
        for number, start in zip(which, seeds, strict=True)
    ]
    return shoot(run, scenes, path, fps, max_steps, task, listener)


@generators_kept()  # an environment may use the global ones
def shoot(
    run: Run,
    scenes: Sequence[Sequence[Take]],
    path: Path,
    fps: float | None = None,
    max_steps: int | None = None,
    own: Task | None = None,
    listener: Listener = ignore,
) -> Video:
    """Play one scene after the other and write every picture to the file."""
    if fps is not None and not 0 < fps <= FASTEST:
        raise UsageError(f"fps must be greater than 0 and at most {FASTEST:g}, got {fps}.")
    encoder()  # fails now rather than after minutes of rendering
    config, task = run.config, visible(run, max_steps, own)
    policy = run.family
    note = f"{config.task} · {config.algorithm} · seed {config.seed}"
    played: list[list[tuple[str, Episode]]] = []
    pictures = 0
    target = absolute(path)
    with ExitStack() as stack:
        stack.enter_context(same_place())
        sheets = stack.enter_context(closing(_sheets(task, policy, scenes, note, played)))
        first, rate = next(sheets)
        rate = fps or rate
        write = stack.enter_context(mp4(target, (first.shape[1], first.shape[0]), rate))
        write(first)
        for picture, _ in sheets:
            write(picture)
            pictures += 1
            listener()
    return Video(path, played, (pictures + 1) / rate)


def visible(run: Run, max_steps: int | None = None, own: Task | None = None) -> Task:
    """The task of a run, with an environment that renders pictures."""
    task = run.task(own)
    if own is None:
        others = (x for x in run.config.environment if not x.startswith("render_mode="))
        with suppress(UsageError):  # a Task makes its own environment, which may render anyway
            task = task_of(replace(run.config, environment=(*others, "render_mode=rgb_array")))
    limit = step_limit_of(task.name, task.step_limit, max_steps)
    return task.revised(step_limit=limit)


def frames(
    task: Task,
    policy: Policy,
    theta: NDArray[np.float32],
    moments: Moments,
    seed: int,
    action_noise: float = 0.0,
) -> Generator[Frame, None, Episode]:
    """The pictures of an episode: after its reset and after each step."""
    player = _player(task, policy)
    try:
        environment = player.environment
        fps = _positive(environment.metadata.get("render_fps")) or FPS
        dt = _positive(getattr(environment.unwrapped, "dt", None)) or 1 / fps
        steps = player.steps(theta, moments, seed, action_noise=action_noise)
        while True:
            try:
                step, f = next(steps)
            except StopIteration as end:
                return end.value
            yield Frame(_picture(task, environment), step, f, step * dt, fps)
    finally:
        player.close()


def _sheets(
    task: Task,
    policy: Policy,
    scenes: Sequence[Sequence[Take]],
    note: str,
    played: list[list[tuple[str, Episode]]],
) -> Generator[tuple[Picture, float], None, None]:
    """Pictures of all takes of a scene until the last take ends, each with its rate per second."""
    for takes in scenes:
        titles, ended = [take.title for take in takes], dict[int, Episode]()
        with ExitStack() as stack:
            reels = [
                stack.enter_context(
                    closing(frames(task, policy, x.theta, x.moments, x.seed, x.action_noise))
                )
                for x in takes
            ]
            shown = dict[int, Frame]()
            while True:
                for i, reel in enumerate(reels):
                    try:
                        shown[i] = next(reel)
                    except StopIteration as end:  # raised again at every later picture
                        ended.setdefault(i, end.value)
                if len(ended) == len(reels):
                    break
                now = [shown[i] for i in range(len(reels))]
                sheet = sheet_of(now[0].picture.shape, len(now))
                yield fill(sheet, now, titles, note), now[0].fps
        played.append([(title, ended[i]) for i, title in enumerate(titles)])


def _player(task: Task, policy: Policy) -> GymnasiumPlayer:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the same problem is an error below
            return GymnasiumPlayer(task, policy)
    except (TypeError, ValueError) as error:
        if "render_mode" in str(error):
            raise _invisible(task, error) from error
        raise


def _picture(task: Task, environment: gym.Env[Any, Any]) -> Picture:
    try:
        picture = environment.render()
    except (gym.error.Error, NotImplementedError, ImportError) as error:
        raise _invisible(task, error) from error
    if isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.ndim == 3:
        return picture
    raise _invisible(task, f"render() returned {type(picture).__name__}")


def _invisible(task: Task, reason: object) -> UsageError:
    return UsageError(
        f"{task.name!r} cannot be rendered: {reason or 'it has no render()'}. Its environment must "
        "take render_mode='rgb_array', and render() must return uint8 (height, width, 3)."
    )


def _positive(value: Any) -> float | None:
    """A number from an environment, if it is positive and finite."""
    if isinstance(value, int | float) and math.isfinite(value) and value > 0:
        return float(value)
    return None
