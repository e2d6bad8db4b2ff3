"""A user's own network, however it is brought."""

from functools import partial

import numpy as np
import pytest

import networks
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.policies.own import name_of, policy_from
from nses.rollouts.tasks.catalog import make_task

FACTS = make_task("point").facts


def test_a_policy_is_taken_as_it_is_and_a_class_or_function_is_called_with_the_sizes():
    assert policy_from("networks:TWO_TO_ONE", FACTS) is networks.TWO_TO_ONE
    for network in (networks.Echo, networks.by_chance, partial(networks.Echo)):
        made = policy_from(network, FACTS)
        assert (made.observation_size, made.outputs) == (6, 2)


def test_what_a_network_draws_while_it_is_made_is_always_the_same_and_leaves_no_trace():
    before = np.random.get_state(legacy=False)["state"]["pos"]  # noqa: NPY002
    one, two = (policy_from("networks:by_chance", FACTS) for _ in range(2))
    assert one.scale == two.scale
    assert np.random.get_state(legacy=False)["state"]["pos"] == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("networks:nothing", r"nothing\(6, 2\) returned 'nothing'"),
        ("networks:np.pi", r"must be an nses\.Policy or a torch.*got 3\.14"),
        ("networks:Missing", "cannot load policy class 'networks:Missing'.*no attribute"),
        ("no_such_module:Net", "cannot load policy class.*No module named"),
        ("networks:Echo.bind", r"Echo\.bind\(6, 2\) must work, got TypeError"),
    ],
)
def test_anything_else_is_refused_with_what_was_expected(name, message):
    with pytest.raises(ValueError, match=message):
        policy_from(name, FACTS)


def test_only_what_can_be_imported_has_a_name():
    class Local(networks.Echo): ...

    assert name_of(networks.Echo) == "networks:Echo"
    assert name_of(MLP) == "nses.rollouts.policies.mlp:MLP"
    assert name_of("networks:Echo") == "networks:Echo"
    for nameless in (Local, lambda inputs, outputs: None, networks.TWO_TO_ONE, None):
        assert name_of(nameless) is None
