"""A small environment to be audited: boats on a square pond, symmetric under turns, mirrors and exchanged boats, and as many
ways to break that. It needs no PettingZoo: spaces are whatever has `n`, or `low`, `high` and `shape`."""

from types import SimpleNamespace
from typing import Any

import numpy as np

#: stay, left, right, down, up
MOVES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]], float)


class Pond:
    """Boats move by 0.1 with some noise, bounce off the shore, and want to be near the middle and each other.

    Ways to break the symmetry, each by a size: `wind` to the right, `uneven` (moves to the right are longer), `favour` (the
    right side is rewarded more), `crooked` (what a boat sees of itself is sheared), `corner` (boats start on the right).
    """

    def __init__(
        self,
        boats: int = 2,
        *,
        length: int = 10,
        noise: float = 0.05,
        continuous: bool = False,
        wind: float = 0.0,
        uneven: float = 0.0,
        favour: float = 0.0,
        crooked: float = 0.0,
        corner: float = 0.0,
    ) -> None:
        self.possible_agents = [f"boat_{k}" for k in range(boats)]
        self.agents: list[str] = []
        self.length, self.noise, self.continuous = length, noise, continuous
        self.wind, self.uneven, self.favour, self.crooked, self.corner = wind, uneven, favour, crooked, corner
        self.places, self.time = np.zeros((boats, 2)), 0
        self.rng = np.random.default_rng()

    def observation_space(self, agent: str) -> Any:
        shape = (2 * len(self.possible_agents),)
        return SimpleNamespace(low=np.full(shape, -2.0), high=np.full(shape, 2.0), shape=shape)

    def action_space(self, agent: str) -> Any:
        if self.continuous:
            return SimpleNamespace(low=-np.ones(2, np.float32), high=np.ones(2, np.float32), shape=(2,), dtype=np.float32)
        return SimpleNamespace(n=5)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents, self.time = list(self.possible_agents), 0
        self.places = self.rng.uniform(-1, 1, (len(self.agents), 2)) * [1 - self.corner, 1] + [self.corner, 0]
        if options is not None and "state" in options:
            self.places = np.array(options["state"], float).reshape(-1, 2)
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        agents = self.agents
        moves = np.array([actions[a] if self.continuous else MOVES[actions[a]] for a in agents], float)
        moves[:, 0] += self.uneven * np.maximum(moves[:, 0], 0) + self.wind
        drift = self.noise * self.rng.normal(size=moves.shape) if self.noise else 0.0
        self.places = np.clip(self.places + 0.1 * moves + drift, -1, 1)
        self.time += 1
        reward = -np.abs(self.places).sum() + self.favour * self.places[:, 0].sum()
        over = self.time >= self.length
        self.agents = [] if over else agents
        return (
            self._seen(agents),
            dict.fromkeys(agents, float(reward)),
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, over),
            {agent: {} for agent in agents},
        )

    def state(self) -> Any:
        return self.places.ravel().copy()

    def _seen(self, agents: list[str] | None = None) -> dict[str, Any]:
        own = self.places + self.crooked * self.places[:, ::-1] * [1, 0]
        others = [np.delete(self.places, k, 0) - here for k, here in enumerate(self.places)]
        return {
            agent: np.concatenate([own[k], others[k].ravel()])
            for k, agent in enumerate(self.possible_agents)
            if agent in (self.agents if agents is None else agents)
        }


class Settable(Pond):
    """The same, where states can be set."""

    def get_state(self) -> Any:
        return {"places": self.places, "time": self.time, "agents": list(self.agents)}

    def set_state(self, state: Any) -> None:
        self.places, self.time, self.agents = state["places"].copy(), state["time"], list(state["agents"])
