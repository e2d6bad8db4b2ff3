"""Videos of policies, without a screen, in the same episodes that `nses evaluate` plays."""

import math
import os
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from functools import partial
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
from nses.extras import installing
from nses.rollouts.episode import Episode, GymnasiumPlayer
from nses.rollouts.foreign import generators_kept
from nses.rollouts.policies import Policy
from nses.rollouts.tasks.gymnasium import step_limit_of
from nses.rollouts.tasks.own import Brought, rendering
from nses.rollouts.tasks.task import Task

FPS = 30.0  # pictures per second, at most; and steps, if the environment does not say
FASTEST = 1000.0
MEMBERS = "members"

Listener = Callable[[int], None]  # called after each picture with the steps since the last one


@dataclass(frozen=True)
class Pace:
    """How many steps a picture stands for, and how many pictures are shown per second."""

    every: int
    rate: float


def pace_of(steps: float, fps: float | None, speed: float | None) -> Pace:
    """For an environment that makes so many `steps` a second.

    Without `fps` and `speed`, it is filmed in real time; pictures are left out until at most 30 are
    shown per second, because drawing them takes far longer than playing. `fps` alone shows each
    step.
    """
    if fps is not None and speed is None:
        return Pace(1, fps)
    steps *= 1.0 if speed is None else speed
    every = max(1, math.ceil(steps / (fps or FPS) - 1e-9))
    return Pace(every, steps / every)


EACH_STEP = partial(pace_of, fps=FPS, speed=None)


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


def ignore(steps: int) -> None:
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
    speed: float | None = None,
    max_steps: int | None = None,
    task: Brought | None = None,
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
        if episodes > 1 or seed:
            raise UsageError(f"{policy} played a single episode; omit episodes and seed.")
        past = rebuild(run, **parse_past(policy))
        start = int(past.episodes.seeds[past.candidate or 0])
        take = Take(policy, past.theta, past.moments, start, run.config.action_noise)
        elsewhere = run.config.of_candidates(run.task(task).step_limit)
        there = run if past.episodes.at_home else replace(run, config=elsewhere)
        return shoot(there, [[take]], path, fps, speed, max_steps, task, listener)
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
    return shoot(run, scenes, path, fps, speed, max_steps, task, listener)


@generators_kept()  # an environment may use the global ones
def shoot(
    run: Run,
    scenes: Sequence[Sequence[Take]],
    path: Path,
    fps: float | None = None,
    speed: float | None = None,
    max_steps: int | None = None,
    own: Brought | None = None,
    listener: Listener = ignore,
) -> Video:
    """Play one scene after the other and write every picture to the file."""
    for name, value in (("fps", fps), ("speed", speed)):
        if value is not None and not 0 < value <= FASTEST:
            raise UsageError(f"{name} must be greater than 0 and at most {FASTEST:g}, got {value}.")
    encoder()  # fails now rather than after minutes of rendering
    _quieten_pygame()
    config, task = run.config, visible(run, max_steps, own)
    policy = run.family
    note = f"{config.task} · {config.algorithm} · seed {config.seed}"
    played: list[list[tuple[str, Episode]]] = []
    pictures = 0
    target = absolute(path)
    with ExitStack() as stack:
        stack.enter_context(same_place())
        pace = partial(pace_of, fps=fps, speed=speed)
        sheets = stack.enter_context(closing(_sheets(task, policy, scenes, note, pace, played)))
        first, _, rate = next(sheets)
        write = stack.enter_context(mp4(target, (first.shape[1], first.shape[0]), rate))
        write(first)
        for picture, steps, _ in sheets:
            write(picture)
            pictures += 1
            listener(steps)
    return Video(path, played, (pictures + 1) / rate)


def _quieten_pygame() -> None:
    """It greets on the terminal, and complains about a missing screen, which it does not need."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


def visible(run: Run, max_steps: int | None = None, own: Brought | None = None) -> Task:
    """The task of a run, with an environment that renders pictures."""
    own = run.own(own)
    task = task_of(run.config, None if own is None else rendering(own))
    if own is None:
        others = (x for x in run.config.environment if not x.startswith("render_mode="))
        with suppress(UsageError):  # a Task makes its own environment, which may render anyway
            task = task_of(replace(run.config, environment=(*others, "render_mode=rgb_array")))
    limit = step_limit_of(task.step_limit, max_steps)
    return task.revised(step_limit=limit)


def frames(
    task: Task,
    policy: Policy,
    theta: NDArray[np.float32],
    moments: Moments,
    seed: int,
    action_noise: float = 0.0,
    pace: Callable[[float], Pace] = EACH_STEP,
) -> Generator[Frame, None, Episode]:
    """The pictures of an episode: after its reset, after each step that is due, and at its end."""
    player = _player(task, policy)
    try:
        environment = player.environment
        usual = _positive(environment.metadata.get("render_fps")) or FPS
        dt = _positive(getattr(environment.unwrapped, "dt", None)) or 1 / usual
        every, rate = (paced := pace(usual)).every, paced.rate
        steps = player.steps(theta, moments, seed, action_noise=action_noise)
        step, f, shown = 0, 0.0, -1
        while True:
            try:
                step, f = next(steps)
                end = None
            except StopIteration as stopped:
                end = stopped
            if step != shown and (end or step % every == 0):
                shown = step
                yield Frame(_picture(task, environment), step, f, step * dt, rate)
            if end:
                return end.value
    finally:
        player.close()


def _sheets(
    task: Task,
    policy: Policy,
    scenes: Sequence[Sequence[Take]],
    note: str,
    pace: Callable[[float], Pace],
    played: list[list[tuple[str, Episode]]],
) -> Generator[tuple[Picture, int, float], None, None]:
    """Pictures of all takes of a scene until the last take ends.

    Each comes with the steps since the last one, and with its rate per second.
    """
    for takes in scenes:
        titles, ended = [take.title for take in takes], dict[int, Episode]()
        with ExitStack() as stack:
            reels = [
                stack.enter_context(
                    closing(frames(task, policy, x.theta, x.moments, x.seed, x.action_noise, pace))
                )
                for x in takes
            ]
            shown, done = dict[int, Frame](), 0
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
                before, done = done, max(frame.step for frame in now)
                yield fill(sheet, now, titles, note), done - before, now[0].fps
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
    except (gym.error.DependencyNotInstalled, ImportError) as error:
        raise UsageError(
            f"{task.name!r} cannot be rendered: {str(error).rstrip('.')}. What Gymnasium's own "
            f"environments need for that comes with {installing('video')}."
        ) from error
    except (gym.error.Error, NotImplementedError) as error:
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
