"""Your own environment, audited: is it as symmetric as you would build into a network?

    pip install './python[zoo]'
    python examples/python/audit.py

The environment is an ordinary PettingZoo `ParallelEnv` of forty lines: boats on a square pond collect a buoy. The audit
needs to be told how a group acts on what agents see and do, and nothing else.
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

import equimarl

MOVES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]], np.float32)  # stay, left, right, down, up


class Buoy(ParallelEnv):  # type: ignore[misc]
    """Two boats, a buoy, a square pond. `current` carries boats to the right: then the pond is not symmetric any more."""

    metadata = {"name": "buoy"}

    def __init__(self, current: float = 0.0) -> None:
        self.possible_agents = ["red", "blue"]
        self.current = current
        self._sees, self._does = Box(-4, 4, (6,), np.float32), Discrete(len(MOVES))

    def observation_space(self, agent: str) -> Box:
        return self._sees

    def action_space(self, agent: str) -> Discrete:
        return self._does

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        self.rng = np.random.default_rng(seed)
        self.agents, self.time = list(self.possible_agents), 0
        self.boats, self.buoy = self.rng.uniform(-1, 1, (2, 2)), self.rng.uniform(-1, 1, 2)
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[Any, ...]:
        agents, self.time = self.agents, self.time + 1
        moves = np.array([MOVES[actions[agent]] for agent in agents]) + [self.current, 0]
        self.boats = np.clip(self.boats + 0.2 * moves + self.rng.normal(0, 0.02, (2, 2)), -1, 1)
        near = np.linalg.norm(self.boats - self.buoy, axis=1).min()
        over = self.time >= 20 or near < 0.1
        seen, reward = self._seen(), -float(near)
        self.agents = [] if over else agents
        return seen, *(dict.fromkeys(agents, x) for x in (reward, near < 0.1, over and near >= 0.1)), {a: {} for a in agents}

    def _seen(self) -> dict[str, Any]:
        """Where the boat is, where the other one is from there, and where the buoy is."""
        pairs = [(0, 1), (1, 0)]
        parts = [np.concatenate([self.boats[i], self.boats[j] - self.boats[i], self.buoy - self.boats[i]]) for i, j in pairs]
        return {agent: part.astype(np.float32) for agent, part in zip(self.possible_agents, parts, strict=True)}


# What an agent sees are three vectors (x, y) of the plane. What it does are moves by vectors: the permutation follows.
square = equimarl.GroupAction("D4", observations="3*rotation", actions=MOVES)

if __name__ == "__main__":
    print(equimarl.audit(Buoy(), square), end="\n\n")
    print(equimarl.audit(Buoy(current=0.3), square), end="\n\n")

    # Eight directions are too many for four moves, and that is found without playing a single step.
    try:
        equimarl.GroupAction("C8", observations="3*rotation", actions=MOVES)
    except ValueError as error:
        print(error)
