"""Exact tiers: environments whose states can be set, or whose episodes can be begun from a given state.

For every element g, along random rollouts::

    rewards and ends of (g s, g a) = those of (s, a), of transformed agents
    observations after it          = transformed observations
    next(g s, g a)                 = g next(s, a)
"""

import copy
import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._report import AuditReport, Counterexample, ElementReport
from ._joint import Joint, Step
from ._parts import Numbers


class NotExact(Exception):
    """This tier cannot be used here; the text says why."""


def can_set_states(env: Any) -> bool:
    """Whether states can be taken and set."""
    return callable(getattr(env, "get_state", None)) and callable(getattr(env, "set_state", None))


def takes_options(env: Any) -> bool:
    """Whether `reset` can be given options; not every environment's can."""
    try:
        parameters = inspect.signature(env.reset).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(one.name == "options" or one.kind is one.VAR_KEYWORD for one in parameters)


def _state_of(get: Callable[[], Any], name: str) -> Any:
    """A state. PettingZoo's ParallelEnv has a `state` that is not implemented."""
    try:
        return copy.deepcopy(get())
    except NotImplementedError:
        raise NotExact(f"the environment's {name}() is not implemented") from None


def generators(state: Any, where: str = "the state") -> Iterator[tuple[str, Any]]:
    """Random generators in a state, and the states that they are in."""
    if (own := _generator(state)) is not None:
        yield where, own
    elif isinstance(state, dict):
        for key, one in state.items():
            yield from generators(one, f"{where}[{key!r}]")
    elif isinstance(state, list | tuple):
        for k, one in enumerate(state):
            yield from generators(one, f"{where}[{k}]")


def _generator(one: Any) -> Any:
    """The state of a random generator, however it is written down; None of anything else."""
    match one:
        case np.random.Generator():
            return one.bit_generator.state
        case np.random.BitGenerator():
            return one.state
        case np.random.RandomState():
            return one.get_state()
        case random.Random():
            return one.getstate()
        case {"bit_generator": _, "state": _}:
            return one
        case ("MT19937", _, _, _, _):
            return one  # What RandomState.get_state gives,
        case (int(), tuple() as inside, _) if len(inside) == 625:
            return one  # and random.getstate.
    return None


def audit_states(team: Joint, steps: int, seed: int, tolerance: float) -> AuditReport:
    """States are set and transformed."""
    env, action, group = team.env, team.action, team.group
    rng = np.random.default_rng([seed, 1])
    found: dict[int, Counterexample] = {}
    running = False
    for t in range(steps):
        if not running:
            team.reset(_env_seed(rng))
        before, there = _state_of(env.get_state, "get_state"), set(env.agents)
        joint = team.draw(rng)
        chosen = team.choices(joint)
        taken = team.step(joint, f"in step {t}")
        running, after = bool(env.agents), _state_of(env.get_state, "get_state")
        drawn = dict(generators(after))
        for place, was in generators(before):
            if unequal(was, drawn.get(place), 0.0) is not None:
                raise NotExact(
                    f"a step draws from {place}, a random generator, and a transformed state would draw the same, which is not "
                    "transformed; put what is drawn into the state instead"
                )
        for g in group.elements:
            if g in found:
                continue
            name = group.names[g]
            env.set_state(copy.deepcopy(before) if g == 0 else action.transformed_state(name, copy.deepcopy(before)))
            if g == 0 and set(env.agents) != there:
                raise NotExact(
                    f"set_state() does not restore who is there: `env.agents` is {sorted(map(str, env.agents))}, and was "
                    f"{sorted(map(str, there))}; make it a part of the state"
                )
            turned = team.step(team.turn_actions(g, joint), f"in step {t}, transformed by {name}")
            wrong = differs(team, g, taken, turned, tolerance)
            if wrong is None:
                expected = after if g == 0 else action.transformed_state(name, copy.deepcopy(after))
                if (where := unequal(expected, env.get_state(), tolerance)) is not None:
                    wrong = f"the step leads elsewhere: {where}"
            if wrong is not None and g == 0:
                raise NotExact(
                    "the same state and the same actions gave two different steps, so chance is not a part of the state, or "
                    f"something else that steps depend on ({wrong}); put it into the state, or ask for tier=\"statistical\""
                )
            if wrong is not None:
                found[g] = Counterexample(wrong, t, before, chosen)
        env.set_state(after)
    return AuditReport(
        group.name,
        "exact",
        tuple(_element(group.names[g], found.get(g)) for g in group.elements),
        f"{steps} random steps; numbers agree to {tolerance:g}",
    )


def audit_starts(team: Joint, steps: int, max_steps: int, seed: int, tolerance: float) -> AuditReport:
    """Episodes are begun from transformed starts, and go on without chance."""
    env, action, group = team.env, team.action, team.group
    rng = np.random.default_rng([seed, 2])
    found: dict[int, Counterexample] = {}
    done = episodes = 0
    while done < steps:
        first = team.reset(_env_seed(rng))
        start = _state_of(env.state, "state")
        actions: list[Numbers] = []
        record: list[Step] = []
        while env.agents and len(record) < min(max_steps, steps):
            actions.append(team.draw(rng))
            record.append(team.step(actions[-1], f"in step {len(record)}"))
        done, episodes = done + len(record), episodes + 1
        for g in group.elements:
            if g in found:
                continue
            name = group.names[g]
            begin = start if g == 0 else action.transformed_state(name, copy.deepcopy(start))
            # Another seed: what comes from it is not a part of the state.
            seen, present = team.reset(_env_seed(rng), {"state": copy.deepcopy(begin)})
            if (where := unequal(begin, env.state(), tolerance)) is not None:
                raise NotExact(f"`reset(options={{\"state\": ...}})` does not begin in that state: {where}")
            wrong = differs(team, g, _begun(*first), _begun(seen, present), tolerance)
            step = 0
            while wrong is None and step < len(record):
                if not env.agents:
                    wrong = "the transformed episode ends early"
                    break
                turned = team.step(team.turn_actions(g, actions[step]), f"in step {step}, transformed by {name}")
                wrong = differs(team, g, record[step], turned, tolerance)
                step += wrong is None
            if wrong is not None and g == 0:
                raise NotExact(
                    f"the same start and the same actions gave two different episodes ({wrong}), so this environment is not "
                    'deterministic; ask for tier="statistical"'
                )
            if wrong is not None:
                found[g] = Counterexample(wrong, step, start, np.array(actions[: step + 1]))
    return AuditReport(
        group.name,
        "deterministic",
        tuple(_element(group.names[g], found.get(g)) for g in group.elements),
        f"{episodes} random starts, {done} steps; numbers agree to {tolerance:g}",
    )


def _begun(seen: Numbers, present: NDArray[np.bool_]) -> Step:
    """A start: nothing was rewarded and nothing has ended."""
    nothing = np.zeros(len(present))
    return Step(seen, present, nothing, nothing > 0, nothing > 0)


#: Generators are equal if they will draw the same.
_RANDOM = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)


def differs(team: Joint, g: int, here: Step, turned: Step, tolerance: float) -> str | None:
    """What is not as it should be in the transformed step, in words."""
    expected_present = team.turn_each(g, here.present)
    if (expected_present != turned.present).any():
        i = int(np.flatnonzero(expected_present != turned.present)[0])
        return f"{team.agents[i]} {'is not' if expected_present[i] else 'is'} there in the transformed environment"
    wanted = team.turn_observations(g, here.observations, here.present)
    far = ~_near(wanted, turned.observations, tolerance)
    if far.any():
        k = int(np.flatnonzero(far)[0])
        return f"{team.place(k)} should be {wanted[k]:.6g} in the transformed environment, and is {turned.observations[k]:.6g}"
    for what in ("rewards", "terminations", "truncations"):
        wanted = team.turn_each(g, getattr(here, what)).astype(float)
        given = getattr(turned, what).astype(float)
        far = ~_near(wanted, given, tolerance)
        if far.any():
            i = int(np.flatnonzero(far)[0])
            if what == "rewards":
                return f"{team.agents[i]} should get {wanted[i]:.6g} in the transformed environment, and gets {given[i]:.6g}"
            return f"{what} change: {team.agents[i]} should have {bool(wanted[i])}, and has {bool(given[i])}"
    return None


def _near(a: Numbers, b: Numbers, tolerance: float) -> Any:
    return np.abs(a - b) <= tolerance * np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))


def unequal(a: Any, b: Any, tolerance: float, where: str = "the state") -> str | None:
    """Where two states differ, if they do."""
    if isinstance(a, _RANDOM) and isinstance(b, _RANDOM):
        a, b = _generator(a), _generator(b)
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"{where} has the keys {sorted(map(str, b))} instead of {sorted(map(str, a))}"
        pairs = [(f"{where}[{key!r}]", a[key], b[key]) for key in a]
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return f"{where} has {len(b)} entries instead of {len(a)}"
        pairs = [(f"{where}[{k}]", one, other) for k, (one, other) in enumerate(zip(a, b, strict=True))]
    else:
        try:
            x, y = np.asarray(a, float), np.asarray(b, float)
        except (TypeError, ValueError):
            return None if a == b else f"{where} is {b!r} instead of {a!r}"
        if x.shape != y.shape:
            return f"{where} has the shape {y.shape} instead of {x.shape}"
        far = np.argwhere(~_near(x, y, tolerance))
        if len(far):
            at = tuple(far[0])
            place = "".join(f"[{k}]" for k in at)
            return f"{where}{place} is {y[at]:.6g} instead of {x[at]:.6g}"
        return None
    return next((found for path, one, other in pairs if (found := unequal(one, other, tolerance, path)) is not None), None)


def _element(name: str, found: Counterexample | None) -> ElementReport:
    if found is None:
        return ElementReport(name, "holds", "holds")
    return ElementReport(name, "refuted", f"REFUTED at step {found.step}: {found.text}", counterexample=found)


def _env_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(10_000, 2**31))
