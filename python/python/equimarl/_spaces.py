"""What the spaces of an environment say, whoever made them: anything with the attributes of gymnasium's spaces will do."""

from typing import Any

import numpy as np


def count(space: Any) -> int | None:
    """How many choices a Discrete space has; None for other spaces."""
    n = getattr(space, "n", None)
    # A MultiBinary space has an `n`, too, and the shape of a vector.
    single = getattr(space, "shape", None) in ((), None) and not hasattr(space, "low")
    return int(n) if isinstance(n, int | np.integer) and not isinstance(n, bool) and single else None


def first(space: Any) -> int:
    """The number of the first choice: a Discrete space may begin elsewhere than at 0."""
    start = getattr(space, "start", 0)
    return int(start) if np.ndim(start) == 0 else 0


def first_choice(env: Any, agent: Any) -> int:
    """The number of an agent's first choice; 0 if the environment does not say."""
    return first(env.action_space(agent)) if callable(getattr(env, "action_space", None)) else 0


def is_bytes(space: Any) -> bool:
    """Whether what is seen are bytes, such as pixels from 0 to 255."""
    return getattr(space, "dtype", None) == np.uint8 and float(np.max(getattr(space, "high", 0))) == 255
