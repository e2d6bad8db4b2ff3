"""How this package compiles: cached on disk, without the GIL, divisions as in C, never fastmath.

Python's check for division by zero would keep loops from using vector registers.
"""

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy")
