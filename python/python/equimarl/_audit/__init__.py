"""Is an environment as symmetric as somebody says? See `audit`."""

from operator import index
from typing import Any, Literal

import numpy as np

from .._core import Group
from .._groups import group as _group
from .._own import own_envs
from .._spec import Spec
from ._action import GroupAction, moves
from ._exact import NotExact, audit_starts, audit_states, can_set_states, takes_options
from ._ours import audit_ours, declared_action
from ._report import AuditReport, Counterexample, ElementReport
from ._statistical import audit_statistical
from ._joint import Joint

__all__ = ["AuditReport", "Counterexample", "ElementReport", "GroupAction", "audit", "moves"]


def audit(
    env: Any,
    action: GroupAction | Spec | str | Group,
    *,
    tier: Literal["auto", "exact", "deterministic", "statistical"] = "auto",
    seed: int = 0,
    steps: int = 2000,
    episodes: int = 400,
    max_steps: int = 100,
    level: float = 0.05,
    permutations: int = 999,
    tolerance: float = 1e-5,
) -> AuditReport:
    """Is an environment symmetric? Any PettingZoo ``ParallelEnv``, or one of our worlds.

    `action` says how: a `GroupAction`; the `Spec` that a team is to be trained with, whose neighbours and edges are audited as well; or
    for our worlds, which know it, a group.

    >>> import equimarl
    >>> report = equimarl.audit(equimarl.Batch("traffic", rows=2, cols=2), "D4", steps=20)
    >>> report.verdict, report.element("r").verdict
    ('refuted', 'holds')
    >>> print(report.element("m").text)
    REFUTED at step 0: m is not a symmetry of 2 x 2 junctions: it maps the lane of 15 cells along ...

    There are three tiers, and the report says which one it was. ``"auto"`` takes the strictest that the environment allows.

    - ``"exact"``: the environment can be set to a state, and `action.state` transforms states. It has ``get_state()`` and
      ``set_state(state)``; a state includes everything that a step depends on: what it will draw, the time, and who is there
      (``env.agents``). A random generator in the state is no such thing if a step draws from it: nobody can turn what it will
      draw, so the audit goes on statistically. Every one of `steps` random steps is tried with every element. Our own worlds
      know how they transform, so the name of a group is enough for them.
    - ``"deterministic"``: episodes can be begun from a state, ``reset(options={"state": s})`` with ``s`` as ``env.state()``
      gives it, and steps draw nothing. Whole episodes are compared with transformed ones. An environment that has
      ``get_state()`` is audited so only if asked for: then `action.state` gets what ``env.state()`` gives.
    - ``"statistical"``: anything else. `episodes` random episodes of at most `max_steps` steps; one half is transformed and
      compared with the other. It finds what is broken, with a p-value; it never proves symmetry. The start comes first:
      where its law is not symmetric, nothing follows about the dynamics. A wholly symmetric environment is refuted with a
      probability of at most `level`; where a generator is refuted, the other elements are tested at `level` once more.

    The same `seed` gives the same report, if the environment heeds seeds. The audit plays in the environment that it is given
    (and not in a copy), and leaves it wherever that ends. What the environment raises comes through.
    """
    seed, steps, episodes = _whole("seed", seed), _whole("steps", steps), _whole("episodes", episodes)
    max_steps, permutations = _whole("max_steps", max_steps), _whole("permutations", permutations)
    for name, number in (("level", level), ("tolerance", tolerance)):
        if not isinstance(number, int | float | np.integer | np.floating):
            raise TypeError(f"`{name}` must be a number, not {type(number).__name__}")
    if not 0 < level < 1:
        raise ValueError(f"`level` is {level}; it must be between 0 and 1")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"`tolerance` is {tolerance}; it must be at least 0, and finite")
    if tier not in ("auto", "exact", "deterministic", "statistical"):
        raise ValueError(f'`tier` is {tier!r}; it must be "auto", "exact", "deterministic" or "statistical"')
    if isinstance(action, Spec):
        action = GroupAction.of(action)
    if not isinstance(action, GroupAction | str | Group):
        raise TypeError(f"`action` must be a GroupAction, a Spec, or a group for one of our worlds, not {type(action).__name__}")
    ours = own_envs(env)
    if ours is not None and tier in ("auto", "exact"):
        return audit_ours(ours, _group(action) if isinstance(action, str) else action, steps, seed)
    if not isinstance(action, GroupAction):
        if ours is None:
            raise TypeError("a group alone does not say how it acts on this environment; give a GroupAction")
        action = declared_action(ours, _group(action))
    team = Joint(env, action)
    notes: tuple[str, ...] = ()
    if tier in ("auto", "exact", "deterministic"):
        for name, impossible in (("exact", _no_states(team)), ("deterministic", _no_starts(team))):
            if tier not in ("auto", name):
                continue
            if name == "deterministic" and tier == "auto" and can_set_states(team.env):
                continue  # `state` is for what get_state gives.
            try:
                if impossible is None and name == "exact":
                    return audit_states(team, steps, seed, tolerance)
                if impossible is None:
                    return audit_starts(team, steps, max_steps, seed, tolerance)
            except NotExact as error:
                impossible = str(error)
            if tier == name:
                raise ValueError(f'tier="{name}" is impossible here: {impossible}')
            notes += (f"It was not {name}: {impossible}.",)
    return audit_statistical(team, episodes, max_steps, seed, level, permutations, notes)


def _no_states(team: Joint) -> str | None:
    if team.action.state is None:
        return "the GroupAction has no `state`"
    return None if can_set_states(team.env) else "the environment has no get_state and set_state"


def _no_starts(team: Joint) -> str | None:
    if team.action.state is None:
        return "the GroupAction has no `state`"
    if not callable(getattr(team.env, "state", None)):
        return "the environment has no state()"
    if not takes_options(team.env):
        return "the environment's reset has no `options`"
    return None


def _whole(name: str, given: int) -> int:
    try:
        number = index(given)
    except TypeError:
        raise TypeError(f"`{name}` must be a whole number, not {type(given).__name__}") from None
    least = 0 if name == "seed" else 1
    if number < least:
        raise ValueError(f"`{name}` is {number}; it must be at least {least}")
    most = 2**64 if name == "seed" else 2**63  # What the compiled part can count.
    if number >= most:
        raise ValueError(f"`{name}` is {number}; it must be below 2**{most.bit_length() - 1}")
    return number
