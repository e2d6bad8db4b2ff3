"""Atari games as the paper plays them: emulator, environment, player, and random play."""

import difflib
import operator
from collections.abc import Callable
from copy import copy
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np
from ale_py import Action, ALEInterface, LoggerMode, roms
from gymnasium import spaces
from numpy.typing import NDArray

from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError
from nses.rollouts.behaviors import InfoProbe, TraceRecord
from nses.rollouts.episode import SLICE, Episode, Interrupted, never
from nses.rollouts.native.network import take_in
from nses.rollouts.native.screen import SIDE, STACK, Scanner, palette_of
from nses.rollouts.policies import Policy
from nses.rollouts.tasks.chance import NOOPS, USUAL, Chance, rng_of
from nses.rollouts.tasks.games import letters
from nses.rollouts.tasks.task import Task

SKIP = 4  # frames per step
EVERY, LAST_TWO, NONE = 0, SKIP - 2, SKIP  # the first frame of a step to look at
SHAPE = (SIDE, SIDE, STACK)
NOOP, FIRE = Action.NOOP.value, Action.FIRE.value

Frames = NDArray[np.uint8]


def game_of(name: str) -> str:
    """ale-py's name of a game, however it is spelled: ms_pacman for MsPacman."""
    known = {letters(game): game for game in roms.get_all_rom_ids()}
    game = known.get(letters(name))
    if game is None:
        close = difflib.get_close_matches(letters(name), known, n=3, cutoff=0.5)
        if close:
            hint = f"Did you mean {' or '.join(known[each] for each in close)}?"
        else:
            hint = f"There are {', '.join(sorted(known.values()))}."
        raise UsageError(f"no Atari game is called {name!r}. {hint}")
    if ALEInterface.isSupportedROM(_rom_of(game)) is None:  # the emulator would end the process
        raise UsageError(f"{game!r} needs two players; choose a game for one.")
    return game


def _rom_of(game: str) -> str:
    try:
        return str(roms.get_rom_path(game))
    except OSError as error:
        raise UsageError(
            f"the ROM of {game!r} cannot be read: {error}. Unset ALE_ROMS_DIR, or reinstall "
            "ale-py: it ships all ROMs."
        ) from error


class Emulator:
    """A game, its last four grey frames and its RAM. Every episode begins in the same state."""

    def __init__(self, game: str, chance: Chance = USUAL):
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.chance = chance
        self.rng, self.last = rng_of(0), NOOP  # of this episode; the previous action
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.setInt("random_seed", 0)
        self.ale.loadROM(_rom_of(game_of(game)))
        self.actions = [action.value for action in self.ale.getMinimalActionSet()]
        # Whether an episode begins with FIRE, as in the authors' code.
        self.fires = self.actions[1] == FIRE and len(self.actions) > 2
        height, width = self.ale.getScreenDims()
        self.screens = np.empty((2, height, width), np.uint8)  # the last two
        self.screen = tuple(self.screens)
        self.scanner = Scanner(height, width)
        self.frames = np.zeros((STACK, SIDE, SIDE), np.uint8)  # the oldest first
        self.ram = np.empty(self.ale.getRAMSize(), np.uint8)
        self.over = False
        # Plain resets leak one episode into the next. So do states saved without the machine's
        # random numbers, or before the first frame. Screens are not part of a state.
        self.ale.reset_game()
        self.ale.act(NOOP)
        self.start, self.start_screen = self.ale.cloneState(include_rng=True), self.ale.getScreen()
        self._check_colors()

    def reset(self, rng: np.random.Generator) -> None:
        """Some no-ops; then, in games with FIRE, FIRE and the action after it.

        If the game ends meanwhile, it starts again. The first frame fills the whole stack.
        """
        self._start()
        self.rng, self.last = rng, NOOP
        for _ in range(self.chance.draw(rng) - 1):  # the saved start has had one already
            self.ale.act(NOOP)
            self.ale.getScreen(self.screens[0])
            if self.ale.game_over():
                self._start()
        self.screens[1] = self.screens[0]
        for index in (1, 2) if self.fires else ():
            self.step(index)
            if self.over:
                self._start()
        self.scanner.take(self.screens, self.frames)
        self.frames[:] = self.frames[-1]
        self.ale.getRAM(self.ram)

    def _start(self) -> None:
        self.ale.restoreState(self.start)
        self.screens[:] = self.start_screen
        self.over = False

    def step(self, index: int, look: int = EVERY) -> int:
        """The reward of an action held for four frames, fewer if the game ends.

        An image shows the last two. To look at no others is enough for those who do not look at
        the image of a game that is over. With NONE, all images stay as they were.
        """
        ale, action, reward = self.ale, self.actions[index], 0
        for frame in range(SKIP):
            reward += ale.act(self._executed(action) if self.chance.sticky else action)
            if frame >= look:
                ale.getScreen(self.screen[frame % 2])
            if ale.game_over():
                self.over = True
                break
        if look < NONE:
            self.scanner.take(self.screens, self.frames)
        ale.getRAM(self.ram)
        return reward

    def _executed(self, action: int) -> int:
        """The action, or the previous one if it sticks: as in ALE, but from the episode's seed."""
        if self.rng.random() >= self.chance.sticky:
            self.last = action
        return self.last

    @property
    def observation(self) -> NDArray[np.uint8]:
        """A copy of the frames, (84, 84, 4), the newest last."""
        return self.frames.transpose(1, 2, 0).copy()

    def _check_colors(self) -> None:
        shown, screen = self.ale.getScreenRGB(), self.ale.getScreen()
        if not np.array_equal(palette_of(len(screen))[screen], shown):
            raise RuntimeError(
                "ale-py shows colors that nses does not know; install the version of ale-py in "
                "constraints.txt, and please report this."
            )


class AtariEnv(gym.Env[NDArray[np.uint8], Any]):
    """A game with the usual preprocessing, all rewards and all lives.

    Observations are the last four grey images, 84 × 84, the newest last; `info["ram"]` is the
    machine's memory. An episode begins with `least_noops` to `noops` frames without an action;
    `sticky` is the probability that a frame repeats the previous action.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 60 // SKIP}

    def __init__(
        self,
        game: str = "frostbite",
        noops: int = NOOPS,
        render_mode: str | None = None,
        *,
        least_noops: int = 1,
        sticky: float = 0.0,
    ):
        self.emulator = Emulator(game, Chance(noops, least_noops, sticky))
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0, 255, SHAPE, np.uint8)
        self.action_space = spaces.Discrete(len(self.emulator.actions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.emulator.reset(self.np_random)
        return self.emulator.observation, self._info()

    def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        reward = self.emulator.step(self._index(action))
        over = self.emulator.over
        return self.emulator.observation, float(reward), over, False, self._info()

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        return self.emulator.ale.getScreenRGB() if self.render_mode == "rgb_array" else None

    def _index(self, action: Any) -> int:
        try:
            index = operator.index(action)
        except TypeError:
            index = -1
        if not 0 <= index < len(self.emulator.actions):
            raise UsageError(
                f"an action must be a whole number from 0 to {len(self.emulator.actions) - 1}, "
                f"got {action!r}."
            )
        return index

    def _info(self) -> dict[str, Any]:
        ale = self.emulator.ale
        return {
            "ram": self.emulator.ram.copy(),
            "lives": ale.lives(),
            "episode_frame_number": ale.getEpisodeFrameNumber(),
        }


@runtime_checkable
class SeesFrames(Protocol):
    """A policy that takes the emulator's frames as they are: uint8 (4, 84, 84), oldest first."""

    @property
    def observation_size(self) -> int: ...

    def init(self, rng: np.random.Generator) -> NDArray[np.float32]: ...

    def bind_frames(
        self, theta: NDArray[np.float32]
    ) -> Callable[[Frames], NDArray[np.float32]]: ...


class AtariPlayer:
    """Plays without an environment between emulator and policy: the same episodes, faster."""

    def __init__(self, task: Task, policy: SeesFrames, game: str, chance: Chance):
        self.task, self.policy = task, policy
        self.should_stop: Callable[[], bool] = never
        self.emulator = Emulator(game, chance)
        theta = policy.init(generator(0, 0, 0, Purpose.POLICY_INIT))
        y, choices = policy.bind_frames(theta)(self.emulator.frames), len(self.emulator.actions)
        if y.shape != (choices,):
            raise UsageError(
                f"the policy must return {choices} numbers, one per action of the game, got an "
                f"output of shape {y.shape}."
            )

    def play(
        self,
        theta: NDArray[np.float32],
        moments: Moments,
        seed: int,
        *,
        action_noise: float = 0.0,
        contributes: bool = False,
    ) -> Episode:
        """Ignores action noise, which is for continuous actions; the policy normalizes itself."""
        act, emulator, limit = self.policy.bind_frames(theta), self.emulator, self.task.step_limit
        record, info = self.task.behavior.record(limit), {"ram": emulator.ram}
        frames, length, total = emulator.frames, 0, 0
        sums = np.zeros((2, self.policy.observation_size if contributes else 0))

        emulator.reset(rng_of(seed))
        while not emulator.over and length < limit:
            if contributes:
                take_in(emulator.observation.reshape(-1).astype(np.float64), sums, True)
            total += emulator.step(int(act(frames).argmax()), LAST_TWO)
            length += 1
            if isinstance(record, TraceRecord):
                record.add(emulator.ram)  # all that its probe would see
            elif record.every_step:
                record.see(None, info)
            if not length % SLICE and self.should_stop():
                raise Interrupted
        b = record.result(None, info)
        return Episode(float(total), b, length, Moments(length, *sums) if contributes else None)

    def warm_up(self) -> None:
        """Plays one step; the next episode starts afresh."""
        short = copy(self)
        short.task = self.task.revised(step_limit=1)
        short.play(self.policy.init(generator(0, 0, 0, Purpose.POLICY_INIT)), initial(0), seed=0)

    def close(self) -> None:
        """Nothing to release."""


def native(task: Task, policy: Policy, game: str, chance: Chance) -> AtariPlayer | None:
    """The direct player, if the policy sees frames and the behavior reads nothing but RAM."""
    if not isinstance(policy, SeesFrames) or task.behavior.probe != InfoProbe(("ram",)):
        return None
    fits = policy.observation_size == np.prod(SHAPE)
    return AtariPlayer(task, policy, game, chance) if fits else None
