"""Where policies ended, on a page."""

import pytest

from nses.experiment.analysis.planes import GENERATION, Plane
from nses.experiment.analysis.stories import story_of
from nses.experiment.showing.maps import map_of, map_to_choose_from
from pretended import pretend

PLACES = Plane(0, 1)


@pytest.fixture
def run(tmp_path):
    return pretend(tmp_path / "run", generation=60)


def test_a_map_has_one_diamond_per_generation_in_the_colour_of_its_member(run):
    story = story_of(run)
    shown = [t for t in map_of(story, PLACES)["data"] if "customdata" in t]
    diamonds = sorted(
        (g, m, x, y)
        for trace in shown
        for (g, m, _), x, y in zip(trace["customdata"], trace["x"], trace["y"], strict=True)
    )
    assert [(g, m) for g, m, _, _ in diamonds] == [
        (r["generation"], r["member"]) for r in story.records
    ]
    assert diamonds[9][2:] == pytest.approx(story.records[9]["behavior"], rel=1e-4)
    assert len({trace["marker"]["colorscale"][1][1] for trace in shown}) == 5


def test_a_long_run_is_thinned_and_keeps_its_ends(tmp_path):
    story = story_of(pretend(tmp_path / "long", generation=300, algorithm="es"))
    (trace,) = (t for t in map_of(story, PLACES, most=100)["data"] if "customdata" in t)
    generations = [g for g, _, _ in trace["customdata"]]
    assert len(generations) == 100
    assert generations[0] == 1
    assert generations[-1] == 300


def test_the_axes_have_the_names_of_the_behavior(run, tmp_path):
    layout = map_of(story_of(run), PLACES)["layout"]
    assert [layout[a]["title"]["text"] for a in ("xaxis", "yaxis")] == ["final x", "final y"]
    one = story_of(pretend(tmp_path / "one", task="Task-v0", behavior=1, generation=4))
    axis = map_of(one, Plane(GENERATION, 0))["layout"]["xaxis"]
    assert (axis["title"]["text"], axis["dtick"]) == ("generation", 1)


def test_places_have_equal_scales_and_walls(run):
    layout = map_of(story_of(run), PLACES)["layout"]
    assert layout["yaxis"]["scaleanchor"] == "x"
    assert len(layout["shapes"]) == 3


def test_a_map_of_many_numbers_brings_them_all_and_one_of_two_does_not(run, tmp_path):
    assert "axes" not in map_to_choose_from(story_of(run), PLACES, 100)
    six = story_of(pretend(tmp_path / "six", task="Task-v0", behavior=6))
    figure = map_to_choose_from(six, Plane(0, 1), 100)
    assert [axis["name"] for axis in figure["axes"]] == [
        "generation", *(f"final observation {i}" for i in range(6)),
    ]  # fmt: skip
    first = figure["data"][0]
    across, up = figure["plane"]
    assert [c[across] for c in first["customdata"]] == first["x"]
    assert [c[up] for c in first["customdata"]] == first["y"]
