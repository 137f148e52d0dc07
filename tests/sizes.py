"""Sizes of tests that spend their time in kernels."""

from numba import config


def size(*, compiled, plain):
    """How large to make a test: `plain` where kernels run as plain Python (`make test-nojit`)."""
    return plain if config.DISABLE_JIT else compiled
