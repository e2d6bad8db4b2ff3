"""A torch module as a policy: on one thread of the CPU, without gradients."""

import copy
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError
from nses.rollouts.native.network import normalize
from nses.rollouts.policies import check_theta, standardization
from nses.rollouts.spaces import input_of

Vector = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TorchPolicy:
    """A module that takes a batch of one observation, (1, *shape), and returns (1, outputs).

    theta is every parameter with requires_grad in the order of `module.parameters()`, each row by
    row; other parameters and buffers stay as they are. The module is in evaluation mode.

    Every episode begins with a copy of the module, so it may remember in its own attributes. If
    its `forward` takes (observation, state), it returns (outputs, state), and the next step gets
    that state; the first one gets None.
    """

    module: Any  # a torch.nn.Module
    shape: tuple[int, ...] | None = None  # of an observation; in training it is the task's
    normalize: bool | None = None  # standardise observations; if not given, those that are vectors

    def __post_init__(self) -> None:
        if not is_module(self.module):
            raise UsageError(f"TorchPolicy takes a torch.nn.Module, got {self.module!r}.")
        others = {str(p.dtype) for p in self._trained} - {"torch.float32"}
        if others or not self._trained:
            raise UsageError(
                "a module needs parameters to train, all of them float32 (module.float()) and with "
                f"requires_grad, got {', '.join(sorted(others)) or 'none'}."
            )

    def fitting(self, space: Any) -> "TorchPolicy":
        """For the observations of a space, unless a shape was given."""
        if self.shape is not None:
            return self
        vector = (input_of(space).size,)
        return replace(self, shape=tuple(space.shape) if isinstance(space, Box) else vector)

    @property
    def _trained(self) -> list[Any]:
        return [p for p in self.module.parameters() if p.requires_grad]

    @property
    def size(self) -> int:
        """The number of parameters d."""
        return sum(p.numel() for p in self._trained)

    @cached_property
    def input_shape(self) -> tuple[int, ...]:
        """The shape that was given, or else what the first layer takes."""
        if self.shape is not None:
            return self.shape
        for part in self.module.modules():
            for name in ("in_features", "input_size"):
                if isinstance(found := getattr(part, name, None), int):
                    return (found,)
        raise UsageError("the module does not say what it takes; give TorchPolicy a shape.")

    @property
    def observation_size(self) -> int:
        return int(np.prod(self.input_shape))

    @cached_property
    def standardizes(self) -> bool:
        return len(self.input_shape) == 1 if self.normalize is None else self.normalize

    @property
    def moments_size(self) -> int:
        return self.observation_size if self.standardizes else 0

    @cached_property
    def recurrent(self) -> bool:
        """Whether `forward` takes a state."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        taken = inspect.signature(self.module.forward).parameters.values()
        return sum(x.kind in kinds for x in taken) > 1

    def init(self, rng: np.random.Generator) -> Vector:
        """By `reset_parameters` of the module, or else of its parts; the rest begins as given."""
        module = copy.deepcopy(self.module)
        with seeded(int(rng.integers(1 << 62))):
            _reset(module)
        parts = [p.detach().numpy().ravel() for p in module.parameters() if p.requires_grad]
        return np.concatenate(parts)

    def bound(self, theta: Vector) -> Any:
        """A copy of the module with these parameters."""
        check_theta(theta, self.size)
        torch = _torch()
        # Torch's own memory is aligned in the same way in every process, and so are the views of
        # it. That of NumPy is not, and the order in which products are summed may depend on it.
        vector, copies, start = torch.tensor(theta), {}, 0
        for p in self._trained:
            part = vector[start : start + p.numel()].view_as(p)
            copies[id(p)] = torch.nn.Parameter(part, requires_grad=False)
            start += p.numel()
        return copy.deepcopy(self.module, copies).eval()

    def bind(
        self, theta: Vector, moments: Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        """The module with these parameters: flat observation to outputs, through one episode."""
        torch, module = _torch(), self.bound(theta)
        mean, std = standardization(moments, self.observation_size, self.standardizes)
        shape, size, state = (1, *self.input_shape), self.observation_size, None

        def act(observation: NDArray[np.float64]) -> NDArray[np.float32]:
            nonlocal state
            if observation.shape != (size,):
                raise UsageError(
                    f"an observation must have shape ({size},), got {observation.shape}."
                )
            x = np.empty(size, np.float32)
            normalize(observation, mean, std, x)
            with torch.inference_mode(), one_thread():
                asked = torch.tensor(x).reshape(shape)
                if self.recurrent:
                    y, state = _pair(module(asked, state))
                else:
                    y = module(asked)
            return _outputs(y)

        return act


def is_module(network: object) -> bool:
    return _torch() is not None and isinstance(network, _torch().nn.Module)


def _torch() -> Any:
    """Torch, which whoever has a module has imported, or None. It is an extra, hence untyped."""
    return sys.modules.get("torch")


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's global generator begins with a seed here and goes on afterwards as if unused."""
    if _torch() is None:
        yield
        return
    with _torch().random.fork_rng(devices=[]):
        _torch().manual_seed(seed)
        yield


class one_thread:  # noqa: N801 - used like a function; a generator would cost every step 1 µs
    """Torch computes on one thread here: sums may depend on how they are divided among several."""

    def __enter__(self) -> None:
        self.before = _torch().get_num_threads()
        if self.before > 1:
            _torch().set_num_threads(1)

    def __exit__(self, *raised: object) -> None:
        if self.before > 1:
            _torch().set_num_threads(self.before)


def _reset(module: Any) -> None:
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
        return
    for part in module.children():
        _reset(part)


def _pair(returned: Any) -> tuple[Any, Any]:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise UsageError(
            "a module whose forward takes (observation, state) must return (outputs, state), got "
            f"{type(returned).__name__}."
        )
    return returned


def _outputs(y: Any) -> NDArray[np.float32]:
    if not hasattr(y, "numpy") or len(y.shape) != 2 or y.shape[0] != 1:
        raise UsageError(
            "a module must return its outputs for a batch of one observation, shape (1, outputs), "
            f"got {type(y).__name__} of shape {tuple(np.shape(y))}."
        )
    return y[0].numpy()
