"""What a team needs to know of an environment that is not ours: how a group acts on what its agents see, do and hear."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from operator import index
from typing import Any

from numpy.typing import ArrayLike

from ._core import Group, Rep
from ._groups import declared_rep, rep_text
from ._groups import group as group_of

#: Whom an agent hears: called with the environment and an agent, it gives other agents, each with its edge vector.
Neighbours = Callable[[Any, Any], Iterable[tuple[Any, ArrayLike]]]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """How a group acts on an environment.

    - `group`: the symmetry, ``"C4"`` or ``"D4"``; ``"C1"`` for none.
    - `observations`: what one agent sees. A representation, if that is a vector: ``"trivial + 2*rotation"`` are one number that
      stays the same and two arrows of the plane, in this order. Three numbers, if that is an image: channels, height, width;
      images of bytes (a Box of uint8 up to 255) are scaled to 0 to 1.
    - `actions`: how the group permutes an agent's choices, ``"perm[0 4 1 2 3]"``: one list per generator of the group. Entry k
      of a list is the choice that becomes choice k. ``equimarl.moves(group, vectors)`` writes it down for choices that are
      moves by vectors.
    - `agents`: where each generator sends the agents, ``{"r": {"north": "west", ...}}``; those that are left out stay. Nothing if
      everybody keeps its name, as bodies do that carry their places with them.
    - `neighbours`: whom an agent hears. A function of the environment and an agent that gives (other agent, edge vector)
      pairs; the vector should be such that the group turns it by the representation `edges`, for example from the other to
      the agent. Nothing if agents do not talk. It is asked at every start and after every step but a last one that terminates;
      after a last one that was cut off, ``env.agents`` is empty already, so go by ``env.possible_agents``.
    - `edges`: the representation of edge vectors, ``"rotation"``.
    - `name`: what runs and models call the environment, in lower-case letters, digits and dashes. By default what it says in its
      `metadata`, or its class.
    - `options`: what else tells this environment from others of its name, such as its size. It stands in the run's settings.
    - `action_names`: what choices are called.
    - `thresholds`: mean returns that count as milestones in reports.
    - `max_steps`: episodes that are longer are cut off: somebody must end them.

    Arrows of the plane are (down, right), and ``r`` of C4 and D4 turns them by [[0, -1], [1, 0]]: down becomes right, right
    becomes up. The mirror ``m`` of D4 negates the second number. What is drawn with y upwards may be given as (x, y) just as
    well, since all that matters is that observations, actions and edges turn alike. `equimarl.audit(env, spec)` finds out whether
    the environment does.

    >>> import equimarl
    >>> spec = equimarl.Spec(group="C4", observations="trivial + 2*rotation", actions="perm[0 4 1 2 3]")
    >>> spec.observation_size, spec.num_actions
    (5, 5)
    >>> equimarl.Spec(group="C4", observations="rotation", actions="rotation")
    Traceback (most recent call last):
    ValueError: `actions` is `rotation`, which does not permute choices; write perm[...] with one list per generator of C4
    """

    group: str | Group
    observations: str | Rep | tuple[int, int, int]
    actions: str | Rep
    agents: Mapping[str, Mapping[Any, Any]] | None = None
    neighbours: Neighbours | None = None
    edges: str | Rep | None = None
    name: str | None = None
    options: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    action_names: Sequence[str] | None = None
    thresholds: Sequence[float] = ()
    max_steps: int = 10_000

    def __post_init__(self) -> None:
        group = group_of(self.group)
        actions = declared_rep(group, "actions", self.actions)
        if not actions.is_permutation:
            raise ValueError(
                f"`actions` is `{_text(self.actions)}`, which does not permute choices; write perm[...] with one list per "
                f"generator of {group.name}"
            )
        if self.observations == "image":
            raise ValueError("`observations` is \"image\"; a Spec has its shape, (channels, height, width)")
        if not isinstance(self.observations, (str, Rep)):
            try:
                shape = tuple(index(side) for side in self.observations)
            except TypeError:
                shape = ()
            if len(shape) != 3 or min(shape) < 1:
                raise ValueError(
                    f"`observations` is {self.observations!r}; it must be a representation, or (channels, height, width)"
                )
            object.__setattr__(self, "observations", shape)
        else:
            declared_rep(group, "observations", self.observations)
        if self.edges is not None:
            declared_rep(group, "edges", self.edges)
        if (self.neighbours is None) != (self.edges is None):
            raise ValueError("`neighbours` and `edges` belong together: who is heard, and how vectors to them turn")
        if self.neighbours is not None and not callable(self.neighbours):
            raise TypeError("`neighbours` must be a function of the environment and an agent")
        if isinstance(self.action_names, Sequence) and len(self.action_names) != actions.dim:
            raise ValueError(f"there are {len(self.action_names)} `action_names` and {actions.dim} actions")
        try:
            limit = index(self.max_steps)
        except TypeError:
            raise TypeError(f"`max_steps` is {self.max_steps!r}; it must be a whole number") from None
        if limit < 1:
            raise ValueError(f"`max_steps` is {limit}; it must be at least 1")
        self._check_words()

    def _check_words(self) -> None:
        """Refuses what is no name, or no list of what it should be."""
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"`name` is {self.name!r}; it must be text")
        for what, given in (("options", self.options), ("agents", {} if self.agents is None else self.agents)):
            if not isinstance(given, Mapping):
                raise TypeError(f"`{what}` is {given!r}; it must be a dict")
        for name, moves in (self.agents or {}).items():
            if not isinstance(moves, Mapping):
                raise TypeError(f"`agents` has {moves!r} for {name!r}; it must be a dict of where agents are sent")
        names = self.action_names
        if names is not None and (isinstance(names, str) or not all(isinstance(one, str) for one in names)):
            raise TypeError(f"`action_names` is {names!r}; it must be a list of texts")
        try:
            finite = all(isfinite(value) for value in self.thresholds)
        except TypeError:
            raise TypeError(f"`thresholds` is {self.thresholds!r}; it must be a list of numbers") from None
        if not finite:
            raise ValueError(f"`thresholds` is {self.thresholds!r}; returns are finite")

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of what one agent sees."""
        if isinstance(self.observations, (str, Rep)):
            return (declared_rep(group_of(self.group), "observations", self.observations).dim,)
        return tuple(self.observations)

    @property
    def observation_size(self) -> int:
        """How many numbers one agent sees."""
        size = 1
        for side in self.observation_shape:
            size *= side
        return size

    @property
    def num_actions(self) -> int:
        """How many choices an agent has."""
        return declared_rep(group_of(self.group), "actions", self.actions).dim

    @property
    def edge_size(self) -> int:
        """How many numbers an edge vector has; 0 if agents do not talk."""
        return 0 if self.edges is None else declared_rep(group_of(self.group), "edges", self.edges).dim

    def _declared(self, name: str, agents: list[Any]) -> str:
        """The declaration as the compiled part reads it."""
        image = None if isinstance(self.observations, (str, Rep)) else list(self.observations)
        choices = self.action_names or [str(k) for k in range(self.num_actions)]
        return json.dumps(
            {
                "world": name,
                "version": 1,
                "agents": len(agents),
                "group": group_of(self.group).name,
                "agent_moves": self._moves(agents),
                "image": image,
                "team_image": None,
                "features": "" if image else _text(self.observations),
                "edge": "trivial" if self.edges is None else _text(self.edges),
                "actions": {"choice": {"names": list(choices), "rep": _text(self.actions)}},
                "measures": [],
                "thresholds": [float(value) for value in self.thresholds],
                "controllers": [],
                "links": "all",
            }
        )

    def _moves(self, agents: list[Any]) -> list[list[int]]:
        """Where each generator sends the agents, by number."""
        group = group_of(self.group)
        given = dict(self.agents or {})
        moves = []
        for name in (group.names[g] for g in group.generators):
            goes = given.pop(name, {})
            unknown = [agent for agent in (*goes, *goes.values()) if agent not in agents]
            if unknown:
                raise ValueError(f"`agents` names {unknown[0]!r}; there are {', '.join(map(str, agents))}")
            moves.append([agents.index(goes.get(agent, agent)) for agent in agents])
        if given:
            names = ", ".join(group.names[g] for g in group.generators)
            raise ValueError(f"`agents` has {next(iter(given))!r}; the generators of {group.name} are {names}")
        return moves


def _text(given: Any) -> str:
    return rep_text(given) if isinstance(given, Rep) else str(given)


def _name_of(env: Any, spec: Spec) -> str:
    """What an environment is called in files."""
    if spec.name is not None:
        return spec.name
    metadata = getattr(env, "metadata", None)
    given = metadata.get("name") if isinstance(metadata, Mapping) else None
    given = given if isinstance(given, str) else type(env).__name__
    name = re.sub(r"[^a-z0-9]+", "-", given.lower()).strip("-")
    return name if name[:1].isalpha() else f"env-{name}".strip("-")
