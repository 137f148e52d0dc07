"""The guard around numba's cache."""

import numba
import pytest

from carve_stats._kernels import jit


def plus_one(x):
    return x + 1


def test_a_kernel_computes():
    assert jit.kernel(plus_one)(1) == 2


def test_a_function_without_a_file_compiles_without_a_cache():
    # Numba finds no place for the cache of a function that stands in no file, and says so in
    # the same way as for a read-only install.
    namespace = {}
    exec("def plus_two(x):\n    return x + 2\n", namespace)
    assert jit.kernel(namespace["plus_two"])(1) == 3


def test_only_the_cache_is_given_up(monkeypatch):
    asked = []

    def without_cache(**options):
        asked.append(options)
        if options["cache"]:
            raise RuntimeError("cannot cache function 'plus_one': no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(jit, "njit", without_cache)
    assert jit.kernel(plus_one)(1) == 2
    first, second = asked
    assert (first.pop("cache"), second.pop("cache")) == (True, False)
    assert first == second


def test_other_errors_are_not_swallowed(monkeypatch):
    def broken(**options):
        raise TypeError("no such option")

    monkeypatch.setattr(jit, "njit", broken)
    with pytest.raises(TypeError, match="no such option"):
        jit.kernel(plus_one)
