"""Numba kernels: scalars and 1-D arrays in, out arrays; no checks."""
