"""A world of forty lines: ducks swim to a piece of bread. It has no idea of equimarl, nor of PettingZoo."""

from types import SimpleNamespace
from typing import Any

import numpy as np

import equimarl

MOVES = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])  # stay, down, right, up, left


class Pond:
    """A team gets more the nearer it is, and the episode ends when all are there, or after 20 steps."""

    metadata = {"name": "pond_v0"}

    def __init__(self, ducks: int = 2, size: int = 3) -> None:
        self.possible_agents = [f"duck_{k}" for k in range(ducks)]
        self.agents: list[str] = []
        self.size = size

    def action_space(self, agent: str) -> Any:
        return SimpleNamespace(n=5, start=0)

    def observation_space(self, agent: str) -> Any:
        return SimpleNamespace(shape=(2,), low=-2 * self.size, high=2 * self.size)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        rng = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        self.ducks = rng.integers(-self.size, self.size + 1, (len(self.agents), 2))
        self.bread = rng.integers(-self.size, self.size + 1, 2)
        return self.seen(), {agent: {} for agent in self.agents}

    def seen(self) -> dict[str, Any]:
        return {agent: self.bread - duck for agent, duck in zip(self.agents, self.ducks, strict=True)}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        chosen = MOVES[[actions[agent] for agent in self.agents]]
        self.ducks = np.clip(self.ducks + chosen, -self.size, self.size)
        self.steps += 1
        away = np.abs(self.bread - self.ducks).sum()
        team, reward = self.agents, -0.1 * float(away) / len(self.agents) / self.size
        observations = self.seen()
        over = dict.fromkeys(team, bool(away == 0))
        late = dict.fromkeys(team, self.steps >= 20)
        if away == 0 or self.steps >= 20:
            self.agents = []
        return observations, dict.fromkeys(team, reward), over, late, {agent: {} for agent in team}


def neighbours(env: Pond, agent: str) -> list[tuple[str, Any]]:
    here = env.ducks[env.possible_agents.index(agent)]
    return [(other, here - duck) for other, duck in zip(env.possible_agents, env.ducks, strict=True) if other != agent]


#: Silent ducks, and ducks that talk.
SPEC = equimarl.Spec(group="D4", observations="rotation", actions="perm[0 4 1 2 3; 0 1 4 3 2]")
TALKING = equimarl.Spec(
    group="C4", observations="rotation", actions="perm[0 4 1 2 3]", neighbours=neighbours, edges="rotation"
)
