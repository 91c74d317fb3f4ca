"""Our own worlds: the exact audit of the Rust library, which transforms states and chance."""

import json
from typing import Any, Literal

import numpy as np

from .. import _core
from .._core import Group, Rep
from ._action import GroupAction
from ._report import AuditReport, Counterexample, ElementReport
from ._parts import tidy


def audit_ours(envs: _core.Envs, action: GroupAction | Group, steps: int, seed: int) -> AuditReport:
    """Every step with every element, all comparisons exact."""
    group = action.group if isinstance(action, GroupAction) else action
    if isinstance(action, GroupAction):
        _check_same(envs, action)
    report = json.loads(_core.audit(envs, group, steps, seed))
    return AuditReport(
        group=group.name,
        tier="exact",
        elements=tuple(_element(one) for one in report["elements"]),
        amount=f"{report['steps']} random steps; rewards, transitions, observations and neighbours, bit by bit",
    )


def _element(one: dict[str, Any]) -> ElementReport:
    found = one["counterexample"]
    if found is None:
        # The rules hold; what agents may do, or where episodes start, need not.
        for part, words in (("actions", "what agents may do"), ("start", "the law of the start")):
            verdict = one.get(part)
            if verdict is not None and not verdict["holds"]:
                kind: Literal["refuted", "start not symmetric"] = "refuted" if part == "actions" else "start not symmetric"
                return ElementReport(one["element"], kind, f"REFUTED in {words}: {verdict['text']}")
        return ElementReport(one["element"], "holds", "holds")
    counterexample = Counterexample(found["text"], found["step"], found["state"], found["actions"])
    return ElementReport(
        one["element"], "refuted", f"REFUTED at step {found['step']}: {found['text']}", counterexample=counterexample
    )


def _check_same(envs: _core.Envs, action: GroupAction) -> None:
    """Refuses a declaration that is not the world's own: the exact audit is of that."""
    own, group = _core.declared(envs, action.group), action.group
    problem = None
    for g, name in enumerate(group.names):
        agents = [f"agent_{k}" for k in range(envs.agents)]
        moves = action.agents.get(name)
        if moves is not None and own["agents"] is not None:
            found = [agents.index(moves.get(agent, agent)) for agent in agents]
            if found != own["agents"][g]:
                problem = problem or f"{name} sends agents to {own['agents'][g]}, and `agents` to {found}"
        rep = action.actions
        if not isinstance(rep, Rep) or rep.dim != len(own["actions"][g]):
            problem = problem or f"all agents have {len(own['actions'][g])} actions"
        elif (to := np.argmax(tidy(rep.matrices(g)), 0).tolist()) != own["actions"][g]:
            problem = problem or f"{name} sends actions to {own['actions'][g]}, and `actions` to {to}"
    if own["agents"] is not None and not action.agents:
        moved = [group.names[g] for g in group.elements if own["agents"][g] != list(range(envs.agents))]
        if moved:
            problem = problem or f"{moved[0]} moves agents, and `agents` is not given"
    seen = "image" if own["image"] is not None else Rep(group, own["features"])
    if action.observations != seen and not (
        isinstance(action.observations, Rep)
        and own["image"] is not None
        and action.observations == Rep(group, f"{own['image'][0]}*pixels({own['image'][1]})")
    ):
        problem = problem or f"its agents observe {seen!r}"
    if problem is not None:
        raise ValueError(
            f"the GroupAction is not what this world declares: {problem}. Give the group alone, or audit "
            "equimarl.zoo.parallel_env(...) of it with tier=\"statistical\""
        )


def declared_action(envs: _core.Envs, group: Group) -> GroupAction:
    """What a world of ours says of itself, as a GroupAction."""
    own = _core.declared(envs, group)
    if own["agents"] is None:
        raise ValueError(
            f"{group.name} acts on what one agent of this world sees, and not on the whole world; it has {own['group']}"
        )
    names = [f"agent_{k}" for k in range(envs.agents)]
    lists = ["; ".join(" ".join(map(str, np.argsort(own["actions"][g]))) for g in group.generators)]
    still = all(own["actions"][g] == sorted(own["actions"][g]) for g in group.generators)
    return GroupAction(
        group,
        observations="image" if own["image"] is not None else own["features"],
        actions=f"{len(own['actions'][0])}*trivial" if still else f"perm[{lists[0]}]",
        agents={group.names[g]: {names[i]: names[j] for i, j in enumerate(own["agents"][g])} for g in group.generators},
    )
