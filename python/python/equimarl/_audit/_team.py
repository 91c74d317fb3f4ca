"""An environment and a group together: everything that agents see, do and get, as vectors that transform."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Rep
from .._groups import rep as _rep
from ._action import GroupAction, everywhere

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """What happened in a step: joint vectors over all agents."""

    observations: Numbers
    present: NDArray[np.bool_]
    rewards: Numbers
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]


class Team:
    """The agents of an environment, and how the group acts on all of them.

    Observations of all agents stand one after the other in one vector, and so do actions: choices as ones and zeros, which
    permutations permute. Agents that have left are zeros.
    """

    def __init__(self, env: Any, action: GroupAction) -> None:
        check_env(env)
        self.env = env
        self.action = action
        self.group = action.group
        self.agents: list[str] = list(env.possible_agents)
        if not self.agents or len(set(self.agents)) != len(self.agents):
            raise ValueError(f"`possible_agents` must name every agent once, not {self.agents}")
        self.index = {agent: k for k, agent in enumerate(self.agents)}
        self.to = self._agents()
        self.sees = [_Sees(env.observation_space(agent), agent) for agent in self.agents]
        self.does = [_Does(env.action_space(agent), agent) for agent in self.agents]
        self._check_pairs()
        self.seen = _slices([one.size for one in self.sees])
        self.done = _slices([one.size for one in self.does])
        self._turn_seen = self._observation_maps()
        self._turn_done = self._action_maps()

    def _agents(self) -> NDArray[np.int64]:
        """Where every element sends agents."""
        still = np.arange(len(self.agents))
        of = {}
        for g in self.group.generators:
            name, to = self.group.names[g], still.copy()
            for agent, image in self.action.agents.get(name, {}).items():
                if agent not in self.index:
                    raise ValueError(f"`agents` of {name!r} has {agent!r}; the agents are {', '.join(map(str, self.agents))}")
                to[self.index[agent]] = self.index[image]
            of[g] = to.tolist()
        return everywhere(self.group, still, of, "`agents`")

    def _check_pairs(self) -> None:
        for g in self.group.generators:
            for i, j in enumerate(self.to[g]):
                if self.sees[i].shape != self.sees[j].shape or not self.does[i].same(self.does[j]):
                    raise ValueError(
                        f"{self.group.names[g]} sends {self.agents[i]} to {self.agents[j]}, and they do not see and do "
                        "things of the same kind"
                    )

    def _of(self, what: str, agent: str) -> Any:
        given = getattr(self.action, what)
        if not isinstance(given, Mapping):
            return given
        if agent not in given:
            raise ValueError(f"`{what}` has no representation for {agent}; it has {', '.join(given) or 'none'}")
        return given[agent]

    def _observation_maps(self) -> list[list[NDArray[Any] | None]]:
        """Per element and agent a matrix, or for images where each pixel comes from; None where a function does it."""
        if callable(self.action.observations):
            return []
        maps: list[list[NDArray[Any] | None]] = [[] for _ in self.group.elements]
        for agent, sees in zip(self.agents, self.sees, strict=True):
            one = self._of("observations", agent)
            if isinstance(one, str):
                for g, gather in enumerate(_image(self.action, sees)):
                    maps[g].append(gather)
                continue
            if one.dim != sees.size:
                raise ValueError(
                    f"`observations` has {one.dim} numbers, and {agent} observes {sees.size} (of shape {sees.shape}); say "
                    "how the group acts on every one of them"
                )
            for g, matrix in enumerate(one.matrices()):
                maps[g].append(tidy(matrix))
        for g in self.group.generators:
            for i, j in enumerate(self.to[g]):
                if not np.array_equal(maps[g][i], maps[g][j]):  # type: ignore[arg-type]
                    raise ValueError(
                        f"{self.group.names[g]} sends {self.agents[i]} to {self.agents[j]}, so they need the same "
                        "representation of observations"
                    )
        return maps

    def _action_maps(self) -> list[list[Numbers]]:
        maps: list[list[Numbers]] = [[] for _ in self.group.elements]
        for agent, does in zip(self.agents, self.does, strict=True):
            one: Rep = self._of("actions", agent)
            does.check(one)
            for g, matrix in enumerate(one.matrices()):
                maps[g].append(tidy(matrix))
        return maps

    def vector(self, seen: Mapping[str, Any], when: str) -> tuple[Numbers, NDArray[np.bool_]]:
        """What all agents see, and who is there."""
        joint, present = np.zeros(self.seen[-1].stop), np.zeros(len(self.agents), bool)
        for agent, one in seen.items():
            k = self.index.get(agent)
            if k is None:
                raise ValueError(
                    f"the environment has an agent {agent!r} {when} that is none of `possible_agents`: "
                    f"{', '.join(map(str, self.agents))}"
                )
            joint[self.seen[k]] = self.sees[k].numbers(one, when)
            present[k] = True
        return joint, present

    def draw(self, rng: np.random.Generator) -> Numbers:
        """Uniformly random actions of all agents."""
        return np.concatenate([does.draw(rng) for does in self.does])

    def choices(self, joint: Numbers) -> dict[str, Any]:
        """These actions, for those agents that are there."""
        return {agent: self.does[self.index[agent]].choice(joint[self.done[self.index[agent]]]) for agent in self.env.agents}

    def turn_actions(self, g: int, joint: Numbers) -> Numbers:
        """Transformed actions, one row per step or a single one."""
        out = np.empty_like(joint)
        for i, j in enumerate(self.to[g]):
            out[..., self.done[j]] = joint[..., self.done[i]] @ self._turn_done[g][i].T
        return out

    def turn_observations(self, g: int, joint: Numbers, present: NDArray[np.bool_]) -> Numbers:
        """Transformed observations, one row per step or a single one."""
        out = np.empty_like(joint)
        for i, j in enumerate(self.to[g]):
            block = joint[..., self.seen[i]]
            if not self._turn_seen:
                out[..., self.seen[j]] = self._turned_by_function(g, i, j, block, present[..., i])
                continue
            turn = self._turn_seen[g][i]
            assert turn is not None
            out[..., self.seen[j]] = block[..., turn] if turn.ndim == 1 else block @ turn.T
        return out

    def _turned_by_function(self, g: int, i: int, j: int, block: Numbers, there: NDArray[np.bool_]) -> Numbers:
        function, sees = self.action.observations, self.sees[i]
        assert callable(function)
        rows, out = block.reshape(-1, sees.size), np.zeros((block.size // sees.size, sees.size))
        for k in np.flatnonzero(np.reshape(there, -1)):
            turned = np.asarray(function(self.group.names[g], self.agents[i], rows[k].reshape(sees.shape)), float)
            if turned.shape != self.sees[j].shape:
                raise ValueError(
                    f"`observations` gave an array {turned.shape} for {self.agents[i]}, and {self.agents[j]} observes "
                    f"{self.sees[j].shape}"
                )
            out[k] = turned.ravel()
        return out.reshape(block.shape)

    def turn_each(self, g: int, one: NDArray[Any]) -> NDArray[Any]:
        """Something that each agent has one of (rewards, ends), transformed."""
        out = np.empty_like(one)
        out[..., self.to[g]] = one
        return out

    def reset(self, seed: int | None, options: dict[str, Any] | None = None) -> tuple[Numbers, NDArray[np.bool_]]:
        """Begins an episode: what all agents see."""
        answer = self.env.reset(seed=seed) if options is None else self.env.reset(seed=seed, options=options)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ValueError("`reset` must give (observations, infos), as PettingZoo's ParallelEnv does")
        if not self.env.agents:
            raise ValueError("no agent is there after `reset`, so there is nothing to audit")
        return self.vector(answer[0], "after reset")

    def step(self, joint: Numbers, when: str) -> Step:
        """One step of the whole team."""
        answer = self.env.step(self.choices(joint))
        if not isinstance(answer, tuple) or len(answer) != 5:
            raise ValueError(
                "`step` must give (observations, rewards, terminations, truncations, infos), as PettingZoo's ParallelEnv does"
            )
        seen, rewards, terminations, truncations, _ = answer
        observations, present = self.vector(seen, when)
        each = [self._each(name, one, when) for name, one in
                (("rewards", rewards), ("terminations", terminations), ("truncations", truncations))]
        return Step(observations, present, each[0], each[1] > 0, each[2] > 0)

    def _each(self, name: str, given: Mapping[str, Any], when: str) -> Numbers:
        out = np.zeros(len(self.agents))
        for agent, one in given.items():
            if agent not in self.index:
                raise ValueError(f"`{name}` names an agent {agent!r} {when} that is none of `possible_agents`")
            out[self.index[agent]] = float(one)
        if not np.isfinite(out).all():
            raise ValueError(f"`{name}` has a number {when} that is not finite: {dict(given)}")
        return out


class _Sees:
    """What an agent sees: numbers, or one of some things."""

    def __init__(self, space: Any, agent: str) -> None:
        self.agent, self.choices = agent, _count(space)
        shape = (self.choices,) if self.choices is not None else getattr(space, "shape", None)
        if shape is None or not hasattr(space, "low") and self.choices is None:
            raise ValueError(
                f"{agent} observes {space}; an audit needs a Box or Discrete space (flatten others, for example by a wrapper)"
            )
        self.shape = tuple(int(n) for n in shape)
        self.size = int(np.prod(self.shape))
        self.start = int(getattr(space, "start", 0))

    def numbers(self, seen: Any, when: str) -> Numbers:
        if self.choices is not None:
            return one_hot(self.choices, int(seen) - self.start, f"{self.agent} observes {seen} {when}")
        try:
            array = np.asarray(seen, float)
        except (TypeError, ValueError):
            raise ValueError(f"what {self.agent} observes {when} is no array of numbers but {type(seen).__name__}") from None
        if array.shape != self.shape:
            raise ValueError(f"{self.agent} observes an array {array.shape} {when}, and its space is {self.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{self.agent} observes a number {when} that is not finite")
        return array.ravel()


class _Does:
    """What an agent does: a choice, or a vector of a box."""

    def __init__(self, space: Any, agent: str) -> None:
        self.agent, self.choices = agent, _count(space)
        self.start = int(getattr(space, "start", 0))
        self.radius: float | None = None
        self.low = self.high = np.zeros(0)
        if self.choices is not None:
            self.size = self.choices
            return
        low, high = getattr(space, "low", None), getattr(space, "high", None)
        if low is None or high is None:
            raise ValueError(f"{agent} acts in {space}; an audit needs a Discrete or Box space")
        self.shape, self.dtype = np.shape(low), getattr(space, "dtype", np.float32)
        self.low, self.high = np.ravel(low).astype(float), np.ravel(high).astype(float)
        self.size = self.low.size
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            raise ValueError(f"{agent} acts in a Box without bounds, and nobody can draw uniformly from it; bound it")

    def same(self, other: "_Does") -> bool:
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
        if self.radius is None:
            return rng.uniform(self.low, self.high)
        direction: Numbers = rng.normal(size=self.size)
        length = float(self.radius * rng.random() ** (1 / self.size) / np.linalg.norm(direction))
        return length * direction

    def choice(self, encoded: Numbers) -> Any:
        if self.choices is not None:
            return self.start + int(encoded.argmax())
        return np.clip(encoded, self.low, self.high).reshape(self.shape).astype(self.dtype)


def check_env(env: Any) -> None:
    """Refuses what is no ParallelEnv, and says what to do."""
    wanted = ["reset", "step", "possible_agents", "action_space", "observation_space"]
    missing = [name for name in wanted if not hasattr(env, name)]
    if hasattr(env, "agent_iter") or hasattr(env, "agent_selection"):
        raise TypeError("this environment takes turns (AEC); convert it with pettingzoo.utils.aec_to_parallel")
    if missing:
        raise TypeError(f"{type(env).__name__} is no PettingZoo ParallelEnv: it has no {', '.join(missing)}")


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


def _image(action: GroupAction, sees: _Sees) -> list[NDArray[np.int64]]:
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


def _count(space: Any) -> int | None:
    """How many choices a Discrete space has; None for other spaces."""
    n = getattr(space, "n", None)
    return int(n) if isinstance(n, int | np.integer) and not hasattr(space, "low") else None


def _slices(sizes: list[int]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
