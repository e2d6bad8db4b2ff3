import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nses.rollouts.behaviors import TRAJECTORY_POINTS, Behavior, parse_behavior
from toys import WHERE


def behavior_of(text, steps, step_limit=100):
    """b of an episode given as its (observation, info) after each step."""
    behavior = parse_behavior(text) if isinstance(text, str) else text
    record = behavior.record(step_limit)
    for observation, info in steps:
        if record.every_step:
            record.see(observation, info)
    return record.result(*steps[-1])


def walk(n):
    return [(np.array([t, -t, 0.5]), {"x": 2 * t, "p": [t, 10 * t]}) for t in range(1, n + 1)]


def test_final_looks_at_info_after_the_last_step():
    assert behavior_of("final:x", walk(4)).tolist() == [8]
    assert behavior_of("final: p , x", walk(4)).tolist() == [4, 40, 8]


def test_final_observation_takes_indices_or_all():
    assert behavior_of("final-observation:1,0", walk(4)).tolist() == [-4, 4]
    assert behavior_of("final-observation", walk(4)).tolist() == [4, -4, 0.5]


def test_mean_is_the_mean_over_the_steps():
    assert behavior_of("mean:x,p", walk(3)).tolist() == [4, 2, 20]
    assert behavior_of("mean-observation:0", walk(4)).tolist() == [2.5]


def test_a_trajectory_is_ten_equally_spaced_points_of_the_step_limit():
    b = behavior_of("trajectory:x", walk(100), step_limit=100)
    assert b.tolist() == [20 * i for i in range(1, 11)]
    b = behavior_of("trajectory-observation:0,2", walk(50), step_limit=50)
    assert b.tolist() == [v for i in range(1, 11) for v in (5 * i, 0.5)]


def test_where_an_episode_was_short_its_last_state_stands_for_the_rest():
    b = behavior_of("trajectory:x", walk(35), step_limit=100)
    assert b.tolist() == [20, 40, 60] + [70] * 7


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from(["final", "mean", "trajectory"]))
def test_the_length_of_a_behavior_does_not_depend_on_that_of_the_episode(length, limit, summary):
    b = behavior_of(f"{summary}:p", walk(min(length, limit)), step_limit=limit)
    assert b.shape == (2 * TRAJECTORY_POINTS if summary == "trajectory" else 2,)
    assert np.isfinite(b).all()


@pytest.mark.parametrize("text", ["final:x", "mean:x", "trajectory:x"])
def test_e17_an_episode_that_ends_at_once_has_the_state_it_reached(text):
    assert set(behavior_of(text, walk(1))) == {2.0}


def test_a_behavior_keeps_its_own_copy_of_what_it_saw():
    shared = np.zeros(1)
    record = parse_behavior("trajectory-observation").record(10)
    for t in range(1, 11):
        shared[:] = t
        record.see(shared, {})
    b = record.result(shared, {})
    shared[:] = -1
    assert b.tolist() == list(range(1, 11))


def test_numbers_of_any_shape_make_one_vector():
    info = {"matrix": np.arange(4).reshape(2, 2)}
    for summary in ("final", "mean"):
        b = behavior_of(Behavior("m", lambda o, i: i["matrix"], summary), [(None, info)])
        assert b.tolist() == [0, 1, 2, 3]
    assert behavior_of(Behavior("s", lambda o, i: 3.0), [(None, {})]).tolist() == [3]


def test_observations_that_are_dictionaries_or_tuples_are_read_by_key_in_order():
    observation = {"b": np.array([2.0, 3.0]), "a": (1, np.array([[1.5]]))}
    assert behavior_of("final-observation", [(observation, {})]).tolist() == [1, 1.5, 2, 3]
    assert behavior_of("final-observation:3", [(observation, {})]).tolist() == [3]


def test_a_behavior_of_ones_own_is_found_by_module_and_attribute():
    assert parse_behavior("toys:WHERE") is WHERE
    assert parse_behavior("toys:where").summary == "final"
    assert behavior_of("toys:where", walk(2)).tolist() == [4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got ''"),
        ("position", "got 'position'"),
        ("final-state:0", "final-observation:0,1.*got 'final-state:0'"),
        ("final", "names nothing to read"),
        ("mean:", "names nothing to read"),
        ("final-observation:x", "an index must be 0, 1, 2 ..., got 'x'"),
        ("final-observation:-1", "got '-1'"),
        ("no_such_module:b", "No module named 'no_such_module'"),
        ("toys:missing", "no attribute 'missing'"),
        (".toys:where", "package.module:attribute"),
        ("toys:NOT_CALLABLE", "nses.Behavior or a function.*got int"),
    ],
)
def test_what_is_no_behavior_is_refused_politely(text, message):
    with pytest.raises(ValueError, match=message):
        parse_behavior(text)


def test_a_missing_info_key_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"no key 'y'.*its keys are: p, x"):
        behavior_of("final:x,y", walk(1))
    with pytest.raises(ValueError, match=r"its keys are: none.*final-observation"):
        behavior_of("final:x", [(np.zeros(2), {})])


def test_an_index_beyond_the_observation_is_refused():
    with pytest.raises(
        ValueError, match="the observation has only 3 numbers; use the indices 0 to 2"
    ):
        behavior_of("final-observation:3", walk(1))


def test_an_unknown_summary_is_refused():
    with pytest.raises(ValueError, match="final, mean, trajectory, trace, got 'median'"):
        Behavior("b", lambda o, i: [0.0], "median")


def test_a_trace_holds_the_bytes_of_every_step():
    for text, columns in (("trace:p,x", [1, 10, 2]), ("trace-observation:0", [1])):
        b = behavior_of(text, walk(20))
        assert b.dtype == np.uint8
        assert b.tolist() == [[t * c for c in columns] for t in range(1, 21)]


def test_a_trace_grows_with_its_episode_and_keeps_its_own_copy():
    shared, record = np.zeros(3, np.uint8), Behavior("s", lambda o, i: o, "trace").record(10)
    for t in range(1000):
        shared[:] = t % 256
        record.see(shared, {})
    b = record.result(shared, {})
    assert b.shape == (1000, 3)
    assert (b == np.arange(1000)[:, None] % 256).all()


@pytest.mark.parametrize("number", [0.5, -1.0, 256.0, np.nan, np.inf])
def test_a_trace_of_other_numbers_than_bytes_is_refused(number):
    with pytest.raises(ValueError, match="bytes, whole numbers from 0 to 255, got"):
        behavior_of("trace:x", [(None, {"x": number})])


def test_the_memory_of_an_atari_game_is_known_by_name():
    steps = [(None, {"ram": np.full(128, t, np.uint8)}) for t in (200, 250)]
    assert behavior_of("ram", steps)[:, 7].tolist() == [200, 250]
    assert set(behavior_of("ram-final", steps)) == {250.0}
    assert set(behavior_of("ram-mean", steps)) == {225.0}
    with pytest.raises(ValueError, match="info has no key 'ram'"):
        behavior_of("ram", walk(1))


@pytest.mark.parametrize("summary", ["mean", "trajectory"])
def test_m12_a_probe_keeps_its_size_through_an_episode(summary):
    sizes = Behavior("growing", lambda observation, info: info["p"][: info["x"]], summary)
    steps = [(None, {"x": x, "p": [1.0, 2.0]}) for x in (2, 2, 1)]
    with pytest.raises(ValueError, match=r"behavior 'growing' must have 2 numbers .*, got 1"):
        behavior_of(sizes, steps, step_limit=3)


def test_m12_a_state_of_a_trace_keeps_its_size_through_an_episode():
    steps = [(None, {"ram": np.zeros(size, np.uint8)}) for size in (4, 4, 1)]
    with pytest.raises(ValueError, match=r"behavior 'ram' must have 4 bytes .*, got 1"):
        behavior_of("ram", steps)


@pytest.mark.parametrize("seen", ["1.5", ["1", "2"], [1.0, [2.0, 3.0]], {"x": 1.0}, 1j, None])
@pytest.mark.parametrize("summary", ["final", "mean", "trace"])
def test_m12_a_behavior_is_made_of_numbers(seen, summary):
    odd = Behavior("odd", lambda observation, info: seen, summary)
    with pytest.raises(ValueError, match="behavior 'odd' must return numbers"):
        behavior_of(odd, walk(1))


@pytest.mark.parametrize("seen", [1.5, np.float32(1.5), [[1.0, 2.0], [3.0, 4.0]], True, [2, 0.5]])
def test_m12_a_number_or_nested_lists_of_numbers_are_a_vector(seen):
    sound = Behavior("sound", lambda observation, info: seen)
    assert behavior_of(sound, walk(1)).tolist() == np.ravel(seen).tolist()
