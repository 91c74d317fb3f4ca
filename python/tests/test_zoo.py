"""The worlds in PettingZoo's tests, and in those that PettingZoo does not have."""

import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import equimarl

pytest.importorskip("pettingzoo")
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test  # noqa: E402
from pettingzoo.test.state_test import state_test  # noqa: E402

from equimarl import zoo  # noqa: E402

# Every world that there is, and some that are not as usual.
ALL: list[tuple[str, dict[str, Any]]] = [(world.name, {}) for world in equimarl.worlds()] + [
    ("wildlife", {"drones": 6, "grid": 9}),
    ("traffic", {"rows": 1, "cols": 3, "step_limit": 30}),
]
every_world = pytest.mark.parametrize(("world", "options"), ALL)


def episode(env: Any, seed: int | None, actions: int = 0, most: int = 1000) -> list[Any]:
    """All that happens until nobody is left, with random actions of their own seed."""
    rng = np.random.default_rng(actions)
    happened: list[Any] = [env.reset(seed=seed)]
    while env.agents and len(happened) <= most:
        chosen = {agent: int(rng.integers(env.action_space(agent).n)) for agent in env.agents}
        happened.append((*env.step(chosen), env.state()))
    return happened


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b)


@every_world
def test_pettingzoo(world: str, options: dict[str, Any]) -> None:
    parallel_api_test(zoo.parallel_env(world, **options), num_cycles=600)
    parallel_seed_test(lambda: zoo.parallel_env(world, **options))
    state_test(zoo.env(world, **options), zoo.parallel_env(world, **options))
    api_test(zoo.env(world, **options), num_cycles=200)
    max_cycles_test(
        SimpleNamespace(
            # Four steps without a capture, or there is nothing to cut off.
            parallel_env=lambda max_cycles: Seeded(zoo.parallel_env(world, **options, max_cycles=max_cycles)),
            env=lambda max_cycles: Seeded(zoo.env(world, **options, max_cycles=max_cycles)),
        )
    )


class Seeded:
    """Makes `reset()` the same each time, and actions all 0, so that no episode ends by luck."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self) -> Any:
        return self.env.reset(seed=0)

    def action_space(self, agent: str) -> Any:
        return SimpleNamespace(sample=lambda: 0)


@every_world
def test_seeds_decide_whole_episodes(world: str, options: dict[str, Any]) -> None:
    env, twin = (zoo.parallel_env(world, **options) for _ in range(2))
    once = episode(env, 7)
    assert len(once) > 2
    assert same(once, episode(twin, 7))
    # The same environment again, after another episode in between; and the episode that follows by itself.
    other = episode(env, 8)
    assert not same(once, other)
    assert same(once, episode(env, 7))
    assert same(episode(env, None), episode(twin, None)) and not same(episode(env, None), once)
    # Other actions, another episode.
    assert not same(once, episode(env, 7, actions=1))
    # Two that nobody gave a seed are not the same.
    assert not same(*(episode(zoo.parallel_env(world, **options), None) for _ in range(2)))


@every_world
def test_the_batch_plays_the_same(world: str, options: dict[str, Any]) -> None:
    batch = equimarl.Batch(world, num_envs=3, seed=11, **options)
    batch.reset()
    env = zoo.parallel_env(world, **options)
    seen, _ = env.reset(seed=11)
    rng = np.random.default_rng(0)
    while env.agents:
        assert np.array_equal(batch.observations[0], np.stack(list(seen.values())))
        actions = rng.integers(batch.num_actions, size=batch.actions.shape)
        batch.step(actions)
        seen, rewards, *_ = env.step(dict(zip(env.agents, actions[0], strict=True)))
        assert all(np.float32(reward) == batch.rewards[0] for reward in rewards.values())
    assert batch.ended[0]
    assert np.array_equal(batch.final_observations[0], np.stack(list(seen.values())))


@every_world
def test_pickles_go_on(world: str, options: dict[str, Any]) -> None:
    env = zoo.parallel_env(world, render_mode="ansi", **options)
    fresh = pickle.loads(pickle.dumps(env))
    assert same(episode(fresh, 3), episode(env, 3))
    # In the middle of an episode, with the random numbers that are still to come.
    env.reset(seed=4)
    step = {agent: 0 for agent in env.agents}
    env.step(step)
    copy = pickle.loads(pickle.dumps(env))
    assert copy.render() == env.render() and copy.agents == env.agents and repr(copy) == repr(env)
    while env.agents:
        assert same(env.step(step), copy.step(step))
    assert same(episode(env, None), episode(copy, None))
    assert env.observation_space("agent_0") == copy.observation_space("agent_0")


@every_world
def test_pictures_and_text(world: str, options: dict[str, Any]) -> None:
    env = zoo.parallel_env(world, render_mode="rgb_array", **options)
    env.reset(seed=1)
    first = env.render()
    assert isinstance(first, np.ndarray) and first.dtype == np.uint8 and first.shape[2] == 3
    assert first.min() < 100 and len(np.unique(first.reshape(-1, 3), axis=0)) > 4
    for _ in range(3):
        env.step({agent: 1 for agent in env.agents})
    assert not same(env.render(), first)
    text = zoo.parallel_env(world, render_mode="ansi", **options)
    text.reset(seed=1)
    lines = text.render()
    assert isinstance(lines, str) and lines.count("\n") > 4 and "\x1b" not in lines
    silent = zoo.parallel_env(world, **options)
    silent.reset()
    assert silent.render() is None


# SuperSuit's own warnings are not ours to heed.
@pytest.mark.filterwarnings("ignore")
@every_world
def test_supersuit(world: str, options: dict[str, Any]) -> None:
    supersuit = pytest.importorskip("supersuit")
    vector = supersuit.pettingzoo_env_to_vec_env_v1(zoo.parallel_env(world, **options))
    both = supersuit.concat_vec_envs_v1(vector, 2, num_cpus=1, base_class="gymnasium")
    seen, _ = both.reset(seed=5)
    agents = vector.num_envs
    assert seen.shape == (2 * agents, *vector.observation_space.shape)
    for _ in range(120):
        seen, rewards, *_ = both.step(np.zeros(2 * agents, int))
    assert rewards.shape == (2 * agents,) and vector.observation_space.contains(seen[0])
    both.close()


def test_episodes_say_how_they_were() -> None:
    for world in equimarl.worlds():
        happened = episode(zoo.parallel_env(world.name), 3)
        last = happened[-1][4]["agent_0"]
        assert last["episode_length"] == len(happened) - 1
        assert last["episode_return"] == pytest.approx(sum(step[1]["agent_0"] for step in happened[1:]))
        assert all(name not in happened[1][4]["agent_0"] for name in ("episode_return", "episode_length"))
        assert world.name != "traffic" or {"waiting", "queue"} <= last.keys()


def test_it_is_imported_when_asked_for() -> None:
    code = "import sys, equimarl; assert 'pettingzoo' not in sys.modules; equimarl.zoo.parallel_env('wildlife')"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="'equimarl' has no attribute 'zool'"):
        equimarl.zool  # noqa: B018


def test_mistakes() -> None:
    env = zoo.parallel_env("wildlife")
    with pytest.raises(RuntimeError, match="call reset"):
        env.state()
    assert env.step({}) == ({}, {}, {}, {}, {})
    env.reset(seed=0)
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"agent_0": 0}, "there is no action for agent_1, agent_2"),
        ({**dict.fromkeys(env.agents, 0), "drone": 0}, "there is no agent drone; they are agent_0"),
        (dict.fromkeys(env.agents, np.uint8(5)), r"actions\[0\] is 5; actions are 0 to 4"),
    ]
    for actions, text in mistakes:
        with pytest.raises(ValueError, match=text):
            env.step(actions)
    with pytest.raises(TypeError, match="float"):
        env.step(dict.fromkeys(env.agents, 1.5))
    with pytest.raises(ValueError, match="wildlife has no option `rows`; it has drones, grid"):
        zoo.parallel_env("wildlife", rows=2)
    with pytest.raises(ValueError, match="`render_mode` is 'human'"):
        zoo.parallel_env("wildlife", render_mode="human")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`max_cycles` is 0"):
        zoo.parallel_env("wildlife", max_cycles=0)
    with pytest.raises(ValueError, match="a seed is a whole number"):
        env.reset(seed=-1)


@pytest.mark.parametrize("arena", ["square", "disc"])
def test_vectors_are_boxes(arena: str) -> None:
    env = zoo.parallel_env("spread", actions="continuous", arena=arena)
    parallel_api_test(env, num_cycles=60)
    space = env.action_space("agent_0")
    assert space.shape == (2,) and space.dtype == np.float32
    env.reset(seed=1)
    with pytest.raises(ValueError):
        env.step({agent: np.array([np.nan, 0.0]) for agent in env.agents})
    with pytest.raises(ValueError):
        env.step({agent: np.array([3.0, 0.0]) for agent in env.agents})
