"""An environment and a group together: everything that agents see, do and get, as vectors that transform."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Rep
from .._foreign import heard_by
from ._action import GroupAction, everywhere
from ._parts import Does, Numbers, Sees, image_maps, tidy


@dataclass(frozen=True)
class Step:
    """What happened in a step: joint vectors over all agents."""

    observations: Numbers
    present: NDArray[np.bool_]
    rewards: Numbers
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]


class Joint:
    """The agents of an environment, and how the group acts on all of them.

    Observations of all agents stand one after the other in one vector, and so do actions: choices as ones and zeros, which
    permutations permute. Agents that have left are zeros. After all observations comes who hears whom, if that is declared: for every
    pair of agents a one or a zero, and the edge vector.
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
        self.sees = [Sees(env.observation_space(agent), agent) for agent in self.agents]
        self.does = [Does(env.action_space(agent), agent) for agent in self.agents]
        self._check_pairs()
        self.seen = _slices([one.size for one in self.sees])
        self.done = _slices([one.size for one in self.does])
        count, edges = len(self.agents), action.edges
        #: Numbers per pair of agents: whether the first hears the second, and the edge vector.
        self._per_pair = 0 if edges is None else 1 + edges.dim
        self._turn_edges = [] if edges is None else [tidy(matrix) for matrix in edges.matrices()]
        self._heard = self.seen[-1].stop
        #: How many numbers a joint observation has, and whose each of them is.
        self.width = self._heard + count * count * self._per_pair
        everybody = np.arange(count)
        self.owner = np.repeat(np.tile(everybody, 2), [one.size for one in self.sees] + [count * self._per_pair] * count)
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
            raise ValueError(f"`{what}` has no representation for {agent}; it has {', '.join(map(str, given)) or 'none'}")
        return given[agent]

    def _observation_maps(self) -> list[list[NDArray[Any] | None]]:
        """Per element and agent a matrix, or for images where each pixel comes from; None where a function does it."""
        if callable(self.action.observations):
            return []
        maps: list[list[NDArray[Any] | None]] = [[] for _ in self.group.elements]
        for agent, sees in zip(self.agents, self.sees, strict=True):
            one = self._of("observations", agent)
            if isinstance(one, str):
                for g, gather in enumerate(image_maps(self.action, sees)):
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
        joint, present = np.zeros(self.width), np.zeros(len(self.agents), bool)
        _check_dict("observations", seen, when)
        for agent, one in seen.items():
            k = self.index.get(agent)
            if k is None:
                raise ValueError(
                    f"the environment has an agent {agent!r} {when} that is none of `possible_agents`: "
                    f"{', '.join(map(str, self.agents))}"
                )
            joint[self.seen[k]] = self.sees[k].numbers(one, when)
            present[k] = True
        if self.action.neighbours is not None:
            pairs = joint[self._heard :].reshape(len(self.agents), len(self.agents), self._per_pair)
            for agent in self.env.agents:
                given = self.action.neighbours(self.env, agent)
                for other, vector in heard_by(given, agent, self.index, self._per_pair - 1):
                    pairs[self.index[agent], other] = [1.0, *vector]
        return joint, present

    def place(self, k: int) -> str:
        """What a number of a joint observation is, in words."""
        if k < self._heard:
            i = int(self.owner[k])
            return f"observation[{k - self.seen[i].start}] of {self.agents[i]}"
        pair, which = divmod(k - self._heard, self._per_pair)
        hearer, other = (self.agents[i] for i in divmod(pair, len(self.agents)))
        return f"edge[{which - 1}] from {other} to {hearer}" if which else f"hearing of {other} by {hearer}"

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
        if self._per_pair:
            count, to = len(self.agents), self.to[g]
            pairs = joint[..., self._heard :].reshape(*joint.shape[:-1], count, count, self._per_pair)
            moved = np.empty_like(pairs)
            moved[..., to[:, None], to[None], :1] = pairs[..., :1]
            moved[..., to[:, None], to[None], 1:] = pairs[..., 1:] @ self._turn_edges[g].T
            out[..., self._heard :] = moved.reshape(*joint.shape[:-1], -1)
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
        _check_dict(name, given, when)
        for agent, one in given.items():
            if agent not in self.index:
                raise ValueError(f"`{name}` names an agent {agent!r} {when} that is none of `possible_agents`")
            try:
                out[self.index[agent]] = float(one)
            except (TypeError, ValueError):
                raise TypeError(f"`{name}` of {agent} is {one!r} {when}, which is no number") from None
        if not np.isfinite(out).all():
            raise ValueError(f"`{name}` has a number {when} that is not finite: {dict(given)}")
        return out


def _check_dict(name: str, given: Any, when: str) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(f"`{name}` is a {type(given).__name__} {when}; in a ParallelEnv it is a dict with the agents as keys")


def check_env(env: Any) -> None:
    """Refuses what is no ParallelEnv, and says what to do."""
    wanted = ["reset", "step", "possible_agents", "action_space", "observation_space"]
    missing = [name for name in wanted if not hasattr(env, name)]
    if hasattr(env, "agent_iter") or hasattr(env, "agent_selection"):
        raise TypeError("this environment takes turns (AEC); convert it with pettingzoo.utils.aec_to_parallel")
    if missing:
        hint = "; equimarl.zoo.parallel_env makes one of the same world" if type(env).__name__ == "Batch" else ""
        raise TypeError(f"{type(env).__name__} is no PettingZoo ParallelEnv: it has no {', '.join(missing)}{hint}")


def _slices(sizes: list[int]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
