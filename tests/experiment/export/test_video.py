"""Videos: the episodes of `evaluate`, seen, in files that browsers play."""

import re
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

import nses
from nses.cli import main
from nses.core.seeding import Purpose, episode_seeds
from nses.experiment.evaluate import evaluate
from nses.experiment.export.video import Take, frames, pace_of, render, shoot, visible
from nses.experiment.runs.replay import rebuild
from nses.experiment.runs.storage import StorageFailed
from nses.experiment.settings.build import policy_of
from nses.rollouts.episode import player
from nses.rollouts.tasks.camera import Camera
from nses.rollouts.tasks.catalog import make_task
from tables import small_tables

_small_tables = pytest.fixture(small_tables)

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the extra video")

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False}


def pictures_of(path):
    """What ffmpeg says of a file, and its pictures, (n, height, width, 3)."""
    argv = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo"]
    argv += ["-pix_fmt", "rgb24", "-fps_mode", "passthrough", "-"]
    done = subprocess.run(argv, capture_output=True, check=True)
    said = re.search(
        r"Video: (\w+) .*?, (\w+)\(.*?, (\d+)x(\d+).*?, ([\d.]+) fps", done.stderr.decode()
    )
    codec, colors, width, height, fps = said.groups()
    shown = np.frombuffer(done.stdout, np.uint8).reshape(-1, int(height), int(width), 3)
    facts = {"codec": codec, "pix_fmt": colors, "size": shown.shape[2:0:-1], "fps": float(fps)}
    return facts, shown


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("point") / "run"
    return nses.train("point-trap", run_dir=str(path), seed=1, max_steps=40, **SMALL)


def test_the_video_is_the_episode_that_evaluate_plays(run):
    video, tested = render(run, seed=3), evaluate(run, episodes=1, seed=3)
    ((title, episode),) = video.scenes[0]
    assert (episode.f, episode.length) == (tested.returns[0], tested.lengths[0])
    np.testing.assert_array_equal(episode.behavior, tested.behaviors[0])
    assert (title, video.path) == ("best", run.path / "best.mp4")


def test_the_file_is_h264_that_browsers_play_with_a_picture_per_step_and_one_before(run):
    video = render(run, "member:1", max_steps=9)
    assert video.path == run.path / "member-1.mp4"
    facts, shown = pictures_of(video.path)
    assert facts["codec"] == "h264"
    assert facts["pix_fmt"] == "yuv420p"
    assert facts["fps"] == 30
    assert len(shown) == 10
    assert video.seconds == pytest.approx(10 / 30)
    assert b"moov" in video.path.read_bytes()[:100]  # first, so that it plays while it loads
    assert not list(run.path.glob("*.writing"))


def test_several_episodes_follow_each_other_and_fps_is_what_is_asked_for(run, tmp_path):
    video = render(run, episodes=2, fps=12.5, max_steps=5, output=tmp_path / "two.mp4")
    facts, shown = pictures_of(tmp_path / "two.mp4")
    assert (facts["fps"], len(shown)) == (12.5, 12)
    titles = [title for scene in video.scenes for title, _ in scene]
    assert titles == ["best, episode 1 of 2", "best, episode 2 of 2"]
    first, second = (scene[0][1].f for scene in video.scenes)
    assert first != second


@pytest.mark.parametrize(
    ("steps", "fps", "speed", "every", "rate"),
    [
        (30, None, None, 1, 30),
        (15, None, None, 1, 15),
        (67, None, None, 3, 67 / 3),
        (125, None, None, 5, 25),
        (125, 60, None, 1, 60),  # each step, as slowly as that is
        (30, None, 4, 4, 30),
        (30, None, 0.5, 1, 15),
        (30, 10, 1, 3, 10),
    ],
)
def test_pictures_are_left_out_until_30_are_enough_for_a_second(steps, fps, speed, every, rate):
    pace = pace_of(steps, fps, speed)
    assert (pace.every, pace.rate) == (every, pytest.approx(rate))


def test_a_fast_video_has_fewer_pictures_of_the_same_episode_with_its_first_and_last(run, tmp_path):
    counted = []
    whole = render(run, max_steps=9, output=tmp_path / "a.mp4")
    fast = render(run, max_steps=9, speed=4, output=tmp_path / "b.mp4", listener=counted.append)
    assert whole.scenes[0][0][1].f == fast.scenes[0][0][1].f
    facts, shown = pictures_of(tmp_path / "b.mp4")
    assert (facts["fps"], len(shown)) == (30, 4)  # steps 0, 4, 8 and 9
    assert counted == [4, 4, 1]
    assert fast.seconds == pytest.approx(4 / 30)
    first, last = (pictures_of(tmp_path / "a.mp4")[1][i].astype(int) for i in (0, -1))
    assert np.abs(shown[0] - first).mean() < 2
    assert np.abs(shown[-1] - last).mean() < 2


def test_a_grid_shows_all_members_each_in_its_own_episode(run):
    video = render(run, grid=True, max_steps=6)
    assert video.path == run.path / "members.mp4"
    ((first, second),) = video.scenes
    assert (first[0], second[0]) == ("member 0", "member 1")
    assert first[1].f != second[1].f
    assert pictures_of(video.path)[0]["size"] == (2 * 640 + 8, 640 + 3 * 26)
    with pytest.raises(ValueError, match="omit the policy"):
        render(run, "final", grid=True)


def test_a_perturbed_episode_is_filmed_with_its_noise(run, tmp_path):
    theta, moments = run.parameters("member:0")
    take = Take("candidate 3", theta, moments, 77, action_noise=0.5)
    ((_, episode),) = shoot(run, [[take]], tmp_path / "a.mp4").scenes[0]
    task, policy = run.task(), policy_of(run.config, run.facts)
    played = player(task, policy).play(theta, moments, 77, action_noise=0.5)
    assert (episode.f, episode.length) == (played.f, played.length)
    assert episode.f != player(task, policy).play(theta, moments, 77).f


def test_a_candidate_of_the_past_is_seen_in_the_very_episode_that_it_played(run):
    video = render(run, "generation:4:candidate:7")
    assert video.path == run.path / "generation-4-candidate-7.mp4"
    logged = rebuild(run, 4, candidate=7).logged
    assert video.scenes[0][0][1].f == logged
    with pytest.raises(ValueError, match="played a single episode; omit episodes"):
        render(run, "generation:4:candidate:7", episodes=2)


def test_frames_tell_step_return_and_seconds_of_simulation(run):
    theta, moments = run.parameters()
    task, policy = visible(run, 4), policy_of(run.config, run.facts)
    seen = list(frames(task, policy, theta, moments, 5))
    assert [frame.step for frame in seen] == [0, 1, 2, 3, 4]
    assert [frame.seconds for frame in seen] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    short = run.task().revised(step_limit=4)
    assert seen[-1].f == player(short, policy).play(theta, moments, 5).f
    assert seen[0].f == 0.0


def test_the_episode_that_ends_first_stays_visible(tmp_path):
    run = nses.train(
        f"{__name__}:Brief", run_dir=str(tmp_path / "run"), max_steps=9, seed=0, **SMALL
    )
    video = render(run, episodes=1, grid=True)
    lengths = [episode.length for _, episode in video.scenes[0]]
    assert sorted(lengths) == [3, 9]
    shown, brief = pictures_of(video.path)[1], lengths.index(3)
    assert len(shown) == 10
    levels = shown[-1, 5, 5 + 416 * np.arange(2)].mean(axis=1)
    assert abs(levels[brief] - 60) < 5
    assert abs(levels[1 - brief] - 180) < 5


class Brief(gym.Env):
    """Ends after a number of steps that its policy chooses, and shows how many there were."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.ones(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.ones(1, np.float32), float(action[0]), action[0] > 0 and self.steps > 2, False, {}

    def render(self):
        return np.full((12, 12, 3), 20 * self.steps, np.uint8)


class Unseen(Brief):
    metadata = {"render_modes": []}

    def __init__(self):
        super().__init__()


class Broken(Brief):
    def render(self):
        return "a text"


class Abstract(Brief):
    def render(self):
        raise NotImplementedError


class Undrawn(Brief):
    def render(self):
        raise gym.error.DependencyNotInstalled("pygame is not installed")


def test_what_drawing_needs_comes_with_the_extra(tmp_path):
    run = nses.train(f"{__name__}:Undrawn", run_dir=str(tmp_path / "run"), max_steps=9, **SMALL)
    with pytest.raises(
        ValueError, match=r"pygame is not installed\. .* pip install 'nses\[video\]'"
    ):
        render(run)


def test_an_environment_that_pygame_draws_is_filmed_without_its_greeting(tmp_path):
    pytest.importorskip("pygame")
    settings = {**SMALL, "max_steps": 5, "n": 4, "generations": 1}
    run = nses.train("CartPole-v1", run_dir=str(tmp_path / "run"), **settings)
    argv = [sys.executable, "-m", "nses", "render", str(run.path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["best", "video"]
    facts, shown = pictures_of(run.path / "best.mp4")
    assert (facts["fps"], len(shown)) == (25, 4)  # of 50 steps a second: 0, 2, 4 and 5


@pytest.mark.parametrize("name", ["Unseen", "Broken", "Abstract"])
def test_an_environment_without_pictures_is_a_clear_error_and_leaves_no_file(name, tmp_path):
    run = nses.train(f"{__name__}:{name}", run_dir=str(tmp_path / "run"), max_steps=9, **SMALL)
    with pytest.raises(ValueError, match=rf"{name}' cannot be rendered.*render_mode='rgb_array'"):
        render(run)
    assert not list(run.path.glob("*mp4*"))


def test_a_task_object_has_to_be_passed_again(tmp_path):
    task = make_task(f"{__name__}:Brief", max_steps=5)
    run = nses.train(task, run_dir=str(tmp_path / "run"), **SMALL)
    with pytest.raises(ValueError, match="has to be passed again"):
        render(nses.load(run.path))
    assert render(nses.load(run.path), task=task).scenes[0][0][1].length > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"episodes": 0}, "episodes must be from 1 to"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"fps": 0.0}, "fps must be greater than 0"),
        ({"fps": float("nan")}, "fps must be greater than 0"),
        ({"speed": -1.0}, "speed must be greater than 0"),
        ({"max_steps": 0}, "max_steps must be at least 1"),
        ({"policy": "worst"}, "policy must be best"),
    ],
)
def test_bad_arguments_are_refused(run, settings, message):
    with pytest.raises(ValueError, match=message):
        render(run, **settings)


def test_without_the_extra_the_message_names_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ValueError, match=r"pip install 'nses\[video\]'"):
        render(run)


def test_a_directory_that_is_missing_is_a_storage_error(run, tmp_path):
    with pytest.raises(StorageFailed, match="could not write"):
        render(run, output=tmp_path / "missing" / "a.mp4", max_steps=2)


def test_nothing_but_our_own_words_reaches_the_terminal(run, capfd):
    assert main(["render", str(run.path), "--max-steps", "3", "--grid"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert [line.split()[0] for line in out.splitlines()] == ["member", "member", "video"]
    assert "members.mp4 (0:00, 0.0 MB)" in out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["swimmer-trap", "HalfCheetah-v5"])
def test_bodies_are_filmed_as_evaluate_plays_them(name, tmp_path, capfd):
    run = nses.train(name, run_dir=str(tmp_path / "run"), max_steps=15, n=4, generations=1, **SMALL)
    try:
        Camera(make_task("swimmer-trap").make().unwrapped.model, 5.0).close()
    except ValueError as error:
        pytest.skip(str(error))
    capfd.readouterr()
    episode, tested = render(run).scenes[0][0][1], evaluate(run, episodes=1)
    assert (episode.f, episode.length) == (tested.returns[0], tested.lengths[0])
    shown = pictures_of(run.path / "best.mp4")[1]
    assert len(shown) == 16
    assert (np.abs(shown[0].astype(int) - shown[-1])[:480] > 30).any(axis=2).mean() > 0.005
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_what_mujoco_says_of_a_model_reaches_neither_terminal_nor_directory(tmp_path):
    settings = {**SMALL, "max_steps": 3, "n": 4, "generations": 1}
    run = nses.train("HalfCheetah-v5", run_dir=str(tmp_path / "run"), **settings)
    (tmp_path / "here").mkdir()
    argv = [sys.executable, "-m", "nses", "render", str(run.path)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path / "here", check=False)
    if "pictures need OpenGL" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["best", "video"]
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("_small_tables")
def test_atari_is_filmed_as_evaluate_plays_it(tmp_path):
    pytest.importorskip("ale_py")
    settings = {**SMALL, "n": 4, "generations": 1, "max_steps": 60, "reference": 4}
    run = nses.train("atari:freeway", run_dir=str(tmp_path / "run"), **settings)
    episode, tested = render(run).scenes[0][0][1], evaluate(run, episodes=1)
    assert (episode.f, episode.length) == (tested.returns[0], tested.lengths[0])
    np.testing.assert_array_equal(episode.behavior, tested.behaviors)
    facts, shown = pictures_of(run.path / "best.mp4")
    assert (facts["fps"], facts["size"], len(shown)) == (15, (480, 690), 61)


@pytest.mark.slow
def test_a_perturbed_body_is_filmed_with_its_noise_beside_another_simulator(tmp_path):
    settings = {**SMALL, "n": 4, "generations": 1, "max_steps": 15}
    run = nses.train("swimmer-trap", run_dir=str(tmp_path / "run"), **settings)
    theta, moments = run.parameters("final")
    seed = int(episode_seeds(0, 1, 0, Purpose.EPISODE, 1)[0])
    other = player(run.task(), policy_of(run.config, run.facts))
    take = Take("a candidate", theta, moments, seed, action_noise=0.01)
    try:
        ((_, episode),) = shoot(run, [[take]], tmp_path / "a.mp4").scenes[0]
    except ValueError as error:
        pytest.skip(str(error))
    played = other.play(theta, moments, seed, action_noise=0.01)
    assert (episode.f, episode.length) == (played.f, played.length)
