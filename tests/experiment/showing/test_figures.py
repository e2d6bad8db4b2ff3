import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.stories import find_runs, story_of
from nses.experiment.showing import figures
from nses.experiment.showing.drawing import ALGORITHM_HUES, FAINT, HUES
from pretended import make_run


def inked(path, hue, about=0.3):
    """How much of a picture has about this colour."""
    return int((np.abs(imread(path)[..., :3] - np.array(hue)).max(axis=2) < about).sum())


def test_a_run_has_a_curve_of_its_returns(tmp_path):
    """However few generations there are."""
    blue = []
    for generations in (0, 1, 30):
        scores = np.arange(float(generations))
        run = make_run(tmp_path / str(generations), scores, generations=30)
        figures.curve(story_of(run), run.path / "curve.png")
        assert (run.path / "curve.pdf").read_bytes().startswith(b"%PDF")
        blue.append(inked(run.path / "curve.png", HUES[0]))
    assert blue[2] > 2 * blue[1]
    assert blue[1] > blue[0]


def test_a_mean_that_is_not_finite_leaves_a_gap(tmp_path):
    grey = []
    for name, missing in (("whole", ()), ("gap", range(5, 16))):
        run = make_run(tmp_path / name, np.arange(20.0))
        metrics = run.path / "metrics.jsonl"
        text = metrics.read_text()
        for t in missing:
            text = text.replace(f'"return_mean": {t}.0,', '"return_mean": null,')
        metrics.write_text(text)
        figures.curve(story_of(run), run.path / "curve.png")
        grey.append(inked(run.path / "curve.png", to_rgb(FAINT), 0.02))
    assert grey[1] < grey[0] - 100


def test_every_algorithm_has_its_colour_and_an_interval_in_the_curves(tmp_path):
    for algorithm, level in (("es", 1.0), ("nsra-es", 50.0)):
        for seed in range(3):
            scores = level * (1 + seed) + np.arange(20.0)
            path = tmp_path / algorithm / str(seed)
            make_run(path, scores, algorithm=algorithm, seed=seed)
    figures.curves(compare(find_runs([tmp_path])), "generation", tmp_path / "curves.png")
    image = imread(tmp_path / "curves.png")[..., :3]
    for algorithm in ("es", "nsra-es"):
        hue = np.array(ALGORITHM_HUES[algorithm])
        shade = 1 - 0.18 * (1 - hue)
        for color in (hue, shade):
            assert (np.abs(image - color).max(axis=2) < 0.02).sum() > 100
    assert not (np.abs(image - np.array(ALGORITHM_HUES["ns-es"])).max(axis=2) < 0.02).any()


def test_only_a_weight_that_adapts_is_drawn(tmp_path):
    make_run(tmp_path / "a", [1.0, 2.0], algorithm="nsr-es")
    assert not figures.weights(compare(find_runs([tmp_path])), tmp_path / "weight.png")
    assert not (tmp_path / "weight.png").exists()
    make_run(tmp_path / "b", [1.0, 2.0], algorithm="nsra-es")
    assert figures.weights(compare(find_runs([tmp_path])), tmp_path / "weight.png")
    assert (tmp_path / "weight.pdf").exists()


def test_panels_of_several_tasks_are_not_in_one_long_row(tmp_path):
    runs = [make_run(tmp_path / str(i), [1.0, 2.0], task=f"Task-v{i}") for i in range(4)]
    figures.curves(compare(runs), "generation", tmp_path / "curves.png")
    height, width = imread(tmp_path / "curves.png").shape[:2]
    assert width / height < 1.5
