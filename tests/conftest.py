"""Fixtures and settings that every test shares."""

import random

import numpy as np
import pytest
import rich.progress  # noqa: F401 (its import draws from the global generator, once)
from command_runner import command, command_json, refused
from hypothesis import HealthCheck, settings
from sizes import size

__all__ = ["command", "command_json", "refused"]

# The first call of a kernel compiles it, which takes a second. Without the JIT each call takes far
# longer: a property that does not say how many examples it needs is then tried on fewer.
settings.register_profile(
    "carve_stats",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    max_examples=size(compiled=100, plain=20),
)
settings.load_profile("carve_stats")


@pytest.fixture
def rng():
    """A generator of the test's own."""
    return np.random.default_rng(20260814)


@pytest.fixture(autouse=True)
def _global_generators_untouched():
    """Fail the test that draws from a global generator: seeds are the caller's."""
    before = np.random.get_state()[1].tobytes(), random.getstate()  # noqa: NPY002
    yield
    after = np.random.get_state()[1].tobytes(), random.getstate()  # noqa: NPY002
    assert after == before, "the test, or what it called, used a global random generator"
