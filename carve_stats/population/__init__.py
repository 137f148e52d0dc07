"""Distributions of (p_sham, p_destroy): fitted and sampled from."""
