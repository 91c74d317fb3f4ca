"""How a group acts on an environment: on what agents see, on what they do, and on who is who."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import Group, Rep
from .._groups import declared_rep
from .._groups import group as _group
from .._spec import Neighbours, Spec

Observe: TypeAlias = Callable[[str, str, NDArray[Any]], ArrayLike]
Transform: TypeAlias = Callable[[str, Any], Any]
OfEach: TypeAlias = str | Rep | Mapping[str, str | Rep]
Image: TypeAlias = tuple[int, int, int]


class GroupAction:
    """How a group acts on an environment, to be audited by `equimarl.audit`.

    The environment is symmetric if a transformed episode is as likely as the episode itself: agent i becomes agent g i,
    which sees rho_observations(g) o_i, does rho_actions(g) a_i and gets r_i.

    - `observations`: a representation of what one agent sees, as text or `equimarl.Rep`; ``"image"`` for pictures
      [channels, n, n] or [n, n] that turn in the plane, or their shape as a `Spec` has it; a mapping from agents to representations if they differ; or a
      function of an element's name, an agent and its observation that gives what the agent's image sees.
    - `actions`: a permutation representation for choices (``"perm[0 4 1 2 3]"``); the choices as vectors of the plane, which
      become the permutation that fits them (`equimarl.moves`); any representation for a `Box`; or a mapping by agent.
    - `agents`: where each generator sends agents, ``{"r": {"north": "west", ...}}``; those that are left out stay. Leave it
      away if agents carry their places with them and keep their names.
    - `state`: how states transform, for environments that can be set to a state: a function of an element's name and a
      state, or a representation if the state is a vector.
    - `neighbours`, `edges`: who hears whom, and how edge vectors turn, as in a `Spec`. They are audited like observations: if i
      hears j, then g i hears g j, with the turned vector.

    `GroupAction.of(spec)` is what a `Spec` declares, and `equimarl.audit` takes the `Spec` itself.

    >>> import equimarl
    >>> action = equimarl.GroupAction(
    ...     "D4",
    ...     observations="4*rotation + 4*trivial",
    ...     actions=[[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]],  # stay, left, right, down, up
    ... )
    >>> action.actions
    Rep('D4', 'perm[0 4 3 1 2; 0 1 2 4 3]')
    >>> equimarl.GroupAction("C8", observations="rotation", actions=[[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
    Traceback (most recent call last):
    ValueError: no permutation of these 5 actions fits C8: r turns (-1, 0) into (-0.7071, -0.7071), which is none of them
    """

    def __init__(
        self,
        group: str | Group,
        *,
        observations: OfEach | Image | Observe,
        actions: OfEach | ArrayLike,
        agents: Mapping[str, Mapping[str, str]] | None = None,
        state: str | Rep | Transform | None = None,
        neighbours: Neighbours | None = None,
        edges: str | Rep | None = None,
    ) -> None:
        #: The group.
        self.group: Group = _group(group)
        #: How it acts on what agents see.
        self.observations: Rep | str | dict[str, Rep | str] | Observe = (
            observations if callable(observations) else self._each("observations", observations)
        )
        #: How it acts on what agents do.
        self.actions: Rep | dict[str, Rep] = self._actions(actions)
        #: Where generators send agents.
        self.agents: dict[str, dict[str, str]] = {}
        generators = [self.group.names[g] for g in self.group.generators]
        for name, moves in (agents or {}).items():
            if name not in generators:
                raise ValueError(f"`agents` says where {name!r} sends agents; the generators of {self.group.name} are {', '.join(generators)}")
            if len(moves) != len(set(moves.values())) or set(moves) != set(moves.values()):
                raise ValueError(f"`agents` of {name!r} is no permutation: it sends {', '.join(map(str, moves))} to {', '.join(map(str, moves.values()))}")
            self.agents[name] = dict(moves)
        #: How it acts on states.
        self.state: Rep | Transform | None = state if callable(state) or state is None else self._rep("state", state)
        if (neighbours is None) != (edges is None):
            raise ValueError("`neighbours` and `edges` belong together: who is heard, and how vectors to them turn")
        #: Who hears whom.
        self.neighbours: Neighbours | None = neighbours
        #: How it acts on edge vectors.
        self.edges: Rep | None = None if edges is None else self._rep("edges", edges)

    @staticmethod
    def of(spec: Spec, *, state: str | Rep | Transform | None = None) -> "GroupAction":
        """What a `Spec` declares."""
        return GroupAction(
            spec.group,
            observations=spec.observations,
            actions=spec.actions,
            agents=spec.agents,
            state=state,
            neighbours=spec.neighbours,
            edges=spec.edges,
        )

    def _rep(self, what: str, given: str | Rep) -> Rep:
        return declared_rep(self.group, what, given)

    def _each(self, what: str, given: OfEach | Image) -> Rep | str | dict[str, Rep | str]:
        if isinstance(given, tuple):
            if len(given) != 3 or given[1] != given[2]:
                raise ValueError(f"`{what}` is {given}; images that turn have the shape (channels, n, n)")
            return "image"
        if isinstance(given, Mapping):
            return {name: one if one == "image" else self._rep(f"{what}[{name!r}]", one) for name, one in given.items()}
        return given if isinstance(given, str) and given == "image" else self._rep(what, given)

    def _actions(self, given: OfEach | ArrayLike) -> Rep | dict[str, Rep]:
        if isinstance(given, Mapping):
            return {name: self._rep(f"actions[{name!r}]", one) for name, one in given.items()}
        return self._rep("actions", given) if isinstance(given, str | Rep) else moves(self.group, given)

    def transformed_state(self, element: str, state: Any) -> Any:
        """A state, transformed."""
        if self.state is None:
            raise ValueError("this GroupAction has no `state`")
        if isinstance(self.state, Rep):
            flat = np.asarray(state, float)
            if flat.size != self.state.dim:
                raise ValueError(f"`state` has {self.state.dim} numbers, and the environment's state {flat.size}")
            return (self.state.matrices(element) @ flat.ravel()).reshape(flat.shape).astype(np.asarray(state).dtype)
        return self.state(element, state)

    def __repr__(self) -> str:
        return f"GroupAction({self.group.name!r}, observations={self.observations!r}, actions={self.actions!r})"


def moves(group: str | Group, vectors: ArrayLike, plane: str | Rep = "rotation") -> Rep:
    """The permutation of choices that are vectors: where the group turns each of them to.

    `plane` is how the group acts on the vectors. What fits nothing is refused, because then the group is no symmetry of the
    choices, whatever the environment does.

    >>> import equimarl
    >>> equimarl.moves("C4", [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])
    Rep('C4', 'perm[0 4 1 2 3]')
    >>> equimarl.moves("C8", [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])
    Traceback (most recent call last):
    ValueError: no permutation of these 5 actions fits C8: r turns (1, 0) into (0.7071, 0.7071), which is none of them
    """
    found = _group(group)
    rep = plane if isinstance(plane, Rep) else Rep(found, plane)
    given = np.asarray(vectors, float)
    if given.ndim != 2 or given.shape[1] != rep.dim or not len(given) or not np.isfinite(given).all():
        raise ValueError(f"the vectors of actions must be an array [actions, {rep.dim}] of numbers, not {given.shape}")
    near = 1e-6 * max(1.0, float(np.abs(given).max()))
    if (np.abs(given[:, None] - given[None]).max(-1) + np.eye(len(given)) <= near).any():
        raise ValueError("two actions are the same vector, so nobody can tell where it is turned to; give a `perm[...]`")
    lists = []
    for g in found.generators:
        turned = given @ rep.matrices(g).T
        distance = np.abs(turned[:, None] - given[None]).max(-1)
        to = distance.argmin(1)
        for k in np.flatnonzero(distance.min(1) > near):
            raise ValueError(
                f"no permutation of these {len(given)} actions fits {found.name}: {found.names[g]} turns "
                f"{_shown(given[k])} into {_shown(turned[k])}, which is none of them"
            )
        # In `perm[...]`, place k holds what comes to k.
        lists.append(np.argsort(to))
    if all((one == range(len(given))).all() for one in lists):
        return Rep(found, f"{len(given)}*trivial")
    return Rep(found, f"perm[{'; '.join(' '.join(map(str, one)) for one in lists)}]")


def _shown(vector: NDArray[np.float64]) -> str:
    return f"({', '.join(f'{x:.4g}' for x in vector + 0.0)})"


def everywhere(group: Group, start: NDArray[np.int64], of: Mapping[int, Sequence[int]], what: str) -> NDArray[np.int64]:
    """Where every element sends things, from where the generators do: [elements, things]."""
    known: dict[int, NDArray[np.int64]] = {0: start}
    waiting, table = [0], group.table
    while waiting:
        g = waiting.pop()
        for s in group.generators:
            sg, image = int(table[s, g]), np.asarray(of[s], np.int64)[known[g]]
            if sg not in known:
                known[sg] = image
                waiting.append(sg)
            elif (known[sg] != image).any():
                raise ValueError(
                    f"{what} is no action of {group.name}: two ways to make {group.names[sg]} send them to different places"
                )
    return np.stack([known[g] for g in group.elements])
