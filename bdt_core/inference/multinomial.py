"""Multinomial numbers that are the same on every version of NumPy, whose own may change with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def draw_multinomials(rng: np.random.Generator, sizes: NDArray[np.int64], shares: Floats, draws: int) -> Floats:
    """Divide rows among kinds by chance, shape (draws, groups, kinds): whole numbers that add up to the sizes.

    Only the generator's uniform numbers are used. `sizes` are the rows of each group; `shares`, how likely each kind
    is, add up to 1.
    """
    left = np.broadcast_to(sizes, (draws, sizes.size)).astype(np.float64)
    drawn = np.empty((draws, sizes.size, shares.size))
    rest = np.cumsum(shares[::-1])[::-1]
    for kind, (share, among) in enumerate(zip(shares[:-1], rest[:-1], strict=True)):
        chance = min(share / among, 1.0) if among > 0 else 0.0
        drawn[..., kind] = binomials_of(rng.random(left.shape), left, chance)
        left = left - drawn[..., kind]
    drawn[..., -1] = left
    return drawn


def binomials_of(uniform: Floats, n: Floats, p: float) -> Floats:
    """Turn uniform numbers from 0 to 1 into binomial ones, by inversion that begins at the mode.

    Values are taken in the order mode, one more, one less, two more, ..., so that about as many steps are made as the
    distribution is wide (Kemp, C.D. 1986, A modal method for generating binomial variables).
    """
    from scipy.special import gammaln, xlog1py, xlogy

    shape, n = uniform.shape, n.ravel()
    mode = np.minimum(np.floor((n + 1.0) * p), n)
    at_mode = gammaln(n + 1.0) - gammaln(mode + 1.0) - gammaln(n - mode + 1.0) + xlogy(mode, p) + xlog1py(n - mode, -p)
    drawn = mode.copy()
    above = below = np.exp(at_mode)
    left = uniform.ravel() - above
    odds = p / (1.0 - p) if p < 1.0 else 0.0  # of 1, the mode is all there is
    rows, step = np.arange(n.size), 0.0
    while True:
        going = (left > 0.0) & ((above > 0.0) | (below > 0.0))
        rows, n, mode, above, below, left = (one[going] for one in (rows, n, mode, above, below, left))
        if not rows.size:
            return drawn.reshape(shape)
        up, down = mode + step, mode - step
        above = above * np.maximum(n - up, 0.0) / (up + 1.0) * odds
        left = left - above
        drawn[rows[left <= 0.0]] = up[left <= 0.0] + 1.0
        further = left > 0.0
        below = below * np.maximum(down, 0.0) / (n - down + 1.0) / odds if odds else np.zeros_like(below)
        left = np.where(further, left - below, left)
        ends = further & (left <= 0.0)
        drawn[rows[ends]] = down[ends] - 1.0
        step += 1.0
