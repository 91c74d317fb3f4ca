"""The worlds for PettingZoo: ``pip install equimarl[zoo]``.

>>> from equimarl import zoo
>>> env = zoo.parallel_env("traffic", rows=2, cols=2)
>>> observations, infos = env.reset(seed=0)
>>> while env.agents:
...     actions = {agent: env.action_space(agent).sample() for agent in env.agents}
...     observations, rewards, terminations, truncations, infos = env.step(actions)
>>> sorted(infos["agent_0"])
['episode_length', 'episode_return', 'outside', ...]
"""

import secrets
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._batch import _checked_seed

try:
    from gymnasium.spaces import Box, Discrete
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.utils.conversions import parallel_to_aec
except ImportError:
    # Python shows what was missing above this.
    raise ImportError("equimarl.zoo needs PettingZoo: pip install 'equimarl[zoo]'")

__all__ = ["World", "env", "parallel_env"]

Observations = dict[str, NDArray[np.float32]]
Infos = dict[str, dict[str, float]]


class World(ParallelEnv):  # type: ignore[misc]  # PettingZoo has no types
    """One environment of a world, whose agents act at the same time and share their reward.

    The same seed gives the same episodes as environment 0 of a `equimarl.Batch`. Without a seed, the first `reset` takes
    one from the operating system, and later ones go on with the next episodes.

    `infos` has, for every agent the same, what the world measures after a step, and at the end of an episode
    ``episode_return`` and ``episode_length``.
    """

    metadata: dict[str, Any] = {
        "name": "equimarl",
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 5,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        world: str,
        *,
        render_mode: Literal["rgb_array", "ansi"] | None = None,
        max_cycles: int | None = None,
        **options: bool | int | float | str,
    ) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"`render_mode` is {render_mode!r}; it must be None or one of {modes}")
        if max_cycles is not None and max_cycles < 1:
            raise ValueError(f"`max_cycles` is {max_cycles}; it must be at least 1, or None for the world's own limit")
        self._envs = _core.Envs(world, 1, 1, None, options)
        if self._envs.sight == "ids":
            raise ValueError(f"the world {world} has neither images nor features to observe")
        self._world = world
        self.metadata = {**World.metadata, "name": f"equimarl_{world}"}
        self.render_mode = render_mode
        #: Steps after which an episode is cut off, if that is before the world's own limit.
        self.max_cycles = max_cycles
        self.possible_agents = [f"agent_{k}" for k in range(self._envs.agents)]
        self.agents: list[str] = []
        # Features have no bounds but those of their numbers; PettingZoo takes infinite ones for a mistake.
        most = float(np.finfo(np.float32).max)
        low, high = (0.0, 1.0) if self._envs.sight == "images" else (-most, most)
        self.observation_spaces = {
            agent: Box(low, high, self._envs.shape, np.float32) for agent in self.possible_agents
        }
        self.action_spaces = {agent: self._action_space() for agent in self.possible_agents}
        team = self._envs.team_shape or (self._envs.agents, *self._envs.shape)
        if len(team) == 2:
            # Features of all agents are one vector: PettingZoo takes a table for a picture.
            team = (team[0] * team[1],)
        self.state_space = Box(low, high, team, np.float32)
        self._seeded = False
        self._total = 0.0
        self._length = 0

    def observation_space(self, agent: str) -> Box:
        """What an agent sees: the same for all."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete | Box:
        """What an agent can do: the same for all. Where agents act by vectors, a box.

        >>> from equimarl import zoo
        >>> zoo.parallel_env("spread", actions="continuous").action_space("agent_0").shape
        (2,)
        """
        return self.action_spaces[agent]

    def _action_space(self) -> Discrete | Box:
        names, bound = self._envs.action_names, self._envs.action_bound
        return Discrete(len(names)) if bound is None else Box(-bound[0], bound[0], (len(names),), np.float32)

    def _vectors(self, actions: dict[str, Any]) -> NDArray[np.float64]:
        """What agents do, as an array. No space is a ball, so where vectors are bounded by their length, longer ones out of the
        box around it are shortened to it; other than finite ones are refused."""
        assert self._envs.action_bound is not None
        bound, is_length = self._envs.action_bound
        vectors = np.array([np.asarray(actions[agent], np.float64) for agent in self.agents])
        if is_length and vectors.ndim == 2 and np.all(np.abs(vectors) <= bound * (1 + 1e-6)):
            longest = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True) / bound, 1.0)
            vectors = vectors / longest
        return vectors

    @property
    def action_names(self) -> list[str]:
        """What each action is called."""
        return self._envs.action_names

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        """Begins an episode. Options are those of the world, and given when it is made; here there are none."""
        if seed is None and not self._seeded:
            seed = secrets.randbits(64)
        start = None if seed is None else _checked_seed(seed)
        seen = self._new_buffer()
        self._envs.reset(start, seen)
        self._seeded = True
        self.agents = list(self.possible_agents)
        self._total, self._length = 0.0, 0
        return self._shared(seen[0]), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """One step of the whole team: everybody who is there must act."""
        if not self.agents:
            # What PettingZoo's own environments do when nobody is left.
            return {}, {}, {}, {}, {}
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise ValueError(f"there is no action for {', '.join(missing)}; every agent acts in every step")
        unknown = [str(agent) for agent in actions if agent not in self.action_spaces]
        if unknown:
            raise ValueError(f"there is no agent {', '.join(unknown)}; they are {', '.join(self.possible_agents)}")
        chosen: NDArray[Any]
        if self._envs.action_bound is None:
            chosen = np.array([index(actions[agent]) for agent in self.agents], np.int64)
        else:
            chosen = self._vectors(actions)
        reward, terminated, truncated = self._envs.step_one(0, chosen)
        self._total += reward
        self._length += 1
        truncated |= not terminated and self.max_cycles is not None and self._length >= self.max_cycles
        names, values = self._envs.measure_names, self._envs.measures(0, terminated, truncated)
        info = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        if terminated or truncated:
            info |= {"episode_return": self._total, "episode_length": float(self._length)}
        seen = self._new_buffer()
        self._envs.observe(seen)
        agents = self.agents
        if terminated or truncated:
            self.agents = []
        return (
            self._shared(seen[0]),
            dict.fromkeys(agents, reward),
            dict.fromkeys(agents, terminated),
            dict.fromkeys(agents, truncated),
            {agent: dict(info) for agent in agents},
        )

    def state(self) -> NDArray[np.float32]:
        """The whole state: the world's picture of it, or what all agents see."""
        if self._envs.team_shape is not None:
            return self._envs.team_image(0)
        seen = self._new_buffer()
        self._envs.observe(seen)
        everything: NDArray[np.float32] = seen[0].reshape(self.state_space.shape)
        return everything

    @property
    def cause(self) -> NDArray[np.float32]:
        """What breaks the world's symmetry in this episode, as numbers: see `equimarl.Batch.causes`.

        >>> from equimarl import zoo
        >>> env = zoo.parallel_env("traffic", tilt=0.5)
        >>> _ = env.reset(seed=1)
        >>> env.cause
        array([0.5], dtype=float32)
        """
        found: NDArray[np.float32] = self._envs.causes()[0]
        return found

    def render(self) -> NDArray[np.uint8] | str | None:
        """The state as a picture [height, width, 3] or as lines of text, by `render_mode`.

        >>> from equimarl import zoo
        >>> env = zoo.parallel_env("wildlife", drones=2, grid=5, render_mode="rgb_array")
        >>> _ = env.reset(seed=1)
        >>> env.render().shape
        (279, 279, 3)
        """
        if self.render_mode == "rgb_array":
            return self._envs.rgb(0)
        if self.render_mode == "ansi":
            return self._envs.text(0)
        return None

    def close(self) -> None:
        """There is nothing to close."""

    def _new_buffer(self) -> NDArray[np.float32]:
        """New each time, because people keep observations."""
        return np.empty((1, self._envs.agents, *self._envs.shape), np.float32)

    def _shared(self, seen: NDArray[np.float32]) -> Observations:
        return dict(zip(self.possible_agents, seen, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_envs"]
        state["_saved"] = self._envs.options, self._envs.save() if self._seeded else None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        options, saved = state.pop("_saved")
        self.__dict__.update(state)
        self._envs = _core.Envs(self._world, 1, 1, None, options)
        if saved is not None:
            self._envs.load(saved)

    def __str__(self) -> str:
        return str(self.metadata["name"])

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._envs.options.items())
        return f"parallel_env({self._world!r}{options})"


def parallel_env(
    world: str,
    *,
    render_mode: Literal["rgb_array", "ansi"] | None = None,
    max_cycles: int | None = None,
    **options: bool | int | float | str,
) -> World:
    """A world as a parallel environment. Options of the world are keyword arguments; `equimarl.worlds` lists them.

    >>> from equimarl import zoo
    >>> env = zoo.parallel_env("wildlife", drones=3)
    >>> env.possible_agents
    ['agent_0', 'agent_1', 'agent_2']
    >>> env.observation_space("agent_0").shape
    (1, 21, 21)
    """
    return World(world, render_mode=render_mode, max_cycles=max_cycles, **options)


def env(
    world: str,
    *,
    render_mode: Literal["rgb_array", "ansi"] | None = None,
    max_cycles: int | None = None,
    **options: bool | int | float | str,
) -> AECEnv:
    """The same for those who take turns: PettingZoo's AEC interface, by its own conversion.

    >>> from equimarl import zoo
    >>> env = zoo.env("wildlife", drones=2, max_cycles=2)
    >>> env.reset(seed=0)
    >>> [agent for agent in env.agent_iter() if env.step(None if any(env.last()[2:4]) else 0) is None]
    ['agent_0', 'agent_1', 'agent_0', 'agent_1', 'agent_0', 'agent_1']
    """
    return parallel_to_aec(World(world, render_mode=render_mode, max_cycles=max_cycles, **options))
