import json
import os
import re

import plotly.graph_objects as go
import pytest

from browser import GRAPH
from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.planes import Plane
from nses.experiment.analysis.stories import AXES, story_of
from nses.experiment.runs.run import load
from nses.experiment.showing import charts, maps, plots
from nses.experiment.showing.report import LARGEST_PAGE, write_comparison_report, write_run_report
from nses.rollouts.tasks.scene import Scene
from pretended import make_run, pretend, record, write_metrics

ALGORITHMS = ("es", "ns-es", "nsr-es", "nsra-es")
HOSTILE = '</script><script>hacked=1</script><img src=x onerror="hacked=1">"><svg/onload=hacked=1>'


@pytest.fixture
def run(tmp_path):
    return pretend(tmp_path / "run", generation=60)


@pytest.fixture
def eight(tmp_path):
    """Two seeds of each algorithm."""
    return [
        pretend(tmp_path / algorithm / f"seed-{seed}", algorithm=algorithm, seed=seed)
        for algorithm in ALGORITHMS
        for seed in range(2)
    ]


def comparison(runs, path, **options):
    return write_comparison_report(compare(runs), path, command="nses compare runs", **options)


def text_of(path):
    """What a page says, without the code that it brings along."""
    page = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", path.read_text(), flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_figures_are_what_plotly_calls_figures(eight):
    (contest,) = compare(eight)
    story = contest.stories[-1]
    drawn = [
        *(plots.figure_of(charts.learning_of(story, axis)) for axis in AXES),
        *(plots.figure_of(charts.learning(contest.groups, axis, contest.goal)) for axis in AXES),
        maps.map_of(story, Plane(0, 1)),
        plots.figure_of(charts.weights(contest.groups)),
        plots.figure_of(charts.exploration(contest.groups)),
        plots.archive(story),
        plots.selection(story),
    ]
    for figure in drawn:
        json.dumps(figure, allow_nan=False)
        assert len(go.Figure(figure).data) == len(figure["data"]) > 0  # it refuses unknown names


def test_a_median_is_dashed_where_some_runs_have_not_got_that_far(tmp_path):
    runs = [
        pretend(tmp_path / str(seed), generation=10 * (seed + 1), total=30, seed=seed)
        for seed in range(3)
    ]
    (contest,) = compare(runs)
    _, solid, dashed = plots.figure_of(charts.learning(contest.groups, "generation"))["data"]
    assert (solid["line"]["dash"], dashed["line"]["dash"]) == ("solid", "dash")

    def drawn(trace):
        return [x for x, y in zip(trace["x"], trace["y"], strict=True) if y is not None]

    assert max(drawn(solid)) == 10
    assert (min(drawn(dashed)), max(drawn(dashed))) == (10, 30)
    assert solid["showlegend"]
    assert not dashed["showlegend"]


def test_a_run_report_draws_everything_without_errors_and_without_a_network(run, visit):
    seen = visit(write_run_report(run).as_uri())
    for plot, traces in {
        "curves": 7,
        "map": 6,
        "archive": 2,
        "weight": 1,
        "selection": 5,
        "allocation": 2,
    }.items():
        assert seen.drawn(plot) >= traces, plot
    assert [url for url in seen.requests if url.startswith("file:")] == [
        (run.path / "report.html").as_uri()
    ]
    buttons = seen.page.locator(".modebar-btn").evaluate_all("all => all.map(b => b.dataset.title)")
    assert not [title for title in buttons if re.search("share|cloud|edit", title, re.I)]
    assert len(buttons) == 6 * 6
    assert seen.page.locator("h1").inner_text() == "point-trap, NSRA-ES, seed 0"
    assert seen.page.locator(".state").inner_text() == "finished"
    assert "2 ± 0.8165 in 3 fresh episodes" in re.sub(r"\s+", " ", seen.page.inner_text(".facts"))


@pytest.mark.slow
@pytest.mark.parametrize("width", [420, 1200])
def test_no_button_covers_a_legend(eight, tmp_path, visit, width):
    seen = visit(comparison(eight, tmp_path / "compared.html").as_uri(), width=width, height=900)
    for plot in ("curves-0", "map-0", "exploration-0"):
        seen.drawn(plot)
        boxes = seen.page.evaluate(
            f"""[...document.querySelectorAll('#{plot} .legend, #{plot} .modebar-group')]
            .map(e => e.getBoundingClientRect()).map(b => [b.left, b.right, b.top, b.bottom])"""
        )
        (left, right, top, bottom), *buttons = boxes
        assert buttons
        for x0, x1, y0, y1 in buttons:
            assert x0 >= right or x1 <= left or y0 >= bottom or y1 <= top


@pytest.mark.slow
def test_the_axis_of_the_curves_can_be_chosen(run, visit):
    seen = visit(write_run_report(run).as_uri())
    page, title = seen.page, seen.page.locator("#curves .xtitle")
    assert title.text_content() == "generation"
    for axis, name in list(AXES.items())[1:]:
        page.select_option("select[data-plot=curves]", axis)
        seen.until(f"document.querySelector('#curves .xtitle').textContent == '{name}'")
    hours = page.evaluate("document.getElementById('curves').data[0].x.at(-1)")
    assert hours == pytest.approx(60 * 0.25 / 3600, rel=1e-3)


@pytest.mark.slow
def test_the_slider_of_the_map_takes_later_diamonds_away(run, visit):
    seen = visit(write_run_report(run).as_uri())
    seen.drawn("map")
    assert seen.diamonds("map") == 60
    slider = seen.page.locator("input[type=range]")
    slider.fill("10")
    assert seen.diamonds("map") == 10
    assert seen.page.locator("output").inner_text() == "10"
    slider.press("ArrowRight")
    assert seen.diamonds("map") == 11
    assert "--generation 11" in seen.page.inner_text(".picked")


@pytest.mark.slow
def test_the_map_plays_from_the_first_generation_to_the_last(run, visit):
    seen = visit(write_run_report(run).as_uri())
    seen.drawn("map")
    button = seen.page.locator("button[data-play]")
    button.click()
    seen.until("Number(document.querySelector('output').value) < 30")
    assert "Pause" in button.inner_text()
    seen.until("document.querySelector('output').value == '60'")
    seen.until("document.querySelector('[data-play]').textContent.includes('Play')")
    assert seen.diamonds("map") == 60


@pytest.mark.slow
def test_a_click_on_a_diamond_says_how_to_replay_it(tmp_path, visit):
    run = pretend(tmp_path / "two words", generation=60)
    page = write_run_report(run).as_uri()
    seen = visit(page, permissions=["clipboard-read", "clipboard-write"])
    seen.drawn("map")
    generation, member, _ = seen.page.evaluate(f"{GRAPH}('map').data[0].customdata.at(-1)")
    seen.click("map", 0, 11)
    command = f"nses replay '{run.path}' --generation {generation}"
    seen.page.wait_for_selector(".picked code")
    assert seen.page.locator(".picked code").text_content() == command
    said = seen.page.inner_text(".picked p")
    x, y = record(generation)["behavior"]
    assert said.startswith(f"Generation {generation}, member {member}: score ")
    assert said.endswith(f"; final x {x:.5g}, final y {y:.5g}.")
    seen.page.click(".picked button")
    seen.until("document.querySelector('.picked button').textContent == 'Copied'")
    assert seen.page.evaluate("navigator.clipboard.readText()") == command


@pytest.mark.slow
def test_a_comparison_shows_scores_differences_and_every_run(eight, tmp_path, visit):
    seen = visit(comparison(eight, tmp_path / "compared.html", paper=True).as_uri())
    page = seen.page
    assert seen.drawn("curves-0") >= 4
    assert seen.drawn("exploration-0") == 8
    assert seen.drawn("weight-0") == 2
    heads, *rows = page.locator("table").first.locator("tr").all_inner_texts()
    assert "paper (quoted)" in heads
    assert [row.split()[0] for row in rows] == list(ALGORITHMS)
    assert page.locator("table").nth(1).locator("tbody tr").count() == 6
    page.click("summary")
    assert page.locator("details tbody tr").count() == 8
    page.select_option("select[data-plot=map-0]", label="ns-es, seed 1")
    assert seen.drawn("map-0") >= 2
    assert seen.diamonds("map-0") == 20
    page.locator("input[type=range]").fill("5")
    assert seen.diamonds("map-0") == 5
    assert "ns-es/seed-1 --generation 5" in page.inner_text(".picked")
    page.select_option("select[data-plot=map-0]", label="ns-es, seed 0")
    assert page.inner_text(".picked").startswith("Click a diamond")
    page.select_option("select[data-plot=curves-0]", "env_steps")
    seen.until("document.querySelector('#curves-0 .xtitle').textContent == 'environment steps'")


@pytest.mark.slow
def test_runs_in_progress_of_different_length_or_without_a_generation_are_labelled(tmp_path, visit):
    runs = [
        pretend(tmp_path / "a", generation=12, total=50, algorithm="es"),
        pretend(tmp_path / "b", generation=20, algorithm="es", seed=1),
        pretend(tmp_path / "c", generation=0, total=50, algorithm="ns-es"),
        pretend(tmp_path / "d", generation=1, total=50, algorithm="nsr-es"),
    ]
    path = comparison(runs, tmp_path / "page.html")
    said = text_of(path)
    assert "in progress: generation 12 of 50" in said
    assert "no generation yet" in said
    assert visit(path.as_uri()).page.locator(".notes li").count() >= 3
    seen = visit(path.as_uri())
    assert seen.drawn("curves-0") >= 3
    assert "in progress: generation 12 of 50" in text_of(write_run_report(runs[0]))
    visit(write_run_report(runs[3]).as_uri()).drawn("curves")
    alone = visit(write_run_report(runs[2]).as_uri())
    assert "no generation has finished" in alone.page.inner_text("main")


@pytest.mark.slow
def test_a_single_run_and_a_run_without_generations_make_a_page(tmp_path, visit):
    one = comparison([pretend(tmp_path / "one")], tmp_path / "one.html")
    assert visit(one.as_uri()).drawn("curves-0") >= 1
    none = comparison([pretend(tmp_path / "none", generation=0, total=9)], tmp_path / "none.html")
    assert "Nothing to show yet" in visit(none.as_uri()).page.inner_text("main")


def test_traces_have_no_map_and_the_page_says_why(tmp_path):
    run = pretend(tmp_path / "run", task="atari:frostbite", behavior=0)
    for page in (write_run_report(run), comparison([run], tmp_path / "compared.html")):
        assert "no map, because behaviors are traces" in text_of(page)
        assert 'id="map' not in page.read_text()


@pytest.mark.slow
def test_one_number_is_seen_against_generations(tmp_path, visit):
    run = pretend(tmp_path / "run", task="Task-v0", behavior=1)
    seen = visit(write_run_report(run).as_uri(), width=390)
    seen.drawn("map")
    assert seen.page.locator("#map .xtitle").text_content() == "generation"
    assert seen.page.locator("#map .ytitle").text_content() == "final observation"
    assert seen.diamonds("map") == 20
    assert seen.page.locator(".axes-choice").count() == 0
    seen.page.locator("input[type=range]").fill("7")
    assert "; final observation " in seen.page.inner_text(".picked p")


@pytest.mark.slow
def test_the_axes_of_many_numbers_can_be_chosen_and_the_chosen_diamond_stays(tmp_path, visit):
    run = pretend(tmp_path / "run", task="Task-v0", behavior=6)
    seen = visit(write_run_report(run).as_uri())
    seen.drawn("map")
    page = seen.page
    page.locator("input[type=range]").fill("7")
    b = [float(f"{x:.5g}") for x in record(7, dimensions=6)["behavior"]]
    page.select_option("select[data-axis='1']", label="final observation 4")
    seen.until("document.querySelector('#map .ytitle').textContent == 'final observation 4'")
    last = f"{GRAPH}('map').data.at(-1)"
    assert page.evaluate(f"[{last}.x[0], {last}.y[0]]") == [b[0], b[4]]
    page.select_option("select[data-axis='0']", label="generation")
    seen.until("document.querySelector('#map .xtitle').textContent == 'generation'")
    assert page.evaluate(f"[{last}.x[0], {last}.y[0]]") == [7, b[4]]
    assert "final observation 5 0.5." in page.inner_text(".picked p")
    assert seen.diamonds("map") == 7


@pytest.mark.slow
def test_the_walls_are_seen_only_between_the_axes_that_they_belong_to(tmp_path, visit):
    scene = Scene(walls=((0.0, 1.0, 0.0, 1.0),), goals=((2.0, 3.0, 0.0, 1.0),), start=(0.0, 0.0))
    behaviors = [[float(t), 2.0 * t, 99.0 * t] for t in range(9)]
    run = make_run(tmp_path / "run", range(9), behaviors=behaviors, task="maze", scene=scene)
    seen = visit(write_run_report(run).as_uri())
    seen.drawn("map")
    shapes = f"{GRAPH}('map').layout.shapes.length"
    starts = f"{GRAPH}('map').data.filter(t => t.meta == 'scene').length"
    assert [seen.page.evaluate(x) for x in (shapes, starts)] == [2, 1]
    seen.page.select_option("select[data-axis='1']", label="final observation 2")
    seen.until(f"{shapes} == 0")
    assert seen.page.evaluate(starts) == 0


@pytest.mark.parametrize("policy", ["with its policy", "without"])
@pytest.mark.slow
def test_hostile_names_are_shown_and_not_run(tmp_path, visit, policy):
    runs = [
        pretend(tmp_path / HOSTILE / f"run{seed}", task=HOSTILE, seed=seed, algorithm=algorithm)
        for seed, algorithm in enumerate(("es", "nsra-es"))
    ]
    for run in runs:
        document = json.loads((run.path / "config.json").read_text())
        document["command"] = document["versions"]["numpy"] = HOSTILE
        document["versions"][HOSTILE] = "1\ud800"
        document["config"]["behavior"] = HOSTILE
        document["resumed"] = [{"generation": HOSTILE, "command": HOSTILE}]
        (run.path / "config.json").write_text(json.dumps(document))
    runs = [load(run.path) for run in runs]
    pages = [write_run_report(runs[1]), comparison(runs, tmp_path / "compared.html")]
    for page in pages:
        if policy == "without":  # what is escaped needs no policy
            text = re.sub(
                r'<meta http-equiv="Content-Security[^>]*>', "", page.read_text(), count=1
            )
            page.write_text(text)
        seen = visit(page.as_uri())
        seen.page.wait_for_selector(".js-plotly-plot .main-svg .trace", state="attached")
        for details in seen.page.locator("summary").all():
            details.click()
        assert HOSTILE in seen.page.locator("h1").inner_text()
        assert HOSTILE in seen.page.inner_text("main")
        assert seen.page.evaluate("typeof hacked") == "undefined"
        assert seen.page.locator("img, svg[onload]").count() == 0


def test_lines_that_hold_no_numbers_are_left_out_of_a_page(tmp_path):
    run = pretend(tmp_path / "run", generation=5, total=9)
    records = [record(t) for t in range(1, 6)]
    records[2]["score"] = HOSTILE
    write_metrics(run.path, records)
    assert "in progress: generation 5 of 9" in text_of(write_run_report(run))
    assert [r["generation"] for r in story_of(run).records] == [1, 2, 4, 5]


@pytest.mark.parametrize("width", [380, 800])
@pytest.mark.slow
def test_no_page_is_wider_than_a_phone(run, eight, tmp_path, visit, width):
    for page in (write_run_report(run), comparison(eight, tmp_path / "compared.html", paper=True)):
        seen = visit(page.as_uri(), width=width, height=800)
        for details in seen.page.locator("summary").all():
            details.click()
        seen.page.wait_for_selector(".js-plotly-plot .main-svg .trace", state="attached")
        assert seen.overflow <= 0


@pytest.mark.slow
def test_in_dark_mode_text_is_light_and_the_page_is_dark(run, visit):
    seen = visit(write_run_report(run).as_uri(), color_scheme="dark")
    seen.drawn("curves")
    style = "getComputedStyle(document.querySelector('{}')).{}"
    assert seen.page.evaluate(style.format("body", "backgroundColor")) == "rgb(21, 23, 27)"
    assert seen.page.evaluate(style.format("#curves .xtitle", "fill")) == "rgb(233, 233, 238)"


def test_a_video_is_embedded_while_there_is_room_and_linked_otherwise(run):
    (run.path / "best.mp4").write_bytes(b"film")
    (run.path / "long film.mp4").write_bytes(bytes(LARGEST_PAGE))
    secret = run.path.parent / "secret"
    secret.write_bytes(b"secret")
    os.symlink(secret, run.path / "other.mp4")
    page = write_run_report(run).read_text()
    assert 'src="data:video/mp4;base64,ZmlsbQ=="' in page
    assert 'href="long%20film.mp4"' in page
    assert "c2VjcmV0" not in page
    assert len(page.encode()) < LARGEST_PAGE


def test_the_page_of_a_run_tells_how_it_was_made_and_what_was_changed(run):
    document = json.loads((run.path / "config.json").read_text())
    document["command"] = "nses train point-trap --sigma 0.5"
    document["config"]["sigma"] = 0.5
    (run.path / "config.json").write_text(json.dumps(document))
    page = write_run_report(load(run.path), run.path.parent / "elsewhere.html")
    assert page.name == "elsewhere.html"
    said = text_of(page)
    assert "nses train point-trap --sigma 0.5" in said
    assert f"nses evaluate {run.path}" in said
    assert f"nses resume {run.path} --generations 120" in said
    assert re.findall(r'<tr class="changed"><th scope="row">(\w+)', page.read_text()) == [
        "generations",
        "sigma",
    ]


@pytest.mark.slow
def test_forty_runs_of_800_generations_and_twelve_tasks_stay_under_8_megabytes(tmp_path, visit):
    forty = [
        pretend(tmp_path / algorithm / str(seed), generation=800, algorithm=algorithm, seed=seed)
        for algorithm in ALGORITHMS
        for seed in range(10)
    ]
    page = comparison(forty, tmp_path / "forty.html")
    assert page.stat().st_size < LARGEST_PAGE
    seen = visit(page.as_uri())
    assert seen.drawn("map-0") >= 2
    assert seen.diamonds("map-0") == 800
    tasks = [
        pretend(tmp_path / f"{i}-{algorithm}", task=f"Task-v{i}", behavior=3, generation=200,
                algorithm=algorithm, seed=i)
        for i in range(12) for algorithm in ALGORITHMS
    ]  # fmt: skip
    page = comparison(tasks, tmp_path / "twelve.html")
    assert page.stat().st_size < LARGEST_PAGE
    seen = visit(page.as_uri(), width=380, height=800)
    assert seen.page.locator("nav a").count() == 12
    assert seen.drawn("curves-11") >= 4
    assert seen.overflow <= 0
