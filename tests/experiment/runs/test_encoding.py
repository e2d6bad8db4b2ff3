"""Values as tensors and JSON; tests of checkpoints try everything else."""

import json
import math

import numpy as np
import pytest

from nses.experiment.runs.encoding import canonical, finite, standard, tensors_sha256, to_json


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_a_number_that_json_does_not_have_becomes_none(value: float) -> None:
    assert finite(value) is None
    assert standard({"a": [value, {"b": (value, 1.5)}]}) == {"a": [None, {"b": [None, 1.5]}]}
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json(value)


@pytest.mark.parametrize("value", [0.0, -1.5, 3, True, None, "nan"])
def test_everything_else_stays_as_it_is(value: object) -> None:
    assert finite(value) is value
    assert standard([value]) == [value]


def test_canonical_json_does_not_depend_on_the_order_of_names() -> None:
    assert canonical({"b": 1, "a": [1.5, None]}) == canonical({"a": [1.5, None], "b": 1})
    assert json.loads(canonical({"b": 1})) == {"b": 1}


def test_the_digest_of_tensors_covers_names_types_shapes_and_bits() -> None:
    x = np.arange(4, dtype=np.float32)
    others = [{"y": x}, {"x": x.view(np.int32)}, {"x": x.reshape(2, 2)}, {"x": -x}, {}]
    digests = {tensors_sha256(tensors) for tensors in [{"x": x}, *others]}
    assert len(digests) == 6
    assert tensors_sha256({"x": x, "y": x}) == tensors_sha256({"y": x, "x": x})
