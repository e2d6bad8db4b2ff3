"""Options of the simulation, as arguments of a body's environment."""

import mujoco
import numpy as np
import pytest

from nses.core.moments import initial
from nses.core.seeding import Purpose, generator
from nses.rollouts.episode import player
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.bodies import ASSETS, BODIES, model_of, unlike_its_task
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.mujoco import BodyEnv
from nses.rollouts.tasks.physics import INTEGRATORS, SOLVERS, Physics


def options(model):
    opt = model.opt
    return (opt.integrator, opt.solver, opt.iterations, opt.tolerance, opt.timestep)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.filterwarnings("ignore:compiler attribute")
def test_what_a_body_declares_is_what_gymnasium_simulates_except_for_two_integrators(name):
    own = mujoco.MjModel.from_xml_path(str(ASSETS / BODIES[name].model))
    ours = model_of(BODIES[name], None)
    if name in ("ant", "swimmer"):
        own.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    if name == "swimmer":
        own.opt.timestep = 0.03
    assert options(ours) == options(own)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_every_integrator_can_be_chosen(integrator):
    environment = BodyEnv("halfcheetah", integrator=integrator)
    environment.reset(seed=0)
    for _ in range(3):
        environment.step(environment.action_space.high)
    assert np.isfinite(environment.last).all()
    code = environment.model.opt.integrator
    assert code == getattr(mujoco.mjtIntegrator, INTEGRATORS[integrator])


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_can_be_chosen(solver):
    environment = BodyEnv("halfcheetah", solver=solver, iterations=7, tolerance=1e-4)
    opt = environment.model.opt
    assert opt.solver == getattr(mujoco.mjtSolver, SOLVERS[solver])
    assert (opt.iterations, opt.tolerance) == (7, 1e-4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"integrator": "rk4"}, "integrator must be one of Euler, RK4, implicit, implicitfast"),
        ({"integrator": ["RK4"]}, "integrator must be one of"),
        ({"solver": 2}, "solver must be one of PGS, CG, Newton, got 2"),
        ({"iterations": 0}, "iterations must be a whole number from 1 to 1,000,000, got 0"),
        ({"iterations": True}, "iterations must be a whole number"),
        ({"substeps": 0}, "substeps must be a whole number from 1 to 1,000, got 0"),
        ({"substeps": 2.0}, "substeps must be a whole number from 1 to 1,000, got 2.0"),
        ({"tolerance": -1}, "tolerance must be a number of at least 0, got -1"),
        ({"tolerance": float("nan")}, "tolerance must be a number"),
    ],
)
def test_options_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_task("humanoid", **wrong).facts  # noqa: B018


def test_compiled_and_stepped_episodes_take_the_options_along():
    policy = MLP((17, 6))
    theta = policy.init(generator(0, 0, 0, Purpose.POLICY_INIT)) * 20
    played = []
    for options in ({"integrator": "RK4"}, {"substeps": 3}, {"substeps": None}):
        task = make_task("halfcheetah", max_steps=20, **options)
        compiled, stepped = (
            player(task, policy, native=native).play(theta, initial(17), 0) for native in (1, 0)
        )
        assert compiled.f == stepped.f
        played.append(compiled.f)
    assert len(set(played)) == 3


def test_fewer_substeps_are_longer_and_land_nearer_to_the_task_than_a_cheaper_integrator():
    def places(**options):
        environment = BodyEnv("humanoid", **options)
        assert environment.dt == pytest.approx(0.015)
        found = []
        for seed in range(5):
            environment.reset(seed=seed)
            for t in range(15):
                environment.step(np.full(17, 0.4 * np.sin(t), np.float32))
            found.append(environment.data.qpos.copy())
        return np.array(found), environment.model.opt.timestep

    own, step = places()
    coarse, longer = places(substeps=2)
    cheap, same = places(integrator="implicitfast")
    assert (step, longer, same) == (0.003, 0.0075, 0.003)
    assert 0 < np.abs(coarse - own).mean() < np.abs(cheap - own).mean()


def test_what_is_simulated_otherwise_is_tested_as_it_should_be_too():
    task = make_task("humanoid", integrator="implicitfast", iterations=50, left_hip=-120)
    (name,) = task.variations
    assert name == "integrator RK4"
    model = task.variations[name].make().unwrapped.model
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
    assert model.joint("left_hip_y").range[0] == np.radians(-120)
    assert not make_task("humanoid", integrator="RK4", solver=None).variations


def test_another_simulation_is_named_beside_the_own_one():
    given = {"integrator": "implicitfast", "solver": "PGS", "left_hip": -120, "substeps": 5}
    assert unlike_its_task("humanoid", given) == "integrator implicitfast instead of RK4"
    assert unlike_its_task("humanoid", {"substeps": 2}) == "substeps 2 instead of 5"
    assert unlike_its_task("humanoid", {"solver": None}) == ""
    assert unlike_its_task("CartPole-v1", given) == ""


def test_a_body_that_declares_nothing_is_simulated_as_its_model_says():
    assert Physics().other_than({"integrator": "Euler"}) == {"integrator": "of the model"}
    spec = mujoco.MjSpec()
    spec.option.iterations = 3
    Physics(solver="CG").apply(spec, 1)
    assert (spec.option.iterations, spec.option.solver) == (3, mujoco.mjtSolver.mjSOL_CG)
