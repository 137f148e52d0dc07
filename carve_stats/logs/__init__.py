"""Readers of replay logs, one a file: a path or a data frame in, ReplayCounts out."""
