"""Teams that were trained, at play."""

import json
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._batch import _checked_seed
from ._foreign import array_of, heard_by
from ._own import own_envs
from ._run import Run
from ._spaces import first_choice
from ._spec import Neighbours, Spec


class Team:
    """A trained team. `load` gives one."""

    def __init__(self, path: str | PathLike[str], neighbours: Neighbours | None = None) -> None:
        self._team = _core.Team(fspath(path))
        self._spec: dict[str, Any] = json.loads(self._team.spec)
        note = self._team.note
        self._note: dict[str, Any] | None = None if note is None else json.loads(note)
        self._neighbours = neighbours

    @property
    def world(self) -> str:
        """The name of its world."""
        return str(self._spec["world"])

    @property
    def spec(self) -> dict[str, Any]:
        """The declaration of its world."""
        return dict(self._spec)

    @property
    def group(self) -> str:
        """The symmetry of its network; C1 for a plain one."""
        return self._team.group

    @property
    def kind(self) -> str:
        """The kind of its network."""
        return self._team.kind

    @property
    def parameters(self) -> int:
        """How many free numbers its network has."""
        return self._team.parameters

    @property
    def made(self) -> dict[str, Any]:
        """How it was made, as its file says: seed, steps, method, version, ..."""
        extra: dict[str, Any] = json.loads(self._team.extra)
        return extra

    def act(
        self,
        observations: Any,
        env: Any = None,
        *,
        greedy: bool = True,
        seed: int | None = None,
        episode: int | Sequence[int] | None = None,
        episode_seed: int = 0,
    ) -> Any:
        """What the team does when it sees this.

        `observations` are a dict, and then so are the actions; or an array [agents, ...], of one state; or an array
        [states, agents, ...]. Agents that talk must be told whom they hear: give the environment, too, from which
        that is read. It is a `Batch`, an environment of `equimarl.zoo`, or one of your own if `load` knows its `Spec`.

        Greedy actions are those that are most likely. With ``greedy=False`` they are drawn; `seed` begins the random numbers
        anew, otherwise they go on.

        Teams that were trained with tokens have other ones in every episode, so they must be told which one it is: its number, or
        the numbers of all states. `episode_seed` and `episode` are what `equimarl play --seed` counts by. Without a number, states
        have the numbers 0, 1, ... all the time.

        >>> import equimarl, tempfile
        >>> run = equimarl.train(
        ...     "wildlife", drones=3, grid=5, steps=1024, out=tempfile.mkdtemp() + "/a", evaluate_episodes=10
        ... )
        >>> batch = equimarl.Batch("wildlife", drones=3, grid=5, num_envs=4)
        >>> equimarl.load(run).act(batch.reset(), batch).shape
        (4, 3)
        """
        start = None if seed is None else _checked_seed(seed)
        team_seed = _checked_seed(episode_seed)

        def played(state: int, states: int) -> tuple[int, int]:
            """The episode that a state is of."""
            if episode is None:
                return team_seed, state
            numbers = [episode] * states if isinstance(episode, (int, np.integer)) else list(episode)
            if len(numbers) != states:
                raise ValueError(f"`episode` has {len(numbers)} numbers, and `observations` are of {states} state(s)")
            return team_seed, _checked_seed(numbers[state])

        if isinstance(observations, dict):
            if not observations:
                return {}
            # In the environment's own order: edges are known by number.
            known = list(getattr(env, "possible_agents", ()))
            agents = known if set(known) == set(observations) else list(observations)
            each = [_numbers(observations[agent]) for agent in agents]
            for agent, one in zip(agents, each, strict=True):
                if one.shape != each[0].shape:
                    raise ValueError(f"{agents[0]} sees an array of the shape {each[0].shape}, and {agent} one of {one.shape}")
            seen = np.stack(each)
            chosen_by = dict(zip(agents, self._state(seen, env, 0, agents, greedy, start, played(0, 1)), strict=True))
            if self._by_vectors:
                return {agent: np.array(chosen_by[agent], np.float32) for agent in observations}
            return {agent: chosen_by[agent] + first_choice(env, agent) for agent in observations}
        seen, kind = _numbers(observations), np.float32 if self._by_vectors else np.int64
        if seen.ndim == len(self._shape) + 1:
            return np.array(self._state(seen, env, 0, list(range(len(seen))), greedy, start, played(0, 1)), kind)
        if seen.ndim != len(self._shape) + 2:
            raise ValueError(
                f"`observations` has the shape {seen.shape}; it must be [agents, ...] or [states, agents, ...], where an agent "
                f"sees {self._shape}"
            )
        if self._note is not None and self._note["talks"]:
            raise ValueError(
                f"agents of {self.world} talk, and an environment is in one state: give one state at a time, [agents, ...]"
            )
        chosen = []
        for state, of_state in enumerate(seen):
            at = played(state, len(seen))
            chosen.append(self._state(of_state, env, state, list(range(len(of_state))), greedy, start, at))
            start = None
        return np.array(chosen, kind).reshape(*seen.shape[:2], *((-1,) if self._by_vectors else ()))

    @property
    def _by_vectors(self) -> bool:
        return "vector" in self._spec["actions"]

    @property
    def _shape(self) -> tuple[int, ...]:
        image = self._spec["image"]
        if image is not None:
            return tuple(image)
        return (_core.Rep(_core.Group(self._spec["group"]), self._spec["features"]).dim,)

    def _state(
        self,
        seen: NDArray[np.float32],
        env: Any,
        state: int,
        agents: list[Any],
        greedy: bool,
        seed: int | None,
        episode: tuple[int, int],
    ) -> list[Any]:
        if len(seen) == 0:
            raise ValueError("there are no agents in `observations`")
        envs = own_envs(env) if self._note is None else None
        # Of surroundings, a team takes what is its own, and reads the rest from the environment.
        surrounded = envs is not None and envs.sight == "surroundings" and seen[0].shape == envs.shape
        flat_features = self._spec["image"] is None and seen[0].size == self._shape[0]
        if seen[0].shape != self._shape and not flat_features and not surrounded:
            raise ValueError(f"an agent of this team sees an array of the shape {self._shape}, not {seen[0].shape}")
        flat = np.ascontiguousarray(seen.reshape(len(seen), -1), np.float32)
        if self._note is not None and self._note.get("bytes"):
            flat = flat / np.float32(255)
        if self._note is None:
            if envs is None:
                if len(agents) > 1 and not self.kind.startswith("central"):
                    raise TypeError(
                        f"agents of {self.world} talk: give the environment as well, act(observations, env), from which it is read who "
                        "hears whom; it is a Batch or an environment of equimarl.zoo"
                    )
            return self._team.act(flat, None, None if envs is None else (envs, state), greedy, seed, episode)
        if not self._note["talks"]:
            return self._team.act(flat, None, None, greedy, seed, episode)
        if self._neighbours is None:
            raise TypeError(f"agents of {self.world} talk: load(run, spec=spec) tells who hears whom")
        if env is None:
            raise TypeError(f"agents of {self.world} talk: give the environment as well, act(observations, env)")
        names = list(getattr(env, "possible_agents", agents)) if isinstance(agents[0], int) else agents
        size = _core.Rep(_core.Group(self._spec["group"]), self._spec["edge"]).dim
        index = {name: k for k, name in enumerate(names)}
        heard = [heard_by(self._neighbours(env, name), name, index, size) for name in names[: len(agents)]]
        return self._team.act(flat, heard, None, greedy, seed, episode)

    def __repr__(self) -> str:
        return f"Team({self.world!r}, {self.kind}, {self.parameters} parameters)"


def load(run: str | PathLike[str] | Run, *, spec: Spec | None = None) -> Team:
    """A trained team, from a run or a model file, whoever made it: this package, or the program.

    A run that is not finished gives its latest checkpoint. `spec` is needed only for environments of your own whose agents talk:
    it knows who hears whom.
    """
    if spec is not None and not isinstance(spec, Spec):
        raise TypeError(f"`spec` must be an equimarl.Spec, not {type(spec).__name__}")
    return Team(run.path if isinstance(run, Run) else run, None if spec is None else spec.neighbours)


def _numbers(given: ArrayLike) -> NDArray[np.float32]:
    array = array_of(given, "`observations`")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"observations are an array of {array.dtype}; numbers are needed, such as np.float32")
    with np.errstate(over="ignore"):  # What is too large is infinite here, and refused as that.
        return array.astype(np.float32, copy=False)
