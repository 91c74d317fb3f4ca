"""Thousands of environments at once, in arrays that are written in place."""

import operator
import weakref
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core


class Infos(TypedDict, total=False):
    """Episodes that a step ended; empty if it ended none."""

    environment: NDArray[np.int64]
    """Which environments."""
    episode_return: NDArray[np.float64]
    """The sum of the team's rewards."""
    episode_length: NDArray[np.int64]
    """The number of steps."""


class Batch:
    """Environments of one world, stepped together.

    Options of the world are keyword arguments; `equimarl.worlds` lists them.

    >>> import equimarl, numpy as np
    >>> batch = equimarl.Batch("wildlife", drones=4, num_envs=512, seed=0)
    >>> observations = batch.reset()
    >>> rng = np.random.default_rng(0)
    >>> finished = 0
    >>> for _ in range(100):
    ...     batch.actions[:] = rng.integers(batch.num_actions, size=batch.actions.shape)
    ...     observations, rewards, terminals, truncations, infos = batch.step()
    ...     finished += len(infos.get("episode_return", ()))
    >>> finished > 500
    True

    All arrays are made once, and every step writes into the same ones: copy what must outlive the next step, and do not
    change `observations`, because images are kept up to date by repainting only what moved. `reset` repaints them whole.

    An episode that ends is followed by the next one within the same step (gymnasium's ``SAME_STEP``): `observations`
    then shows the start of the new episode, and `final_observations` of that environment the end of the old one. What
    `final_observations` holds of environments that did not end in this step has no meaning.

    ==================== =============================== ===========================================================
    array                shape                           what it is
    ==================== =============================== ===========================================================
    `observations`       environments, agents, ...       what agents see, by `observe`: ``"images"`` are float32 from
                                                         0 to 1 with channels first, ``"ids"`` are uint64: equal ids,
                                                         equal observations. Worlds without images have
                                                         ``"features"``, float32 vectors of an agent alone, and
                                                         ``"surroundings"``: own features; per other agent 1 if it is
                                                         heard and the edge vector from it; per sender (a landmark) the
                                                         same and its features; zeros for who is not heard.
                                                         Vectors are (down, right): agents of ``spread`` and ``tag``
                                                         know their velocity and their place
    `final_observations` as `observations`               the last observations of episodes that just ended
    `actions`            environments, agents            int32: what agents do in the next step; float32 with one more
                                                         axis, of `num_actions`, where agents act by vectors
    `rewards`            environments                    float32: a team shares its reward
    `terminals`          environments                    bool: the episode is over, nothing comes after
    `truncations`        environments                    bool: it was cut off, and would have gone on
    ==================== =============================== ===========================================================

    The same seed gives the same episodes as the Rust library and the program: environment e draws from the stream
    (seed, world, e), whatever the number of environments and threads. `step` lets other Python threads run meanwhile; use
    one batch per thread. It uses `threads` of its own, by default one; more help where nothing else needs the processors.

    `buffers` are arrays of your own by these names, for example in shared memory; the others are made here.
    """

    def __init__(
        self,
        world: str,
        *,
        num_envs: int = 1,
        seed: int = 0,
        observe: Literal["images", "surroundings", "features", "ids"] | None = None,
        threads: int = 1,
        buffers: Mapping[str, NDArray[Any]] | None = None,
        **options: bool | int | float | str,
    ) -> None:
        self._seed: int | None = _checked_seed(seed)
        for name, number in (("num_envs", num_envs), ("threads", threads)):
            # What Rust's numbers cannot hold.
            if isinstance(number, int | np.integer) and not 0 <= number < 2**63:
                raise ValueError(f"`{name}` is {number}; it must be at least 1")
        if buffers is not None and not isinstance(buffers, Mapping):
            raise TypeError(f"`buffers` must be a dict of arrays by name, not {type(buffers).__name__}")
        self._envs = _core.Envs(world, num_envs, threads, observe, options)
        self._world = world
        envs, given = self._envs, dict(buffers or {})
        seen = (envs.num_envs, envs.agents, *envs.shape)
        kind = np.uint64 if envs.sight == "ids" else np.float32
        self._observations: NDArray[Any] = _buffer(given, "observations", seen, kind)
        self._final_observations: NDArray[Any] = _buffer(given, "final_observations", seen, kind)
        self._actions: NDArray[Any] = (
            _buffer(given, "actions", seen[:2], np.int32)
            if envs.action_bound is None
            else _buffer(given, "actions", (*seen[:2], len(envs.action_names)), np.float32)
        )
        self._rewards: NDArray[np.float32] = _buffer(given, "rewards", seen[:1], np.float32)
        self._terminals: NDArray[np.bool_] = _buffer(given, "terminals", seen[:1], np.bool_)
        self._truncations: NDArray[np.bool_] = _buffer(given, "truncations", seen[:1], np.bool_)
        if given:
            names = "observations, final_observations, actions, rewards, terminals, truncations"
            raise ValueError(f"there is no buffer `{next(iter(given))}`; there are {names}")
        # What cannot be used is refused now and not in the first step.
        self._envs.check_buffers(self._actions, *self._arrays())
        # An array that somebody refers to weakly cannot be resized, so its memory stays where it is.
        self._held = [weakref.ref(array) for array in self._arrays()]

    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]:
        return self._observations, self._final_observations, self._rewards, self._terminals, self._truncations

    @property
    def world(self) -> str:
        """The world's name."""
        return self._world

    @property
    def options(self) -> dict[str, bool | int | float | str]:
        """All options of the world, as they are."""
        return self._envs.options

    @property
    def num_envs(self) -> int:
        """How many environments."""
        return self._envs.num_envs

    @property
    def threads(self) -> int:
        """How many threads a step uses."""
        return self._envs.threads

    @property
    def num_agents(self) -> int:
        """The number of agents in each environment."""
        return self._envs.agents

    @property
    def num_actions(self) -> int:
        """The number of actions of an agent: 0 to this, less one. Where agents act by vectors, the numbers of one."""
        return len(self._envs.action_names)

    @property
    def action_names(self) -> list[str]:
        """What each action is called.

        >>> import equimarl
        >>> equimarl.Batch("wildlife").action_names
        ['stay', 'down', 'right', 'up', 'left']
        """
        return self._envs.action_names

    @property
    def action_bound(self) -> tuple[float, bool] | None:
        """How large a vector may be by which an agent acts, and whether that is its length; if not, it is each of its numbers.

        None where agents choose. What is larger, or not finite, is refused.

        >>> import equimarl
        >>> equimarl.Batch("spread", actions="continuous", arena="disc").action_bound
        (1.0, True)
        """
        return self._envs.action_bound

    @property
    def observe(self) -> str:
        """What is observed: ``images``, ``surroundings``, ``features`` or ``ids``."""
        return self._envs.sight

    @property
    def observations(self) -> NDArray[Any]:
        """What all agents see now."""
        return self._observations

    @property
    def final_observations(self) -> NDArray[Any]:
        """What agents saw last, in environments whose episode ended in this step."""
        return self._final_observations

    @property
    def actions(self) -> NDArray[Any]:
        """What agents do in the next step: write into it, or give actions to `step`."""
        return self._actions

    @property
    def rewards(self) -> NDArray[np.float32]:
        """What each team got in this step."""
        return self._rewards

    @property
    def terminals(self) -> NDArray[np.bool_]:
        """Where this step ended an episode."""
        return self._terminals

    @property
    def truncations(self) -> NDArray[np.bool_]:
        """Where this step was the last one that an episode may have."""
        return self._truncations

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Where an episode ended in this step, in either way: where `final_observations` has something to say."""
        return self._terminals | self._truncations

    @property
    def causes(self) -> NDArray[np.float32]:
        """What breaks the world's symmetry in the episode that every environment is in: [environments, numbers].

        A wind is the vector (down, right) towards which it blows, as long as it is strong; a tilt is one number. No numbers where the
        world declares nothing. A new array each time. Where it is drawn for every episode, nobody could learn it without being told:
        what `final_observations` shows belongs to the causes from before the step.

        >>> import equimarl
        >>> batch = equimarl.Batch("wildlife", wind=0.5, wind_from="west")
        >>> _ = batch.reset(seed=1)
        >>> batch.causes
        array([[0. , 0.5]], dtype=float32)
        """
        return self._envs.causes()

    def reset(self, seed: int | None = None) -> NDArray[Any]:
        """Begins an episode in every environment, and gives `observations`.

        The first time with the seed that the batch was made with; later, without a seed, with the next episodes.
        """
        start = self._seed if seed is None else _checked_seed(seed)
        self._envs.reset(start, self._observations)
        self._seed = None
        for array in self._arrays()[2:]:
            array.fill(0)
        return self._observations

    def step(
        self, actions: ArrayLike | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """One step of every environment by `actions`, or by what stands in the buffer of this name.

        Gives `observations`, `rewards`, `terminals`, `truncations`, and the episodes that ended.

        >>> import equimarl, numpy as np
        >>> batch = equimarl.Batch("traffic", rows=2, cols=2, num_envs=2)
        >>> _ = batch.reset()
        >>> batch.step(np.full((2, 4), 2))
        Traceback (most recent call last):
        ValueError: actions[0, 0] is 2; actions are 0 to 1
        """
        given = self._actions if actions is None else np.asarray(actions)
        ended = self._envs.step(given, *self._arrays())
        if given is not self._actions:
            self._actions[:] = given
        infos: Infos = {}
        if ended is not None:
            infos["environment"], infos["episode_return"], infos["episode_length"] = ended
        return self._observations, self._rewards, self._terminals, self._truncations, infos

    def render(self, environment: int = 0) -> NDArray[np.uint8]:
        """A picture of an environment for people: [height, width, 3], red, green and blue."""
        try:
            number = operator.index(environment)
        except TypeError:
            raise TypeError(f"an environment is known by its number, not by {environment!r}") from None
        if not 0 <= number < self.num_envs:
            raise IndexError(f"there is no environment {number}; they are 0 to {self.num_envs - 1}")
        return self._envs.rgb(number)

    def __len__(self) -> int:
        return self.num_envs

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Batch({self._world!r}{options}, num_envs={self.num_envs}, observe={self.observe!r})"


def _checked_seed(seed: int) -> int:
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"a seed is a whole number from 0 to 2**64 - 1, not {seed!r}") from None
    if not 0 <= number < 2**64:
        raise ValueError(f"a seed is a whole number from 0 to 2**64 - 1, not {seed}")
    return number


def _buffer(given: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """The one that is given, or a new one."""
    return given.pop(name) if name in given else np.zeros(shape, kind)
