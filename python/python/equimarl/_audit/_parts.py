"""What one agent sees and does, as numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Rep
from .._groups import rep as _rep
from .._spaces import count, first
from ._action import GroupAction

Numbers = NDArray[np.float64]


class Sees:
    """What an agent sees: numbers, or one of some things."""

    def __init__(self, space: Any, agent: str) -> None:
        self.agent, self.choices = agent, count(space)
        shape = (self.choices,) if self.choices is not None else getattr(space, "shape", None)
        if shape is None or not hasattr(space, "low") and self.choices is None:
            raise ValueError(
                f"{agent} observes {space}; an audit needs a Box or Discrete space (flatten others, for example by a wrapper)"
            )
        self.shape = tuple(int(n) for n in shape)
        self.size = int(np.prod(self.shape))
        self.start = first(space)

    def numbers(self, seen: Any, when: str) -> Numbers:
        if self.choices is not None:
            try:
                which = int(seen)
            except (TypeError, ValueError):
                raise ValueError(f"what {self.agent} observes {when} is {seen!r}, and its space is Discrete") from None
            return one_hot(self.choices, which - self.start, f"{self.agent} observes {seen} {when}")
        try:
            array = np.asarray(seen, float)
        except (TypeError, ValueError):
            raise ValueError(f"what {self.agent} observes {when} is no array of numbers but {type(seen).__name__}") from None
        if array.shape != self.shape:
            raise ValueError(f"{self.agent} observes an array {array.shape} {when}, and its space is {self.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{self.agent} observes a number {when} that is not finite")
        return array.ravel()


class Does:
    """What an agent does: a choice, or a vector of a box."""

    def __init__(self, space: Any, agent: str) -> None:
        self.agent, self.choices = agent, count(space)
        self.start = first(space)
        self.radius: float | None = None
        self.low = self.high = np.zeros(0)
        self.dtype = np.dtype(np.float32)
        if self.choices is not None:
            self.size = self.choices
            return
        low, high = getattr(space, "low", None), getattr(space, "high", None)
        if low is None or high is None:
            raise ValueError(f"{agent} acts in {space}; an audit needs a Discrete or Box space")
        self.shape, self.dtype = np.shape(low), np.dtype(getattr(space, "dtype", np.float32))
        self.low, self.high = np.ravel(low).astype(float), np.ravel(high).astype(float)
        self.size = self.low.size
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            raise ValueError(f"{agent} acts in a Box without bounds, and nobody can draw uniformly from it; bound it")

    def same(self, other: "Does") -> bool:
        return (
            (self.choices, self.size, self.start) == (other.choices, other.size, other.start)
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
        )

    def check(self, rep: Rep) -> None:
        """Refuses a representation that does not fit the actions."""
        group, n = rep.group, self.size
        if self.choices is not None:
            if rep.dim == n and rep.is_permutation:
                return
            high = max(group.elements, key=lambda g: _order(group.table, g))
            order, points = _order(group.table, high), fewest_points(_order(group.table, high))
            why = (
                f"; no permutation of {n} actions fits {group.name} with all of its turns: {group.names[high]} has order "
                f"{order}, which takes at least {points} actions"
                if points > n
                else f"; give a permutation of them, `perm[...]`, or the {n} actions as vectors"
            )
            kind = f"has {rep.dim} numbers" if rep.dim != n else "does not permute choices"
            raise ValueError(f"`actions` {kind}, and {self.agent} has {n} choices{why}")
        if rep.dim != n:
            raise ValueError(f"`actions` has {rep.dim} numbers, and {self.agent} acts by {n}")
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        all_of_them = rep.matrices()
        near = 1e-6 * max(1.0, float(np.abs(self.high).max()))
        stays = all(
            np.abs(m @ middle - middle).max() <= near and np.abs(np.abs(m) @ half - half).max() <= near
            for m in all_of_them
        )
        if self.dtype.kind in "iu":
            if stays and np.array_equal(all_of_them.round(), tidy(all_of_them)):
                return
            raise ValueError(
                f"{group.name} does not map the whole numbers that {self.agent} acts by, from {self.low} to {self.high}, to "
                "themselves; give its Box a floating-point dtype, or permute and change signs only"
            )
        if stays:
            return
        orthogonal = np.abs(all_of_them @ all_of_them.transpose(0, 2, 1) - np.eye(n)).max() < 1e-9
        radius = float(min(self.high.min(), -self.low.max()))
        if not orthogonal or radius <= 0:
            raise ValueError(
                f"{group.name} does not map the actions of {self.agent}, from {self.low} to {self.high}, to themselves"
            )
        # The corners of the box are turned out of it; the ball inside stays.
        self.radius = radius

    def draw(self, rng: np.random.Generator) -> Numbers:
        if self.choices is not None:
            return one_hot(self.choices, int(rng.integers(self.choices)), "")
        if self.dtype.kind in "iu":
            return rng.integers(self.low.astype(np.int64), self.high.astype(np.int64), endpoint=True).astype(float)
        if self.radius is None:
            return rng.uniform(self.low, self.high)
        direction: Numbers = rng.normal(size=self.size)
        length = float(self.radius * rng.random() ** (1 / self.size) / np.linalg.norm(direction))
        return length * direction

    def choice(self, encoded: Numbers) -> Any:
        if self.choices is not None:
            return self.start + int(encoded.argmax())
        return np.clip(encoded, self.low, self.high).reshape(self.shape).astype(self.dtype)


def one_hot(count: int, which: int, what: str) -> Numbers:
    """A choice as ones and zeros."""
    if not 0 <= which < count:
        raise ValueError(f"{what}, and there are {count} of these")
    out = np.zeros(count)
    out[which] = 1.0
    return out


def tidy(matrix: Numbers) -> Numbers:
    """Nearly whole numbers are whole: then turning by quarters is exact."""
    whole = np.round(matrix)
    return np.where(np.abs(matrix - whole) < 1e-9, whole, matrix) + 0.0


def fewest_points(order: int) -> int:
    """The fewest points that a permutation of this order moves: the sum of the prime powers of the order."""
    points, prime = 0, 2
    while order > 1:
        power = 1
        while order % prime == 0:
            order, power = order // prime, power * prime
        points, prime = points + (power if power > 1 else 0), prime + 1
    return points


def _order(table: NDArray[np.int64], g: int) -> int:
    order, at = 1, g
    while at != 0:
        order, at = order + 1, int(table[at, g])
    return order


def image_maps(action: GroupAction, sees: Sees) -> list[NDArray[np.int64]]:
    """Where the pixels of a turned image come from, per element."""
    if len(sees.shape) not in (2, 3) or sees.shape[-1] != sees.shape[-2]:
        raise ValueError(f"`observations` is \"image\", and {sees.agent} observes {sees.shape}, not [channels, n, n] or [n, n]")
    try:
        turns = _rep(action.group, "rotation")
    except ValueError as error:
        raise ValueError(f"{action.group.name} does not turn images: {error}") from None
    n, channels = sees.shape[-1], sees.size // sees.shape[-1] ** 2
    rows, columns = np.divmod(np.arange(n * n), n)
    places = 2 * np.stack([rows, columns]) - (n - 1)
    maps = []
    for g in action.group.elements:
        back = tidy(turns.matrices(int(action.group.inverses[g])))
        if not np.array_equal(back, np.round(back)):
            raise ValueError(f"{action.group.names[g]} of {action.group.name} does not turn images pixel by pixel")
        from_row, from_column = (back @ places + (n - 1)).astype(np.int64) // 2
        one = from_row * n + from_column
        maps.append(np.concatenate([one + c * n * n for c in range(channels)]))
    return maps
