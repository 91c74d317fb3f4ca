"""An environment in Python as a world: it is asked for numbers, and what it says is checked."""

import copy
import json
import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._spaces import count, first_choice, is_bytes
from ._spec import Spec, _name_of

Heard = list[list[tuple[int, list[float]]]]
#: The largest number that a network can hear.
_MOST = float(np.finfo(np.float32).max)
_log = logging.getLogger("equimarl")

_TOGETHER = (
    "a team stays together until its episode ends. Let agents that are done wait (SuperSuit's black_death_v3 does that), or "
    "end the episode for all"
)


class Adapter:
    """One environment, on behalf of the trainer."""

    def __init__(self, env: Any, spec: Spec, agents: list[Any], starts: "_Starts | None") -> None:
        self.env = env
        self._starts = starts
        self._most = np.float32(255 if shows_bytes(env, spec, agents) else 1)
        self._spec = spec
        self._agents = agents
        self._index = {agent: k for k, agent in enumerate(agents)}
        self._shape = spec.observation_shape
        self._vectors = isinstance(spec.observations, (str, _core.Rep))
        self._size = spec.observation_size
        self._edge = spec.edge_size
        self._first = [first_choice(env, agent) for agent in agents]
        self._seen = np.zeros((len(agents), self._size), np.float32)
        self._steps = 0

    def name(self, agent: int) -> str:
        """What an agent is called."""
        return str(self._agents[agent])

    def reset(self, seed: int) -> tuple[NDArray[np.float32], Heard | None]:
        """Begins an episode."""
        answer = self.env.reset(seed=seed)
        if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], dict)):
            raise TypeError("reset() must give two dicts, observations and infos, as PettingZoo's ParallelEnv does")
        observations: dict[Any, Any] = answer[0]
        here = list(observations)
        if set(here) != set(self._agents):
            raise ValueError(
                f"an episode began with the agents {_list(here)}, and the team is {_list(self._agents)}: it must be the same in "
                "every episode"
            )
        self._see(observations)
        if self._starts is not None:
            self._starts.compare(seed, self._seen)
            self._starts = None  # Only the first start of a copy tells.
        self._steps = 0
        return self._seen, self._heard()

    def step(self, actions: list[int]) -> tuple[NDArray[np.float32], Heard | None, float, bool, bool]:
        """One step: what is seen and heard, the team's reward, and whether the episode was over or cut off."""
        first = self._first
        chosen = {agent: first[k] + actions[k] for k, agent in enumerate(self._agents)}
        answer = self.env.step(chosen)
        if not (isinstance(answer, tuple) and len(answer) == 5 and all(isinstance(part, dict) for part in answer)):
            raise TypeError(
                "step() must give five dicts, observations, rewards, terminations, truncations and infos, as PettingZoo's "
                "ParallelEnv does"
            )
        observations, rewards, terminations, truncations, _ = answer
        self._steps += 1
        over, ended = 0, 0
        for agent in self._agents:
            terminated = bool(terminations.get(agent, False))
            over += terminated
            ended += terminated or bool(truncations.get(agent, False))
        last = ended == len(self._agents)
        if ended and not last:
            done = [a for a in self._agents if terminations.get(a) or truncations.get(a)]
            raise ValueError(f"after {self._steps} steps {_list(done)} had ended, and others had not: {_TOGETHER}")
        if not last or observations:
            self._see(observations)
        reward = self._reward(rewards)
        truncated = (last and over < len(self._agents)) or self._steps >= self._spec.max_steps
        terminated = over == len(self._agents)
        # After the end of everything nobody hears anybody.
        heard = None if terminated else self._heard()
        return self._seen, heard, reward, terminated, truncated

    def _reward(self, rewards: dict[Any, Any]) -> float:
        """The mean over the agents, which is what each gets where they share it."""
        values = []
        for agent in self._agents:
            if agent not in rewards:
                raise ValueError(f"step() gave no reward for {agent}")
            try:
                value = float(rewards[agent])
            except (TypeError, ValueError):
                raise TypeError(f"the reward of {agent} is {rewards[agent]!r}, which is no number") from None
            if not isfinite(value):
                raise ValueError(f"the reward of {agent} is {value} after {self._steps} steps; rewards must be finite")
            values.append(value)
        first = values[0]
        return first if all(value == first for value in values) else sum(values) / len(values)

    def _see(self, observations: dict[Any, Any]) -> None:
        if len(observations) != len(self._agents):
            unknown = [agent for agent in observations if agent not in self._index]
            if unknown:
                raise ValueError(f"{_list(unknown)} came into the episode after it began: {_TOGETHER}")
        for k, agent in enumerate(self._agents):
            if agent not in observations:
                raise ValueError(f"{agent} left after {self._steps} steps, and others had not: {_TOGETHER}")
            seen = observations[agent]
            if type(seen) is not np.ndarray:
                if isinstance(seen, dict):
                    raise TypeError(f"{agent} sees a dict with {_list(seen)}: give the trainer one array, for example by a wrapper")
                seen = array_of(seen, f"what {agent} sees")
            if seen.dtype.kind not in "fiub":
                raise TypeError(f"{agent} sees an array of {seen.dtype}; numbers are needed, such as np.float32")
            if seen.shape != self._shape and not (self._vectors and seen.size == self._size):
                raise ValueError(
                    f"{agent} sees an array of the shape {seen.shape}, and the Spec says {self._shape}"
                    + (f", by the representation `{self._spec.observations}`" if self._vectors else "")
                )
            with np.errstate(over="ignore"):  # What is too large is infinite here, and refused as that.
                np.divide(seen.reshape(-1), self._most, out=self._seen[k], casting="unsafe")

    def _heard(self) -> Heard | None:
        neighbours = self._spec.neighbours
        if neighbours is None:
            return None
        return [heard_by(neighbours(self.env, agent), agent, self._index, self._edge) for agent in self._agents]


def heard_by(given: Any, agent: Any, index: dict[Any, int], size: int) -> list[tuple[int, list[float]]]:
    """Whom an agent hears, by number and in their order, from what somebody's function gave."""
    heard: list[tuple[int, list[float]]] = []
    if not isinstance(given, Iterable):
        raise TypeError(
            f"`neighbours` gave {given!r} for {agent}; it gives a list of (other agent, edge vector) pairs, empty if nobody is heard"
        )
    for pair in given:
        try:
            other, vector = pair
        except (TypeError, ValueError):
            raise TypeError(f"neighbours of {agent} must be (other agent, edge vector) pairs, not {pair!r}") from None
        if not isinstance(other, Hashable) or other not in index or other == agent:
            raise ValueError(f"{agent} cannot hear {other!r}; the others are {_list(a for a in index if a != agent)}")
        try:
            numbers = np.asarray(vector, np.float64).reshape(-1).tolist()
        except (TypeError, ValueError):
            numbers = []
        # What is no number is not below anything.
        if len(numbers) != size or not all(abs(number) <= _MOST for number in numbers):
            raise ValueError(
                f"the edge vector from {other} to {agent} is {vector!r}; `edges` have {size} finite numbers of at most {_MOST:.2g}"
            )
        heard.append((index[other], numbers))
    heard.sort()
    if any(one[0] == next[0] for one, next in zip(heard, heard[1:], strict=False)):
        raise ValueError(f"{agent} hears somebody twice")
    return heard


class _Starts:
    """Notices copies of an environment that begin alike, whatever the seed: they have one state of one generator, and would play
    the same episodes."""

    #: So many are compared.
    MANY = 4

    def __init__(self) -> None:
        self._seen: dict[int, bytes] = {}

    def compare(self, seed: int, seen: NDArray[np.float32]) -> None:
        """A start."""
        if len(self._seen) < self.MANY:
            self._seen[seed] = seen.tobytes()
            if len(self._seen) == self.MANY and len(set(self._seen.values())) == 1:
                _log.warning(
                    "%d copies of the environment began alike, with different seeds. If it draws chance from elsewhere than "
                    "reset(seed=...), all copies play the same episodes: use the seed, or give a function that makes environments",
                    self.MANY,
                )


class _Maker:
    """Makes environments. The compiled part holds it, so it holds nothing of the compiled part: Python's collector does not look in
    there for circles."""

    def __init__(self, world: Any, spec: Spec) -> None:
        self.made: list[Any] = []
        self._spec = spec
        self._waiting: list[Any] = []
        self._starts: _Starts | None = None
        if isinstance(world, type) or (callable(world) and not hasattr(world, "step")):
            self._make: Callable[[], Any] = world
            self.first = self._new()
            self._waiting.append(self.first)
        else:
            # What we were given stays as it is.
            self._make = lambda: _copied(world)
            self._starts = _Starts()
            self.first = world
        try:
            self.agents = _checked(self.first, spec)
        except BaseException:
            close_all(self.made)
            raise

    def _new(self) -> Any:
        env = self._make()
        self.made.append(env)
        return env

    def __call__(self) -> Adapter:
        env = self._waiting.pop() if self._waiting else self._new()
        if list(getattr(env, "possible_agents", ())) != self.agents:
            raise ValueError(f"environments of one kind have the same agents; {_list(self.agents)} were expected")
        return Adapter(env, self._spec, self.agents, self._starts)


class Environments:
    """Environments of one kind as a world of the trainer. They are closed in the end."""

    def __init__(self, world: Any, spec: Spec) -> None:
        self._maker = maker = _Maker(world, spec)
        self.name = _name_of(maker.first, spec)
        note = json.dumps(
            {
                "agents": [str(agent) for agent in maker.agents],
                "talks": spec.neighbours is not None,
                "bytes": shows_bytes(maker.first, spec, maker.agents),
            }
        )
        self.world = _core.ForeignWorld(spec._declared(self.name, maker.agents), note, dict(spec.options), maker)

    def close(self) -> None:
        """Closes all that were made here."""
        made, self._maker.made = self._maker.made, []
        close_all(made)


def close_all(envs: list[Any]) -> None:
    """Closes environments, all of them: what the first raises that fails comes through afterwards."""
    raised: Exception | None = None
    for env in envs:
        close = getattr(env, "close", None)
        try:
            if callable(close):
                close()
        except Exception as error:
            raised = raised or error
    if raised is not None:
        raise raised


def shows_bytes(env: Any, spec: Spec, agents: list[Any]) -> bool:
    """Whether agents see images of bytes, which a network gets as numbers from 0 to 1."""
    if isinstance(spec.observations, (str, _core.Rep)) or not callable(getattr(env, "observation_space", None)):
        return False
    return all(is_bytes(env.observation_space(agent)) for agent in agents)


def _checked(env: Any, spec: Spec) -> list[Any]:
    """The agents of an environment, which has what is asked for."""
    kind = type(env).__name__
    if hasattr(env, "agent_iter") or hasattr(env, "agent_selection"):
        raise TypeError(f"{kind} takes turns (AEC); convert it with pettingzoo.utils.aec_to_parallel")
    for method in ("reset", "step"):
        if not callable(getattr(env, method, None)):
            raise TypeError(
                f"{kind} has no {method}(): an environment has the methods of PettingZoo's ParallelEnv, and a function that makes "
                "environments gives one"
            )
    agents = getattr(env, "possible_agents", None)
    if not agents:
        raise TypeError(f"{kind} has no `possible_agents`: a team is known before its first episode")
    agents = list(agents)
    try:
        twice = [agent for agent, times in Counter(agents).items() if times > 1]
    except TypeError:
        raise TypeError(f"`possible_agents` of {kind} must be names, such as text, not {agents!r}") from None
    if twice:
        raise ValueError(f"`possible_agents` of {kind} has {twice[0]!r} more than once; every agent needs a name of its own")
    _check_spaces(env, spec, agents)
    return agents


def _copied(env: Any) -> Any:
    try:
        return copy.deepcopy(env)
    except Exception as error:
        raise TypeError(
            f"{type(env).__name__} cannot be copied ({error}), and training needs several: give a function that makes one instead "
            "of the environment"
        ) from error


def _check_spaces(env: Any, spec: Spec, agents: list[Any]) -> None:
    """What is declared fits what the environment says of itself, as far as it does."""
    for agent in agents:
        if callable(getattr(env, "action_space", None)):
            space = env.action_space(agent)
            choices = count(space)
            if choices is None:
                raise TypeError(f"{agent} acts in {space}; teams learn to choose one of several actions, a Discrete space")
            if choices != spec.num_actions:
                raise ValueError(
                    f"{agent} has {choices} actions, and the Spec's `actions` is a representation of dimension {spec.num_actions}"
                )
        if callable(getattr(env, "observation_space", None)):
            shape = getattr(env.observation_space(agent), "shape", None)
            vector = isinstance(spec.observations, (str, _core.Rep))
            if shape is not None and (
                int(np.prod(shape)) != spec.observation_size if vector else tuple(shape) != spec.observation_shape
            ):
                raise ValueError(
                    f"{agent} sees an array of the shape {tuple(shape)}, and the Spec's `observations` say {spec.observation_shape}"
                )


def array_of(given: Any, what: str) -> NDArray[Any]:
    """An array, if there is one to be made of it."""
    try:
        return np.asarray(given)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is no array: its rows are not of one length, or no numbers") from None


def _list(things: Any) -> str:
    return ", ".join(map(str, things)) or "nobody"
