"""Integer matrix products at the speed of floats, where floats are exact."""

from __future__ import annotations

import numpy as np

from mase_hw.numerics.rounding import Integers


def product(x: Integers, matrix: Integers) -> Integers:
    """`x @ matrix`, in the narrowest float whose every partial sum is a whole number it holds, else in integers.

    numpy multiplies integer matrices one number at a time; floats go through BLAS, which is ten times faster and more.
    No sum of some of the terms passes `largest |x| * largest column sum of |matrix|`: below 2**24 (2**53) float32
    (float64) holds them all, in whatever order they are added.
    """
    if not x.size or not matrix.size:
        return np.asarray(x @ matrix, np.int64)
    largest = max(abs(int(x.min())), abs(int(x.max())))
    reach = largest * max(int(np.abs(matrix).sum(axis=0).max()), 1)
    limits = ((np.float32, 24), (np.float64, 53))
    kind = next((kind for kind, bits in limits if max(reach, largest) < 1 << bits), None)
    if kind is None:
        return np.asarray(x @ matrix, np.int64)
    return np.asarray((x.astype(kind) @ matrix.astype(kind)).astype(np.int64))
