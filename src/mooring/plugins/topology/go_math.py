"""Logarithms and rounding as Go computes them, to the last bit: scores depend on it.

C's log differs from Go's by one unit in the last place for one integer in a hundred.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import frexp, sqrt

import numpy as np
from numpy.typing import NDArray

from mooring.framework.api.growing_ints import Ints

Floats = NDArray[np.float64]

LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)
NO_HALVES = 2.0**52  # from here on all numbers are whole
HALF_SQRT2 = sqrt(2) / 2


@lru_cache(maxsize=1024)  # of numbers of nodes and domains, which are the same from pod to pod
def log(x: float) -> float:
    """The natural logarithm of a positive number."""
    fraction, exponent = frexp(x)
    if fraction < HALF_SQRT2:
        fraction, exponent = fraction * 2, exponent - 1
    f, k = fraction - 1, float(exponent)
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (ODD[0] + s4 * (ODD[1] + s4 * (ODD[2] + s4 * ODD[3])))
    even = s4 * (EVEN[0] + s4 * (EVEN[1] + s4 * EVEN[2]))
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + (odd + even)) + k * LN2_LOW)) - f)


def half_away_each(numbers: Sequence[float]) -> list[int]:
    """`half_away` of a few."""
    if not numbers or min(numbers) < 0.5 or max(numbers) > NO_HALVES / 2:
        return [half_away(x) for x in numbers]
    return [int(x + 0.5) for x in numbers]  # in between, adding a half never rounds up to a whole number


def half_away_all(x: Floats) -> Ints:
    """`half_away` of many."""
    whole = np.trunc(x)
    rest = x - whole
    return whole.astype(np.int64) + (rest >= 0.5) - (rest <= -0.5)


def half_away(x: float) -> int:
    """To the nearest integer, halves away from zero."""
    if x < 0:
        return -half_away(-x)
    whole = int(x)
    return whole + (x - whole >= 0.5)
