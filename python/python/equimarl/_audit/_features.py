"""What is compared between episodes: numbers of a whole episode, each with a name, in three groups.

Per step z = (o, o' - o, a, r), standardised. An episode has the mean over its steps of

    z,  z^2,  1[z < its 5th percentile],  1[z > its 95th],  (o' - o) a,  (o' - o) o,  o o,  r o,  r (o' - o),  r a,
    and its length and ends
    o^2 o^2,  cos(w z + b) for some random w, b
    o o' a  of single numbers of o and o', and for images  a sum_x o(x) o'(x + d)  for small displacements d

and a start the same of its first observations alone. Products of two see what an action does to whom, and what is rewarded
where; products of three see what is moved from here to there, as in images; the second group sees shapes: a square pond
and its corners.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._joint import Joint
from ._parts import Numbers

#: Of more numbers than this per step, some are taken, and some random projections of all.
MOST = 64
TAKEN = 48
WAVES = 256
TRIPLES = 20_000
#: The largest displacement, in pixels, along which images are compared from one step to the next.
FAR = 4


@dataclass(frozen=True)
class Episode:
    """What happened, in joint vectors over all agents."""

    observations: Numbers
    present: NDArray[np.bool_]
    actions: Numbers
    rewards: Numbers
    ends: Numbers


def turned(team: Joint, g: int, episode: Episode) -> Episode:
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

    def __init__(self, team: Joint, episodes: list[Episode], start: bool, rng: np.random.Generator) -> None:
        self.team, self.start, self._rng = team, start, rng
        seen = [e.observations[:1] if start else e.observations for e in episodes]
        self._squeezed(np.concatenate(seen))
        parts = [self._parts(e) for e in episodes]
        self._scales = [_scale(np.concatenate([one[k] for one in parts])) for k in range(len(parts[0]))]
        ends = [np.quantile(np.concatenate([one[k] for one in parts]), (0.05, 0.95), axis=0) for k in self._ends()]
        # What is as small or as large as the percentile itself is not beyond it, and nor is what rounding adds: observations
        # are often single precision, and turned by no quarter they are not the same numbers any more.
        sizes = [max((float(np.abs(one[k]).max(initial=0.0)) for one in parts)) for k in self._ends()]
        if not start:
            sizes[1] = sizes[0]  # A change is as exact as what changes.
        self._beyond = [(low - 1e-6 * size, high + 1e-6 * size) for (low, high), size in zip(ends, sizes, strict=True)]
        self._waves = self._drawn_waves(sum(middle.size for middle, _ in self._scales))
        self._triples = self._drawn_triples()
        groups = [self._row(e, part) for e, part in zip(episodes, parts, strict=True)]
        #: One array [episodes, numbers] per group.
        self.groups = [np.stack([one[k] for one in groups]) for k in range(len(groups[0]))]

    def _squeezed(self, seen: Numbers) -> None:
        """What is looked at of an observation: all of it, or some."""
        self._taken, self._middle = np.arange(seen.shape[1]), np.zeros(seen.shape[1])
        self._directions = np.zeros((seen.shape[1], 0))
        if seen.shape[1] > MOST:
            # Numbers that never vary, or that are copies of others as pixels of one thing are, tell nothing.
            _, first = np.unique(self._rng.normal(size=len(seen)) @ seen, return_index=True)
            varying = np.sort(first[np.ptp(seen[:, first], axis=0) > 0])
            some = self._rng.choice(varying, min(TAKEN, varying.size), replace=False)
            self._taken, self._middle = np.sort(some).astype(np.int64), seen.mean(0)
            self._directions = self._rng.normal(size=(seen.shape[1], MOST - TAKEN)) / np.sqrt(seen.shape[1])
        self._owner = self.team.owner[self._taken]
        self._names = [self.team.place(int(k)) for k in self._taken]
        self._names += [f"projection {k} of what is observed" for k in range(self._directions.shape[1])]

    def _squeeze(self, seen: Numbers) -> Numbers:
        return np.concatenate([seen[:, self._taken], (seen - self._middle) @ self._directions], 1)

    def _drawn_waves(self, width: int) -> tuple[Numbers, Numbers]:
        """Each wave looks at three of the numbers: what is broken is seldom in all of them."""
        waves = np.zeros((width, WAVES))
        for k in range(WAVES):
            some = self._rng.choice(width, min(3, width), replace=False)
            waves[some, k] = self._rng.normal(size=some.size)
        return waves, self._rng.uniform(0, 2 * np.pi, WAVES)

    def _drawn_triples(self) -> NDArray[np.int64]:
        """Which numbers of o, of o' and of a are multiplied: those of one agent, and then others."""
        if self.start:
            return np.zeros((3, 0), np.int64)
        does = np.repeat(np.arange(len(self.team.agents)), [one.size for one in self.team.does])
        own = []
        for agent in range(len(self.team.agents)):
            seen, done = np.flatnonzero(self._owner == agent), np.flatnonzero(does == agent)
            own.append(np.stack([axis.ravel() for axis in np.meshgrid(seen, seen, done, indexing="ij")]))
        same = np.concatenate(own, 1)
        if same.shape[1] > TRIPLES // 2:
            same = same[:, np.sort(self._rng.choice(same.shape[1], TRIPLES // 2, replace=False))]
        left = min(TRIPLES - same.shape[1], self._owner.size**2 * does.size) if len(self.team.agents) > 1 else 0
        others = [self._rng.integers(max(1, n), size=left if n else 0) for n in (self._owner.size, self._owner.size, does.size)]
        return np.concatenate([same, np.stack(others)], 1).astype(np.int64)

    def _parts(self, episode: Episode) -> list[Numbers]:
        seen = self._squeeze(episode.observations[:1] if self.start else episode.observations)
        if self.start:
            return [seen]
        return [seen[:-1], np.diff(seen, axis=0), episode.actions, episode.rewards, seen[1:]]

    def _row(self, episode: Episode, parts: list[Numbers]) -> list[NDArray[np.float32]]:
        steps = len(parts[0])
        z = [(part - middle) / scale for part, (middle, scale) in zip(parts, self._scales, strict=True)]
        everything = np.concatenate(z[:4], 1)
        waves, shift = self._waves
        out = [everything.mean(0), (everything**2).mean(0)]
        for k, (low, high) in zip(self._ends(), self._beyond, strict=True):
            out += [(parts[k] < low).mean(0), (parts[k] > high).mean(0)]
        out += [(z[i].T @ z[j]).ravel() / steps for i, j in self._products()]
        if not self.start:
            out += [episode.present.mean(0), episode.ends.mean(0), np.array([float(steps)])]
        shapes = (z[0] ** 2).T @ z[0] ** 2 / steps
        waved = np.cos(everything @ waves[: everything.shape[1]] + shift).mean(0)
        groups = [np.concatenate(out), np.concatenate([shapes[np.triu_indices(len(shapes))], waved])]
        if not self.start:
            o, after, a = self._triples
            triples = np.zeros(o.size)
            for t in range(0, steps, 64):  # Not all steps at once: that would take gigabytes.
                some = slice(t, t + 64)
                triples += np.einsum("tk,tk,tk->k", z[0][some][:, o], z[4][some][:, after], z[2][some][:, a])
            triples /= steps
            flows = [self._flow(agent, episode, z[2]) for agent in range(len(self.team.agents))]
            groups.append(np.concatenate([triples, *flows]))
        return [one.astype(np.float32) for one in groups]

    def _flow(self, agent: int, episode: Episode, actions: Numbers) -> Numbers:
        """Where the parts of an image have gone after each action, as if it had no borders."""
        shape = self.team.sees[agent].shape
        if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2 * FAR:
            return np.zeros(0)
        images = episode.observations[:, self.team.seen[agent]].reshape(-1, int(np.prod(shape[:-2])), *shape[-2:])
        waves = np.fft.rfft2(images - images.mean((-2, -1), keepdims=True))
        moved = np.fft.irfft2((waves[:-1].conj() * waves[1:]).sum(1), s=shape[-2:])
        near = np.arange(-FAR, FAR + 1)
        some = moved[:, near[:, None], near[None]].reshape(len(moved), -1)
        own = actions[:, self.team.done[agent]]
        both: Numbers = (some.T @ own).ravel() / len(moved)
        return both

    def _ends(self) -> list[int]:
        """Which parts of z have percentiles."""
        return [0] if self.start else [0, 1, 3]

    def _products(self) -> list[tuple[int, int]]:
        return [(0, 0)] if self.start else [(1, 2), (1, 0), (0, 0), (3, 0), (3, 1), (3, 2)]

    def names(self, group: int) -> Iterator[str]:
        """What each number of a group is, in words."""
        agents = self.team.agents
        done = [f"action {k} of {a}" for a, d in zip(agents, self.team.does, strict=True) for k in range(d.size)]
        kinds = [self._names]
        if not self.start:
            changes = [f"the change of {name}" for name in self._names]
            kinds += [changes, done, [f"the reward of {a}" for a in agents]]
        single = [name for kind in kinds for name in kind]
        if group == 1:
            for s, t in zip(*np.triu_indices(len(self._names)), strict=True):
                yield f"the square of {self._names[s]} times the square of {self._names[t]}"
            for wave in range(WAVES):
                some = np.flatnonzero(self._waves[0][: len(single), wave])
                yield f"a wave of {', '.join(single[int(k)] for k in some)}"
            return
        if group == 2:
            yield from (f"{self._names[o]} times {self._names[p]} one step later times {done[a]}" for o, p, a in self._triples.T)
            near = range(-FAR, FAR + 1)
            for agent, does in zip(agents, self.team.does, strict=True):
                moves = [f"what {agent} sees moving by ({i}, {j})" for i in near for j in near]
                yield from (f"{move} times action {k} of {agent}" for move in moves for k in range(does.size))
            return
        yield from single
        yield from (f"the square of {name}" for name in single)
        for k in self._ends():
            yield from (f"{name} being below its 5th percentile" for name in kinds[k])
            yield from (f"{name} being above its 95th percentile" for name in kinds[k])
        for i, j in self._products():
            yield from (f"{a} times {b}" for a in kinds[i] for b in kinds[j])
        if not self.start:
            yield from (f"being there of {a}" for a in agents)
            yield from (f"{what} of {a}" for what in ("termination", "truncation") for a in agents)
            yield "the number of steps"


def _scale(part: Numbers) -> tuple[Numbers, Numbers]:
    """Mean and deviation of each number. What varies by rounding only does not vary."""
    middle, deviation = part.mean(0), part.std(0)
    small = 1e-7 * max(float(np.abs(part).max(initial=0.0)), 1e-300)
    return middle, np.where(deviation > small, deviation, np.inf)
