import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from nses.experiment.analysis.planes import GENERATION, Plane, trail_of
from nses.experiment.analysis.scenes import built_in_scene
from nses.experiment.analysis.stories import story_of
from nses.experiment.settings.recipes import recipe
from nses.experiment.showing.drawing import GOAL, WALL
from nses.experiment.showing.overhead import overhead
from nses.rollouts.tasks.scene import Scene
from pretended import make_run

TRAP = recipe("point-trap", "laptop", "es")


@pytest.fixture
def run_of(tmp_path):
    """Makes the story of a run that went to these places."""

    def make(name, behaviors, members=1, generations=None):
        scores = range(1, len(behaviors) + 1)
        settings = {"generations": generations, "members": members, "behaviors": behaviors}
        settings["algorithm"] = "nsr-es"
        return story_of(make_run(tmp_path / name, scores, **settings))

    return make


def spiral(length):
    t = np.linspace(0, 9, length)
    return np.stack([2 * t * np.cos(t), 2 * t * np.sin(t)], axis=1).tolist()


def share_of(color, image):
    """Which part of an image has exactly this colour."""
    return float(np.isclose(image, to_rgb(color), atol=0.5 / 255).all(axis=-1).mean())


PLACES = Plane(0, 1)


def draw(runs, scene, path, plane=PLACES):
    overhead(runs, [scene] * len(runs), plane, path)
    return imread(path)[..., :3]


def test_the_picture_is_a_png_of_sane_size_with_a_pdf_beside_it(run_of, tmp_path):
    runs = {
        name: [run_of(f"{name}{seed}", spiral(50), 5) for seed in range(5)]
        for name in ("es", "ns-es", "nsr-es", "nsra-es")
    }
    height, width, _ = draw(runs, built_in_scene(TRAP), tmp_path / "overhead.png").shape
    assert 1400 < width < 1800
    assert 1000 < height < 1800
    assert (tmp_path / "overhead.png").stat().st_size < 1_000_000
    assert (tmp_path / "overhead.pdf").read_bytes().startswith(b"%PDF")


def test_walls_are_drawn_over_the_diamonds(run_of, tmp_path):
    run = run_of("es", [[0.0, 0.0], [10.0, 10.0], [5.0, 5.0]] * 20)
    square = Scene(walls=((2.0, 8.0, 2.0, 8.0),))
    with_wall = draw({"es": [run]}, square, tmp_path / "wall.png")
    without = draw({"es": [run]}, Scene(), tmp_path / "none.png")
    mask = np.all(np.isclose(with_wall, to_rgb(WALL), atol=0.01), axis=-1)
    rows, columns = (np.flatnonzero(mask.sum(axis=axis) > 100) for axis in (1, 0))  # no letters
    assert len(rows) == pytest.approx(len(columns), abs=2)  # equal axes
    assert mask[rows[0] + 2 : rows[-1] - 1, columns[0] + 2 : columns[-1] - 1].all()
    assert share_of(WALL, without) < 0.001


def test_diamonds_have_the_hue_of_their_member(run_of, tmp_path):
    places = [[t / 10, (t % 2) * 5.0] for t in range(101)]
    image = draw({"es": [run_of("es", places, members=2)]}, Scene(), tmp_path / "a.png")
    saturated = image[np.ptp(image, axis=-1) > 0.3]
    blue = (saturated[:, 2] > saturated[:, 0]).mean()
    assert 0.3 < blue < 0.7  # one line of blue, one of orange


def test_age_is_relative_to_the_settings_so_that_an_unfinished_run_stays_light(run_of):
    trail = trail_of(run_of("es", spiral(10), generations=100), PLACES)
    assert trail.age[0] == 0.0
    assert trail.age[-1] == pytest.approx(9 / 99)


def test_one_run_alone_and_runs_of_different_lengths_can_be_drawn(run_of, tmp_path):
    runs = {
        "es": [run_of("none", [])],
        "ns-es": [run_of("short", spiral(1)), run_of("long", spiral(300), 12)],
    }
    height, width, _ = draw(runs, built_in_scene(TRAP), tmp_path / "overhead.png").shape
    assert 0.5 < width / height < 2
    alone = draw({"es": runs["es"]}, Scene(), tmp_path / "alone.png")
    assert alone.shape[1] < width


def test_behaviors_that_are_not_finite_do_not_spoil_the_axes(run_of, tmp_path):
    places = spiral(30)
    wild = [*places, [float("nan"), 0.0], [float("inf"), 0.0]]
    a = draw({"es": [run_of("a", places, generations=40)]}, Scene(), tmp_path / "a.png")
    b = draw({"es": [run_of("b", wild, generations=40)]}, Scene(), tmp_path / "b.png")
    below_the_number = slice(110, None)
    assert (a[below_the_number] == b[below_the_number]).all()


def test_the_same_runs_give_the_same_files(run_of, tmp_path):
    runs = {"es": [run_of("es", spiral(30))]}
    for name in ("a", "b"):
        overhead(runs, [built_in_scene(TRAP)], PLACES, tmp_path / f"{name}.png")
    for suffix in (".png", ".pdf"):
        first, second = ((tmp_path / name).with_suffix(suffix).read_bytes() for name in "ab")
        assert first == second


def test_a_goal_is_drawn_below_the_diamonds(run_of, tmp_path):
    run = run_of("es", [[0.0, 0.0], [10.0, 10.0], [5.0, 5.0]] * 20)
    image = draw({"es": [run]}, Scene(goals=((2.0, 8.0, 2.0, 8.0),)), tmp_path / "goal.png")
    tint = 1 - 0.2 * (1 - np.array(to_rgb(GOAL)))
    assert (np.abs(image - tint).max(axis=-1) < 0.02).mean() > 0.05


def test_one_number_is_drawn_against_generations_and_fills_the_panel(run_of, tmp_path):
    story = run_of("es", [[0.001 * (t % 7)] for t in range(50)])
    image = draw({"es": [story]}, Scene(), tmp_path / "a.png", Plane(GENERATION, 0))
    blue = np.argwhere((image[..., 2] > image[..., 0] + 0.3)[:400])  # above the legend
    assert (np.ptp(blue, axis=0) > [200, 400]).all()


@pytest.mark.parametrize("counts", [(12,), (1,) * 12, (20, 20, 3)])
def test_no_number_of_runs_makes_a_strip(run_of, tmp_path, counts):
    story = run_of("es", spiral(5))
    runs = {f"group {i}": [story] * count for i, count in enumerate(counts)}
    height, width, _ = draw(runs, Scene(), tmp_path / "a.png").shape
    assert 0.4 < width / height < 2.5
