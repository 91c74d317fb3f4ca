"""What is compared between episodes: numbers of a whole episode, each with a name.

Per step z = (o, o' - o, a, r), standardised; an episode has the mean over its steps of

    z,  z^2,  (o' - o) a,  (o' - o) o,  o o,  r o,  r (o' - o),  r a,  cos(w z + b) for some random w, b

and its length and ends. A start has o, o^2, o o and cos(w o + b) of its first observations. Means of products see what an
action does to whom, and what is rewarded where; the cosines see what products do not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._team import Numbers, Team

#: More numbers than this per step are projected on random directions.
MOST = 64
WAVES = 256


@dataclass(frozen=True)
class Episode:
    """What happened, in joint vectors over all agents."""

    observations: Numbers
    present: NDArray[np.bool_]
    actions: Numbers
    rewards: Numbers
    ends: Numbers


def turned(team: Team, g: int, episode: Episode) -> Episode:
    """The transformed episode."""
    count = len(team.agents)
    ends = [team.turn_each(g, episode.ends[:, k * count : (k + 1) * count]) for k in range(2)]
    return Episode(
        team.turn_observations(g, episode.observations, episode.present),
        team.turn_each(g, episode.present),
        team.turn_actions(g, episode.actions),
        team.turn_each(g, episode.rewards),
        np.concatenate(ends, 1),
    )


class Table:
    """Episodes as rows of numbers. Everything that is fitted is fitted to all of them, whatever half they are from."""

    def __init__(self, team: Team, episodes: list[Episode], start: bool, rng: np.random.Generator) -> None:
        self.team, self.start = team, start
        observations = np.concatenate([e.observations[:1] if start else e.observations for e in episodes])
        self._squeeze, names = self._squeezed(observations, rng)
        parts = [self._parts(e) for e in episodes]
        self._scales = [_scale(np.concatenate([one[k] for one in parts])) for k in range(len(parts[0]))]
        width = sum(scale[1].size for scale in self._scales)
        self._waves = self._drawn_waves(width, rng)
        self._names = names
        self.rows = np.stack([self._row(e, part) for e, part in zip(episodes, parts, strict=True)])

    def _squeezed(self, seen: Numbers, rng: np.random.Generator) -> tuple[Callable[[Numbers], Numbers], list[str]]:
        if seen.shape[1] <= MOST:
            parts = zip(self.team.agents, self.team.seen, strict=True)
            return lambda x: x, [f"observation[{k}] of {a}" for a, part in parts for k in range(part.stop - part.start)]
        middle, directions = seen.mean(0), rng.normal(size=(seen.shape[1], MOST)) / np.sqrt(seen.shape[1])
        return lambda x: (x - middle) @ directions, [f"projection {k} of what is observed" for k in range(MOST)]

    def _drawn_waves(self, width: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
        """Each wave looks at three of the numbers: what is broken is seldom in all of them."""
        waves = np.zeros((width, WAVES))
        for k in range(WAVES):
            some = rng.choice(width, min(3, width), replace=False)
            waves[some, k] = rng.normal(size=some.size)
        return waves, rng.uniform(0, 2 * np.pi, WAVES)

    def _parts(self, episode: Episode) -> list[Numbers]:
        seen = self._squeeze(episode.observations[:1] if self.start else episode.observations)
        if self.start:
            return [seen]
        return [seen[:-1], np.diff(seen, axis=0), episode.actions, episode.rewards]

    def _row(self, episode: Episode, parts: list[Numbers]) -> NDArray[np.float32]:
        steps = len(parts[0])
        z = [(part - middle) / scale for part, (middle, scale) in zip(parts, self._scales, strict=True)]
        everything = np.concatenate(z, 1)
        waves, shift = self._waves
        out = [everything.mean(0), (everything**2).mean(0)]
        out += [(z[i].T @ z[j]).ravel() / steps for i, j in self._products()]
        out.append(np.cos(everything @ waves + shift).mean(0))
        if not self.start:
            out += [episode.present.mean(0), episode.ends.mean(0), np.array([float(steps)])]
        return np.concatenate(out).astype(np.float32)

    def _products(self) -> list[tuple[int, int]]:
        return [(0, 0)] if self.start else [(1, 2), (1, 0), (0, 0), (3, 0), (3, 1), (3, 2)]

    def names(self) -> Iterator[str]:
        """What each number is, in words."""
        agents = self.team.agents
        done = [f"action {k} of {a}" for a, d in zip(agents, self.team.does, strict=True) for k in range(d.size)]
        kinds = [self._names]
        if not self.start:
            changes = [f"the change of {name}" for name in self._names]
            kinds += [changes, done, [f"the reward of {a}" for a in agents]]
        single = [name for kind in kinds for name in kind]
        yield from single
        yield from (f"the square of {name}" for name in single)
        for i, j in self._products():
            yield from (f"{a} times {b}" for a in kinds[i] for b in kinds[j])
        for k in range(WAVES):
            some = np.flatnonzero(self._waves[0][:, k])
            yield f"a wave of {', '.join(single[int(s)] for s in some)}"
        if not self.start:
            yield from (f"being there of {a}" for a in agents)
            yield from (f"{what} of {a}" for what in ("termination", "truncation") for a in agents)
            yield "the number of steps"


def _scale(part: Numbers) -> tuple[Numbers, Numbers]:
    """Mean and deviation of each number. What varies by rounding only does not vary."""
    middle, deviation = part.mean(0), part.std(0)
    small = 1e-9 * max(float(np.abs(part).max(initial=0.0)), 1e-300)
    return middle, np.where(deviation > small, deviation, np.inf)
