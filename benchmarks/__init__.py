"""Benchmarks: the same work done by this library, by its peers and by no library at all, side by side."""
