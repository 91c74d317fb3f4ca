"""An environment of your own, audited, and trained with its symmetry built in: one page.

    pip install './python[zoo]'
    python examples/python/own_environment.py

Shepherds on a square meadow walk to their sheep; a team gets more the nearer they are. Turned by a quarter, the meadow is the same
meadow: if a shepherd and everything it sees are turned, its best move turns along. So the network can have that from the start, and
need not learn it four times.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

import equimarl

MOVES = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])  # stay, down, right, up, left


class Meadow(ParallelEnv):
    """An ordinary PettingZoo environment: nothing in it knows of equimarl."""

    metadata = {"name": "meadow"}

    def __init__(self, shepherds: int = 3, size: int = 4, limit: int = 25) -> None:
        self.possible_agents = [f"shepherd_{k}" for k in range(shepherds)]
        self.agents: list[str] = []
        self.size, self.limit = size, limit

    def observation_space(self, agent: str) -> Box:
        return Box(-np.inf, np.inf, (5,), np.float32)

    def action_space(self, agent: str) -> Discrete:
        return Discrete(5)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        rng = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        self.places, self.sheep = rng.integers(-self.size, self.size + 1, (2, len(self.agents), 2))
        return self.look(), {agent: {} for agent in self.agents}

    def look(self) -> dict[str, Any]:
        """How much of the day is left, where the own sheep is, and where the middle is."""
        left = 1 - self.steps / self.limit
        to_sheep, to_middle = self.sheep - self.places, -self.places
        return {
            agent: np.array([left, *to_sheep[k], *to_middle[k]], np.float32) for k, agent in enumerate(self.agents)
        }

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        team = self.agents
        self.places = np.clip(self.places + MOVES[[actions[a] for a in team]], -self.size, self.size)
        self.steps += 1
        away = np.abs(self.places - self.sheep).sum(axis=1).mean()
        reward = 0.1 * (1 - float(away) / self.size)
        late = dict.fromkeys(team, self.steps >= self.limit)
        infos: dict[str, Any] = {a: {} for a in team}
        answer = self.look(), dict.fromkeys(team, reward), dict.fromkeys(team, False), late, infos
        if self.steps >= self.limit:
            self.agents = []
        return answer


def neighbours(env: Meadow, agent: str) -> Iterator[tuple[str, Any]]:
    """Shepherds hear those who are near: whom, and from where."""
    here = env.places[env.possible_agents.index(agent)]
    for other, there in zip(env.possible_agents, env.places):
        if other != agent and np.abs(here - there).max() <= 4:
            yield other, here - there


# The declaration. What is left of the day stays as it is when the meadow is turned; the two arrows turn.
# A quarter turn makes down to right, right to up, up to left and left to down: choice 1 to 2, 2 to 3, 3 to 4, 4 to 1.
SPEC = equimarl.Spec(
    group="C4",
    observations="trivial + 2*rotation",
    actions="perm[0 4 1 2 3]",
    action_names=["stay", "down", "right", "up", "left"],
    neighbours=neighbours,
    edges="rotation",
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--out", default="runs/meadow")
    asked = parser.parse_args()

    # Is the meadow as symmetric as the declaration says? This can find that it is not, and never prove that it is.
    report = equimarl.audit(Meadow(), SPEC, episodes=100, max_steps=25)
    print(report, end="\n\n")
    if report.refuted:
        raise SystemExit("a network with this symmetry would be wrong here")

    run = equimarl.train(Meadow(), spec=SPEC, steps=asked.steps, evaluate_every=0, out=asked.out)
    played = run.summary["evaluation"]["greedy"]
    print(f"trained: a mean return of {played['return']['mean']:.3f} in {played['episodes']} episodes; the run is {run.path}")

    # The team plays wherever the environment is.
    team, env = equimarl.load(run, spec=SPEC), Meadow()
    observations, infos = env.reset(seed=1)
    total = 0.0
    while env.agents:
        observations, rewards, *_ = env.step(team.act(observations, env))
        total += rewards["shepherd_0"]
    print(f"one episode: {total:.2f}")
