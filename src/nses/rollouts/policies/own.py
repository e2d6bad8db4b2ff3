"""A user's own network: a policy or a torch module, or a class or function that makes one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nses.errors import UsageError
from nses.rollouts.behaviors import load_attribute
from nses.rollouts.foreign import errors_only, generators_kept, seed_global_generators
from nses.rollouts.plugins import calling, defined_name
from nses.rollouts.policies import Policy
from nses.rollouts.policies.pytorch import TorchPolicy, is_module, seeded
from nses.rollouts.spaces import input_of, output_of
from nses.rollouts.tasks.task import Facts

Network = Policy | Callable[[int, int], Any] | str  # what a user may bring; a str is a name


def policy_from(network: Any, facts: Facts) -> Policy:
    """The policy for the spaces of a task.

    A name is `module:attribute`. A class or function is called with the length of a flat
    observation and the number of outputs. It may draw from the global generators: they are seeded,
    so it makes the same policy every time.
    """
    if isinstance(network, str):
        network = load_attribute(network, "policy class")
    made: Any = network
    if not _is_finished(network):
        if not callable(network):
            raise UsageError(f"{EXPECTED}, got {network!r}.")
        sizes = input_of(facts.observation_space).size, output_of(facts.action_space).size
        name = getattr(network, "__qualname__", type(network).__qualname__)
        with calling(f"{name}{sizes}"), errors_only(), _same_every_time():
            made = network(*sizes)
        if not _is_finished(made):
            raise UsageError(f"{EXPECTED}, but {name}{sizes} returned {made!r}.")
    policy: Any = TorchPolicy(made) if is_module(made) else made
    return policy.fitting(facts.observation_space) if isinstance(policy, TorchPolicy) else policy


EXPECTED = (
    "a network of your own must be an nses.Policy or a torch.nn.Module, or a class or function "
    "that makes one from (observation_size, outputs)"
)


def name_of(network: Any) -> str | None:
    """`module:attribute` of a class or function, if it can be imported by that name."""
    if isinstance(network, str):
        return network
    return defined_name(network) or None


def _is_finished(network: Any) -> bool:
    return not isinstance(network, type) and (hasattr(network, "bind") or is_module(network))


@contextmanager
def _same_every_time() -> Iterator[None]:
    with generators_kept(), seeded(0):
        seed_global_generators(0)
        yield
