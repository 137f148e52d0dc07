import json

import numpy as np
import pytest

from carve_stats.errors import InputError
from carve_stats.replay.operators import load_operator, operator_names


def test_the_phase_operator_is_there():
    assert "phase" in operator_names()


@pytest.mark.parametrize("name", operator_names())
def test_every_operator_keeps_shape_and_type_and_obeys_its_seed(name, rng):
    operator = load_operator(name)
    frame = rng.integers(0, 256, (12, 17, 3), np.uint8)
    first, again, other = (operator(frame, seed=s) for s in (1, 1, 2))
    assert first.shape == frame.shape
    assert first.dtype == np.uint8
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert json.loads(json.dumps(operator.parameters()))["name"] == name


def test_an_unknown_operator_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'phase'"):
        load_operator("phases")


def test_an_unknown_setting_is_refused_by_name():
    with pytest.raises(InputError, match="'phase' has no setting 'strength'"):
        load_operator("phase", strength=2)
