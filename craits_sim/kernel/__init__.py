"""Everything compiled, and the only place that imports numba."""
