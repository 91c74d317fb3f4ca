"""The statistical tier: under uniformly random actions and a start whose law is symmetric, transformed episodes of a
symmetric environment have the law of episodes.

One half of the episodes is left as it is, the other, independent half is transformed. The statistic is the largest
difference of means among all numbers of `_features`, each in units of its deviation between episodes. Its law, if the two
halves have one law, comes from permuting whole episodes between them: episodes are independent, and steps are not. Of the
groups of numbers, the one counts whose difference is rarest, and so it does in every permutation. So the level is exact,
whatever the environment is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._features import Episode, Table, turned
from ._report import AuditReport, Counterexample, ElementReport
from ._joint import Joint
from ._parts import Numbers


@dataclass(frozen=True)
class Test:
    """What came out of a comparison."""

    p: float
    worst: str
    """What differs most, in words."""


def audit_statistical(
    team: Joint, episodes: int, max_steps: int, seed: int, level: float, permutations: int, notes: tuple[str, ...]
) -> AuditReport:
    """Random episodes against transformed random episodes."""
    group = team.group
    if episodes < 20:
        raise ValueError(f"`episodes` is {episodes}; with fewer than 20 nothing can be found")
    rest_count = group.order - 1 - len(group.generators)
    _check_size(_enough(max(len(group.generators), rest_count), level, permutations), episodes, level)
    data = play(team, episodes, max_steps, seed)
    # Every other one: what changes with time in an environment is no asymmetry.
    plain, other = data[::2], data[1::2]

    def tested(elements: list[int]) -> dict[int, ElementReport]:
        enough = _enough(len(elements), level, permutations)

        def compare(g: int, start: bool) -> Test:
            rng = np.random.default_rng([seed, 5, g, int(start)])
            return permuted(team, plain, [turned(team, g, e) for e in other], start, enough, rng)

        return _tested(team, elements, level, compare)

    found: dict[int, ElementReport] = {0: ElementReport("e", "holds", "holds, as it does anywhere")}
    found |= tested([g for g in group.generators if g != 0])
    rest = [g for g in group.elements if g not in found]
    if any(one.verdict != "not refuted" for g, one in found.items() if g != 0):
        # What the generators have in common is gone; each of the others may still hold.
        found |= tested(rest)
    else:
        text = "not refuted: a product of elements that were not refuted"
        found |= {g: ElementReport(group.names[g], "not refuted", text) for g in rest}
    steps = sum(len(e.actions) for e in data)
    return AuditReport(
        group.name,
        "statistical",
        tuple(found[g] for g in group.elements),
        f"{len(data)} episodes, {steps} steps, at least {permutations} permutations of whole episodes; level {level:g} for all generators "
        "together, and once more for all other elements if a generator is refuted",
        notes,
    )


def _enough(elements: int, level: float, permutations: int) -> int:
    """Fewer permutations could not get below the level: for the start and for the rest, of three groups, twice as many as needed."""
    return max(permutations, int(min(np.ceil(12 * elements / level), 2.0**62)) - 1)


#: Permutations times episodes: numbers that are in memory at a time, two or three times.
_MOST = 10**8


def _check_size(permutations: int, episodes: int, level: float) -> None:
    """Refuses before anything is played what would not fit into memory."""
    if permutations * episodes > _MOST:
        raise ValueError(
            f"{permutations} permutations of {episodes} episodes are too many (so many are needed for a `level` of {level:g}, or were "
            f"asked for as `permutations`): together at most {_MOST:.0e}. Use a larger level, or fewer permutations or episodes"
        )


def _tested(team: Joint, elements: list[int], level: float, compare: Callable[[int, bool], Test]) -> dict[int, ElementReport]:
    """The start first; where that is symmetric, everything. Half of the level is for each."""
    found, names = {}, team.group.names
    starts = {g: compare(g, True) for g in elements}
    for g, p in holm({g: 2 * test.p for g, test in starts.items()}).items():
        if p <= level:
            text = (
                f"the start is not symmetric, the dynamics were not tested (p = {p:.2g}): at the start, {starts[g].worst}"
            )
            found[g] = ElementReport(names[g], "start not symmetric", text, p, Counterexample(starts[g].worst, 0))
    wholes = {g: compare(g, False) for g in elements if g not in found}
    for g, p in holm({g: 2 * test.p for g, test in wholes.items()}).items():
        if p <= level:
            text = f"REFUTED (p = {p:.2g}): {wholes[g].worst}"
            found[g] = ElementReport(names[g], "refuted", text, p, Counterexample(wholes[g].worst))
        else:
            found[g] = ElementReport(names[g], "not refuted", f"not refuted (p = {p:.2g})", p)
    return found


def play(team: Joint, episodes: int, max_steps: int, seed: int) -> list[Episode]:
    """Independent episodes with uniformly random actions."""
    # Streams of their own: an environment may use the same generator with the same seed.
    seeds, rng = np.random.default_rng([seed, 3]), np.random.default_rng([seed, 4])
    return [_episode(team, int(seeds.integers(10_000, 2**31)), max_steps, rng) for _ in range(episodes)]


def _episode(team: Joint, seed: int, max_steps: int, rng: np.random.Generator) -> Episode:
    first, there = team.reset(seed)
    seen, present = [first], [there]  # Whoever leaves has a last observation, and acts no more.
    actions: list[Numbers] = []
    rewards: list[Numbers] = []
    ends: list[Numbers] = []
    while team.env.agents and len(actions) < max_steps:
        # Drawn for everybody, also for those who are gone: they do nothing in one world and in the other.
        drawn = team.draw(rng)
        acting = set(team.env.agents)
        for agent, k in team.index.items():
            if agent not in acting:
                drawn[team.done[k]] = 0.0
        step = team.step(drawn, f"in step {len(actions)} of the episode with seed {seed}")
        actions.append(drawn)
        rewards.append(step.rewards)
        ends.append(np.concatenate([step.terminations, step.truncations]).astype(float))
        seen.append(step.observations)
        present.append(step.present)
    return Episode(np.array(seen), np.array(present), np.array(actions), np.array(rewards), np.array(ends))


def permuted(
    team: Joint, a: list[Episode], b: list[Episode], start: bool, permutations: int, rng: np.random.Generator
) -> Test:
    """The largest difference between two halves, in the group where it is rarest, among those of permuted halves."""
    table = Table(team, a + b, start, rng)
    sign = np.concatenate([np.full(len(a), 1 / len(a)), np.full(len(b), -1 / len(b))]).astype(np.float32)
    # Row 0 is the halves as they are.
    shuffled = np.concatenate([sign[None], rng.permuted(np.tile(sign, (permutations, 1)), axis=1)])
    ranks, worst = [], []
    for rows in table.groups:
        middle, deviation = rows.mean(0, dtype=float), rows.std(0, dtype=float)
        # Rounding is no difference: means of products of numbers near 1, in single precision.
        varies = deviation > 1e-5 * (1.0 + np.abs(middle))
        z = ((rows - middle) / np.where(varies, deviation, np.inf)).astype(np.float32)
        largest = np.concatenate([np.abs(some @ z).max(1, initial=0.0) for some in np.array_split(shuffled, 8)])
        # How many are as large or larger; rounding must not tell ties apart.
        order = np.sort(largest)
        ranks.append(len(order) - np.searchsorted(order, largest * (1 - 1e-4)))
        worst.append(int(np.abs(sign @ z).argmax()) if z.size else 0)
    rarest = np.min(ranks, 0)
    group = int(np.argmin([rank[0] for rank in ranks]))
    p = float((rarest <= rarest[0]).mean())
    rows, k = table.groups[group], worst[group]
    name = next(name for number, name in enumerate(table.names(group)) if number == k)
    here, there = rows[: len(a), k].mean(dtype=float), rows[len(a) :, k].mean(dtype=float)
    if "percentile" in name:
        return Test(p, f"{name} happens in {here:.1%} of all steps here and in {there:.1%} transformed")
    return Test(p, f"the mean of {name} is {here:.3g} here and {there:.3g} transformed, in standard units")


def holm(p_values: dict[int, float]) -> dict[int, float]:
    """P-values corrected for their number: those that stay below a level are wrong together with at most this probability."""
    corrected, least = {}, 0.0
    for k, (g, p) in enumerate(sorted(p_values.items(), key=lambda one: one[1])):
        least = max(least, min(1.0, (len(p_values) - k) * p))
        corrected[g] = least
    return corrected
