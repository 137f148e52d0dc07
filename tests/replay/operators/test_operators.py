import pytest

from carve_stats.errors import InputError
from carve_stats.replay.operators import load_operator, operator_names
from carve_stats.testing.conformance import verify_operator


def test_the_phase_operator_is_there():
    assert "phase" in operator_names()


@pytest.mark.parametrize("name", operator_names())
def test_every_operator_does_what_the_loop_relies_on(name):
    operator = load_operator(name)
    verification = verify_operator(operator)
    assert verification.passed, str(verification)
    assert operator.parameters()["name"] == name


def test_an_unknown_operator_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'phase'"):
        load_operator("phases")


def test_an_unknown_setting_is_refused_by_name():
    with pytest.raises(InputError, match="'phase' has no setting 'strength'"):
        load_operator("phase", strength=2)
