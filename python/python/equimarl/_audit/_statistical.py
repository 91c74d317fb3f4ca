"""The statistical tier: under uniformly random actions and a start whose law is symmetric, transformed episodes of a
symmetric environment have the law of episodes.

One half of the episodes is left as it is, the other, independent half is transformed. The statistic is the largest
difference of means among all numbers of `_features`, each in units of its deviation between episodes. Its law, if the two
halves have one law, comes from permuting whole episodes between them: episodes are independent, and steps are not. So the
level is exact, whatever the environment is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._features import Episode, Table, turned
from ._report import AuditReport, Counterexample, ElementReport
from ._team import Team


@dataclass(frozen=True)
class Test:
    """What came out of a comparison."""

    p: float
    worst: str
    """What differs most, in words."""


def audit_statistical(
    team: Team, episodes: int, max_steps: int, seed: int, level: float, permutations: int, notes: tuple[str, ...]
) -> AuditReport:
    """Random episodes against transformed random episodes."""
    group = team.group
    if episodes < 20:
        raise ValueError(f"`episodes` is {episodes}; with fewer than 20 nothing can be found")
    fewest = int(np.ceil(2 * max(1, group.order - 1) / level))
    permutations = max(permutations, fewest)
    data = play(team, episodes, max_steps, seed)
    half = len(data) // 2
    plain, other = data[:half], data[half:]

    def compare(g: int, start: bool) -> Test:
        rng = np.random.default_rng([seed, 5, g, int(start)])
        return permuted(team, plain, [turned(team, g, e) for e in other], start, permutations, rng)

    found: dict[int, ElementReport] = {0: ElementReport("e", "holds", "holds, as it does anywhere")}
    found |= _tested(team, [g for g in group.generators if g != 0], level, compare)
    rest = [g for g in group.elements if g not in found]
    if any(one.verdict != "not refuted" for g, one in found.items() if g != 0):
        # What the generators have in common is gone; each of the others may still hold.
        found |= _tested(team, rest, level, compare)
    else:
        text = "not refuted: a product of elements that were not refuted"
        found |= {g: ElementReport(group.names[g], "not refuted", text) for g in rest}
    steps = sum(len(e.actions) for e in data)
    return AuditReport(
        group.name,
        "statistical",
        tuple(found[g] for g in group.elements),
        f"{len(data)} episodes, {steps} steps, {permutations} permutations of whole episodes; level {level:g} for everything "
        "together",
        notes,
    )


def _tested(team: Team, elements: list[int], level: float, compare: Callable[[int, bool], Test]) -> dict[int, ElementReport]:
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


def play(team: Team, episodes: int, max_steps: int, seed: int) -> list[Episode]:
    """Independent episodes with uniformly random actions."""
    # Streams of their own: an environment may use the same generator with the same seed.
    seeds, rng = np.random.default_rng([seed, 3]), np.random.default_rng([seed, 4])
    return [_episode(team, int(seeds.integers(10_000, 2**31)), max_steps, rng) for _ in range(episodes)]


def _episode(team: Team, seed: int, max_steps: int, rng: np.random.Generator) -> Episode:
    first, there = team.reset(seed)
    seen, present = [first], [there]
    actions, rewards, ends = [], [], []
    while team.env.agents and len(actions) < max_steps:
        # Drawn for everybody, also for those who are gone: they do nothing in one world and in the other.
        drawn = team.draw(rng)
        for k in np.flatnonzero(~present[-1]):
            drawn[team.done[k]] = 0.0
        step = team.step(drawn, f"in step {len(actions)} of the episode with seed {seed}")
        actions.append(drawn)
        rewards.append(step.rewards)
        ends.append(np.concatenate([step.terminations, step.truncations]).astype(float))
        here = np.isin(team.agents, team.env.agents) if team.env.agents else step.present
        seen.append(step.observations)
        present.append(step.present & here)
    return Episode(np.array(seen), np.array(present), np.array(actions), np.array(rewards), np.array(ends))


def permuted(
    team: Team, a: list[Episode], b: list[Episode], start: bool, permutations: int, rng: np.random.Generator
) -> Test:
    """The largest difference between two halves, among those of permuted halves."""
    table = Table(team, a + b, start, rng)
    rows = table.rows.astype(np.float64)
    middle, deviation = rows.mean(0), rows.std(0)
    # Rounding is no difference: means of products of numbers near 1, in single precision.
    varies = deviation > 1e-6 * (1.0 + np.abs(middle))
    if not varies.any():
        return Test(1.0, "nothing varies, and nothing differs")
    z = ((rows - middle) / np.where(varies, deviation, np.inf)).astype(np.float32)
    sign = np.concatenate([np.full(len(a), 1 / len(a)), np.full(len(b), -1 / len(b))]).astype(np.float32)
    difference = np.abs(sign @ z)
    worst = int(difference.argmax())
    count, left = 0, permutations
    # Rounding must not tell ties apart.
    reach = float(difference[worst]) * (1 - 1e-4)
    while left > 0:
        some = min(left, 200)
        shuffled = rng.permuted(np.tile(sign, (some, 1)), axis=1)
        count += int((np.abs(shuffled @ z).max(1) >= reach).sum())
        left -= some
    name = next(name for k, name in enumerate(table.names()) if k == worst)
    here, there = rows[: len(a), worst].mean(), rows[len(a) :, worst].mean()
    text = f"the mean of {name} is {here:.3g} here and {there:.3g} transformed (in standard units)"
    return Test((1 + count) / (1 + permutations), text)


def holm(p_values: dict[int, float]) -> dict[int, float]:
    """P-values corrected for their number: those that stay below a level are wrong together with at most this probability."""
    corrected, least = {}, 0.0
    for k, (g, p) in enumerate(sorted(p_values.items(), key=lambda one: one[1])):
        least = max(least, min(1.0, (len(p_values) - k) * p))
        corrected[g] = least
    return corrected
