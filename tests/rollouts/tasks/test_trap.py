import mujoco
import numpy as np
import pytest

from nses.rollouts.tasks.bodies import ASSETS, BODIES, SWIMMER_TRAP, model_of
from nses.rollouts.tasks.trap import HALF_THICKNESS, Trap, trap_of, with_trap

DEEP = {"back": 4.5, "half_width": 2.5, "depth": 4.0}  # room for the whole swimmer
ROOMS = {"humanoid": ({}, 4.0), "ant": ({}, 4.0), "swimmer": (DEEP, 2.5)}  # trap, x of its middle
EAST, NORTH, SOUTH = (1.0, 0.0), (0.0, 1.0), (0.0, -1.0)


def push(body, trap, start, direction):
    """Four seconds on a steep slope: the centre of mass on the way, and the state at the end."""
    model = model_of(BODIES[body], trap)
    data = mujoco.MjData(model)
    data.qpos[:2] += start
    model.opt.gravity[:2] = 12.0 * np.array(direction)
    path = []
    while data.time < 4.0:
        mujoco.mj_step(model, data)
        path.append(data.subtree_com[0, :2].copy())
    assert not data.warning.number.any()
    return np.array(path), model, data


def own_geoms(model):
    return (model.geom_bodyid > 0).nonzero()[0]


def wall_geoms(model):
    return [model.geom(f"trap_{name}").id for name in ("back", "left", "right")]


def touching(model, geoms, others):
    """Which of `geoms` can touch which of `others`, by the rule of MuJoCo's documentation."""
    offers, accepts = model.geom_contype, model.geom_conaffinity
    return np.array(
        [[bool(offers[a] & accepts[b] or offers[b] & accepts[a]) for b in others] for a in geoms]
    )


def test_the_walls_are_those_of_the_paper():
    model = model_of(BODIES["humanoid"], {})
    boxes = {
        name: (model.geom(f"trap_{name}").pos.tolist(), model.geom(f"trap_{name}").size.tolist())
        for name in ("back", "left", "right")
    }
    assert boxes == {
        "back": ([5.5, 0.0, 0.0], [0.1, 1.5, 2.0]),
        "left": ([4.0, 1.5, 0.0], [1.5, 0.1, 2.0]),
        "right": ([4.0, -1.5, 0.0], [1.5, 0.1, 2.0]),
    }
    assert Trap().outside == pytest.approx(5.6)


@pytest.mark.parametrize("direction", [EAST, NORTH, SOUTH], ids=["back", "left", "right"])
@pytest.mark.parametrize("body", ROOMS)
def test_a_body_that_is_pushed_against_a_wall_is_stopped(body, direction):
    settings, middle = ROOMS[body]
    trap = Trap(**settings)
    path, model, data = push(body, settings, (middle, 0.0), direction)
    free, *_ = push(body, None, (middle, 0.0), direction)
    face = (trap.back if direction == EAST else trap.half_width) - HALF_THICKNESS
    way = path @ direction
    assert way.max() < face
    assert abs(way[-1] - way[len(way) * 3 // 4]) < 0.1  # in the last second
    assert (free @ direction).max() > face + 1.0  # but for the wall
    assert (data.geom_xpos[own_geoms(model), :2] @ direction).max() < face


@pytest.mark.parametrize(("y", "direction"), [(4.0, SOUTH), (-4.0, NORTH)], ids=["left", "right"])
@pytest.mark.parametrize("body", ROOMS)
def test_walls_are_solid_from_outside_too(body, y, direction):
    settings, middle = ROOMS[body]
    path, *_ = push(body, settings, (middle, y), direction)
    assert abs(path[:, 1]).min() > Trap(**settings).half_width + HALF_THICKNESS


@pytest.mark.parametrize(
    ("body", "settings"), [("humanoid", {}), ("ant", {}), ("swimmer", SWIMMER_TRAP)]
)
def test_the_opening_is_open_and_leads_to_the_back_wall(body, settings):
    trap = Trap(**settings)
    path, model, data = push(body, settings, (0.0, 0.0), EAST)
    foremost = data.geom_xpos[own_geoms(model), 0].max()
    assert trap.back - 1.0 < foremost < trap.back - HALF_THICKNESS
    assert path[:, 0].max() < trap.back - HALF_THICKNESS
    assert foremost > trap.back - trap.depth


@pytest.mark.parametrize("body", ["humanoid", "ant"])
def test_walls_have_no_friction(body):
    """Even for the ant, whose own contacts have."""
    settings, middle = ROOMS[body]
    _, model, data = push(body, settings, (middle, 0.0), EAST)
    mujoco.mj_forward(model, data)
    walls = set(wall_geoms(model))
    assert {contact.dim for contact in data.contact if walls & set(contact.geom)} == {1}


@pytest.mark.parametrize("body", BODIES)
def test_every_part_meets_the_walls_and_all_else_touches_as_before(body):
    before, after = model_of(BODIES[body], None), model_of(BODIES[body], {})
    assert touching(after, own_geoms(after), wall_geoms(after)).all()
    old = [*own_geoms(before), before.geom("floor").id]
    new = [*own_geoms(after), after.geom("floor").id]
    np.testing.assert_array_equal(touching(after, new, new), touching(before, old, old))
    assert touching(before, old, old).any() == (body != "swimmer")


@pytest.mark.parametrize("body", BODIES)
def test_walls_change_neither_the_body_nor_its_moves_before_it_meets_them(body):
    models = [model_of(BODIES[body], trap) for trap in (None, {})]
    ends = []
    for model in models:
        data = mujoco.MjData(model)
        data.ctrl[:] = 0.3
        mujoco.mj_step(model, data, nstep=50)
        ends.append(np.concatenate([data.qpos, data.qvel, data.cinert.ravel(), model.body_mass]))
    np.testing.assert_array_equal(*ends)


def test_the_model_that_gets_a_trap_is_left_as_it_was():
    spec = mujoco.MjSpec.from_file(str(ASSETS / "swimmer.xml"))
    geoms, xml = len(spec.geoms), spec.to_xml()
    assert len(with_trap(spec, Trap()).geoms) == geoms + 3
    assert spec.to_xml() == xml


def test_a_model_without_a_free_collision_bit_is_refused():
    spec = mujoco.MjSpec()
    spec.worldbody.add_body().add_geom(size=(1, 1, 1), contype=2**31 - 1)
    with pytest.raises(ValueError, match="all 31 collision bits"):
        with_trap(spec, Trap())


@pytest.mark.parametrize(
    "settings",
    [
        {"half_width": 0.0},
        {"back": float("nan")},
        {"back": float("inf")},
        {"depth": "deep"},
        {"depth": 5.5},
        {"margin": -0.1},
        {"margin": None},
        {"width": 3.0},
        True,
        3.0,
    ],
)
def test_a_trap_that_cannot_be_is_refused(settings):
    with pytest.raises(ValueError, match="trap"):
        trap_of(settings)


def test_no_settings_are_no_trap_and_empty_ones_the_papers():
    assert trap_of(None) is None
    assert trap_of({}) == Trap()
    assert trap_of({"half_width": 2}) == Trap(half_width=2)


def test_walls_may_have_the_margin_of_the_authors_model():
    models = [model_of(BODIES["humanoid"], trap) for trap in ({}, {"margin": 0.001})]
    for model, margin in zip(models, (0.0, 0.001), strict=True):
        assert [model.geom_margin[geom] for geom in wall_geoms(model)] == [margin] * 3
