"""Batches: the buffers, the episodes in them, and what is refused."""

import gc
import json
import multiprocessing
import pathlib
import threading
from typing import Any

import numpy as np
import pytest

import equimarl

WORLDS: list[dict[str, Any]] = [
    {"world": "wildlife", "drones": 4},
    {"world": "wildlife", "drones": 2, "grid": 5},
    {"world": "traffic"},
    {"world": "traffic", "rows": 1, "cols": 3, "step_limit": 40},
]


FEATURES: list[dict[str, Any]] = [
    {"world": "spread"},
    {"world": "spread", "agents": 5, "landmarks": 2, "radius": 0.7},
    {"world": "tag"},
]


def played(batch: equimarl.Batch, steps: int, seed: int = 1) -> list[tuple[Any, ...]]:
    """Everything that random actions lead to, copied."""
    rng = np.random.default_rng(seed)
    found: list[tuple[Any, ...]] = [(batch.reset().copy(),)]
    for _ in range(steps):
        results = batch.step(rng.integers(batch.num_actions, size=batch.actions.shape))
        found.append((*(array.copy() for array in results[:4]), results[4]))
    return found


def same(a: list[tuple[Any, ...]], b: list[tuple[Any, ...]]) -> bool:
    def equal(x: Any, y: Any) -> bool:
        if isinstance(x, dict):
            return x.keys() == y.keys() and all(np.array_equal(x[k], y[k]) for k in x)
        return np.array_equal(x, y)

    return len(a) == len(b) and all(equal(x, y) for s, t in zip(a, b, strict=True) for x, y in zip(s, t, strict=True))


def test_the_same_episodes_as_in_rust() -> None:
    # Written by examples/episodes.rs, which knows nothing of Python.
    for case in json.loads((pathlib.Path(__file__).parent / "episodes.json").read_text()):
        options = dict(case["world"])
        name = options.pop("name")
        shape = np.array(case["steps"][0]["ids"]).shape
        batch = equimarl.Batch(name, num_envs=shape[0], seed=case["seed"], observe="ids", **options)
        batch.reset()
        e, agent = np.indices(shape)
        for t, step in enumerate(case["steps"]):
            batch.step((t * t // 3 + 7 * t + 3 * e + 5 * agent) % batch.num_actions)
            assert np.array_equal(batch.observations, np.array(step["ids"], np.uint64)), (name, t)
            assert np.array_equal(batch.rewards, np.array(step["rewards"], np.float32)), (name, t)
            assert batch.terminals.tolist() == step["terminals"], (name, t)
            assert batch.truncations.tolist() == step["truncations"], (name, t)
        assert any(any(step["truncations"]) for step in case["steps"]), name


@pytest.mark.parametrize("world", WORLDS + FEATURES)
def test_seeds_decide_everything(world: dict[str, Any]) -> None:
    def made(**more: Any) -> equimarl.Batch:
        return equimarl.Batch(**{"num_envs": 5, **world, **more})

    once = played(made(seed=3), 130)
    assert same(once, played(made(seed=3), 130))
    assert not same(once, played(made(seed=4), 130))
    # An environment does not depend on how many others there are.
    few, many = made(num_envs=2, seed=3), made(num_envs=6, seed=3)
    assert np.array_equal(few.reset(), many.reset()[:2])
    # Nor does anything depend on the number of threads.
    sight = "features" if world in FEATURES else "ids"
    assert same(*(played(made(num_envs=600, seed=3, threads=threads, observe=sight), 110) for threads in (1, 3)))
    # Seeds of reset are those of the constructor, and without one the next episodes come.
    batch = made(seed=0)
    first = batch.reset().copy()
    assert not np.array_equal(batch.reset(), first) or world["world"] == "traffic"
    assert np.array_equal(batch.reset(seed=0), first)


@pytest.mark.parametrize("world", WORLDS)
def test_images_are_kept_up_to_date(world: dict[str, Any]) -> None:
    """What is repainted step by step is what is painted at once, and ids are equal where images are."""
    batch = equimarl.Batch(**world, num_envs=6, seed=2)
    ids = equimarl.Batch(**world, num_envs=6, seed=2, observe="ids")
    batch.reset(), ids.reset()
    seen: dict[int, Any] = {}
    rng, fresh = np.random.default_rng(0), np.empty_like(batch.observations)
    for _ in range(150):
        actions = rng.integers(batch.num_actions, size=batch.actions.shape)
        batch.step(actions), ids.step(actions)
        batch._envs.observe(fresh)
        assert np.array_equal(batch.observations, fresh)
        for number, image in zip(ids.observations.flat, fresh.reshape(-1, *fresh.shape[2:]), strict=True):
            assert np.array_equal(seen.setdefault(int(number), image.copy()), image)
    assert len({image.tobytes() for image in seen.values()}) == len(seen)
    assert (batch.observations.min(), batch.observations.max()) == (0, 1)


@pytest.mark.parametrize("world", WORLDS)
def test_the_last_observation_is_kept(world: dict[str, Any]) -> None:
    """By images and by ids, and infos are sums of what was seen. The zoo's tests compare the images themselves."""
    batch, ids = (equimarl.Batch(**world, num_envs=8, seed=5, observe=sight) for sight in ("images", "ids"))
    batch.reset(), ids.reset()
    seen: dict[int, Any] = {}
    rng, totals, lengths, count = np.random.default_rng(0), np.zeros(8), np.zeros(8, int), 0
    for _ in range(400):
        actions = rng.integers(batch.num_actions, size=batch.actions.shape)
        infos = batch.step(actions)[4]
        ids.step(actions)
        totals += batch.rewards
        lengths += 1
        assert infos.get("environment", np.array([])).tolist() == np.flatnonzero(batch.ended).tolist()
        assert not (batch.terminals & batch.truncations).any()
        for which, images in [
            (ids.observations, batch.observations),
            (ids.final_observations[batch.ended], batch.final_observations[batch.ended]),
        ]:
            for number, image in zip(which.flat, images.reshape(-1, *images.shape[2:]), strict=True):
                assert np.array_equal(seen.setdefault(int(number), image.copy()), image)
        if infos:
            assert np.allclose(infos["episode_return"], totals[batch.ended], atol=1e-4)
            assert np.array_equal(infos["episode_length"], lengths[batch.ended])
            totals[batch.ended], lengths[batch.ended] = 0, 0
            count += len(infos["environment"])
    assert count >= 8


@pytest.mark.parametrize("world", FEATURES)
def test_surroundings_are_features_and_edges(world: dict[str, Any]) -> None:
    """By what is known of particles: the features end with the place, an edge is the way from the other one."""
    batch = equimarl.Batch(**world, num_envs=40, seed=3)
    alone = equimarl.Batch(**world, num_envs=40, seed=3, observe="features")
    batch.reset(), alone.reset()
    assert batch.observe == "surroundings"
    agents, own = alone.observations.shape[1:]
    radius = world.get("radius", np.inf)
    rng, silent = np.random.default_rng(0), 0
    for _ in range(60):
        actions = rng.integers(batch.num_actions, size=batch.actions.shape)
        ends = batch.step(actions)[4]
        alone.step(actions)
        seen = batch.observations
        assert np.array_equal(seen[..., :own], alone.observations)
        if ends:
            over = batch.ended
            assert np.array_equal(batch.final_observations[over][..., :own], alone.final_observations[over])
        places = alone.observations[..., 2:4]
        for agent in range(agents):
            for k, other in enumerate(j for j in range(agents) if j != agent):
                heard, edge = seen[:, agent, own + 3 * k], seen[:, agent, own + 3 * k + 1 : own + 3 * k + 3]
                way = places[:, agent] - places[:, other]
                near = np.linalg.norm(way, axis=-1) <= radius
                assert np.array_equal(heard == 1, near) and np.array_equal(heard == 0, ~near)
                assert np.allclose(edge, np.where(near[:, None], way, 0), atol=1e-6)
                silent += int((~near).sum())
        assert (seen[..., own + 3 * (agents - 1) :] != 0).any(), "senders are heard"
    assert (silent > 0) == ("radius" in world)


def test_arrays_are_made_once_and_outlive_the_batch() -> None:
    batch = equimarl.Batch("wildlife", num_envs=64)
    arrays = [batch.observations, batch.rewards, batch.terminals, batch.truncations]
    assert batch.reset() is arrays[0]
    for _ in range(5):
        results = batch.step(np.ones((64, 3), np.int32))
        assert all(a is b for a, b in zip(results[:4], arrays, strict=True))
    assert (batch.actions == 1).all()
    kept, copy = batch.observations, batch.observations.copy()
    del batch, arrays, results
    gc.collect()
    assert np.array_equal(kept, copy)


def test_arrays_of_ones_own() -> None:
    shape = (8, 3, 1, 21, 21)
    mine = np.full(shape, 7, np.float32)
    batch = equimarl.Batch("wildlife", num_envs=8, buffers={"observations": mine})
    assert batch.reset() is mine and mine.max() == 1
    with pytest.raises(ValueError, match="resize"):
        mine.resize((0,), refcheck=False)
    mine.flags.writeable = False
    with pytest.raises(ValueError, match="`observations` is read-only"):
        batch.step()
    mine.flags.writeable = True
    batch.step()


REWARDS = np.zeros(8, np.float32)


@pytest.mark.parametrize(
    ("buffers", "error", "text"),
    [
        ({"rewards": np.zeros(8)}, TypeError, "`rewards` must be an array of float32, not float64; use .astype"),
        ({"rewards": [0.0] * 8}, TypeError, "`rewards` must be a NumPy array of float32, not list"),
        ({"rewards": np.zeros(9, np.float32)}, ValueError, r"`rewards` must have the shape \(8,\), not \(9,\)"),
        ({"rewards": np.zeros(16, np.float32)[::2]}, ValueError, "`rewards` is not contiguous"),
        ({"rewards": np.zeros(33, np.uint8)[1:].view(np.float32)}, ValueError, "aligned"),
        ({"rewards": np.zeros(8, ">f4")}, TypeError, "`rewards` must be an array of float32"),
        ({"rewards": np.frombuffer(bytes(32), np.float32)}, ValueError, "`rewards` is read-only"),
        ({"actions": np.zeros((8, 3), np.int64)}, TypeError, "`actions` must be an array of int32, not int64"),
        ({"actions": np.zeros((8, 2), np.int32)}, ValueError, r"shape \(8, 3\), not \(8, 2\)"),
        ({"terminals": REWARDS}, TypeError, "`terminals` must be an array of bool"),
        ({"observations": np.zeros((8, 3), np.float32)}, ValueError, r"shape \(8, 3, 1, 21, 21\)"),
        ({"dones": REWARDS}, ValueError, "there is no buffer `dones`; there are observations,"),
    ],
)
def test_buffers_that_cannot_be_used(buffers: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        equimarl.Batch("wildlife", num_envs=8, buffers=buffers)


def test_buffers_that_overlap() -> None:
    both = np.zeros(12, np.bool_)
    with pytest.raises(ValueError, match="`truncations` shares memory"):
        equimarl.Batch("wildlife", num_envs=8, buffers={"terminals": both[:8], "truncations": both[4:]})


@pytest.mark.parametrize(
    ("actions", "error", "text"),
    [
        (np.full((8, 3), 5), ValueError, r"actions\[0, 0\] is 5; actions are 0 to 4"),
        (np.arange(24).reshape(8, 3) - 1, ValueError, r"actions\[0, 0\] is -1"),
        (np.arange(24).reshape(8, 3) % 23 // 22 * 2**32, ValueError, r"actions\[7, 1\] is 4294967296"),
        (np.zeros((8, 3)), TypeError, "`actions` must be an array of int32, not float64"),
        (np.zeros((3, 8), int), ValueError, r"shape \(8, 3\), not \(3, 8\)"),
        (0, ValueError, r"shape \(8, 3\), not \(\)"),
    ],
)
def test_actions_that_do_not_exist(actions: Any, error: type[Exception], text: str) -> None:
    batch, twin = (equimarl.Batch("wildlife", num_envs=8, seed=1) for _ in range(2))
    before = batch.reset().copy()
    twin.reset()
    with pytest.raises(error, match=text):
        batch.step(actions)
    # Nothing happened: the batch goes on like one that was never asked.
    assert np.array_equal(batch.observations, before)
    assert same(played(batch, 20), played(twin, 20))


def test_actions_in_other_layouts() -> None:
    batch, twin = (equimarl.Batch("wildlife", num_envs=8, seed=1) for _ in range(2))
    batch.reset(), twin.reset()
    actions = np.random.default_rng(0).integers(5, size=(3, 8)).T
    batch.step(actions.astype(np.int32, order="F"))
    twin.step(actions.tolist())
    assert np.array_equal(batch.observations, twin.observations)
    assert np.array_equal(batch.actions, actions)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"world": "chess"}, ValueError, "no world is called `chess`; there are wildlife, traffic"),
        ({"world": "wildlife", "planes": 3}, ValueError, "wildlife has no option `planes`; it has drones, grid"),
        ({"world": "wildlife", "drone": 2}, ValueError, r"wildlife has no option `drone`; did you mean `drones`\?"),
        ({"world": "wildlife", "buffers": 3}, TypeError, "`buffers` must be a dict of arrays by name, not int"),
        ({"world": "wildlife", "drones": -1}, ValueError, "must be a whole number from 0 on, not -1"),
        ({"world": "wildlife", "drones": "four"}, ValueError, "must be a whole number from 0 on, not four"),
        ({"world": "wildlife", "drones": [4]}, TypeError, "the option `drones` must be a number"),
        ({"world": "wildlife", "drones": 1}, ValueError, "drones"),
        ({"world": "wildlife", "grid": 6}, ValueError, "odd"),
        ({"world": "wildlife", "num_envs": 0}, ValueError, "`num_envs` is 0; it must be from 1 to"),
        ({"world": "wildlife", "num_envs": 10**9}, ValueError, "`num_envs` is 1000000000"),
        ({"world": "wildlife", "threads": 0}, ValueError, "`threads` is 0; it must be from 1 to 256"),
        ({"world": "wildlife", "seed": -1}, ValueError, "a seed is a whole number from 0"),
        ({"world": "wildlife", "seed": 2**64}, ValueError, "a seed is a whole number from 0"),
        ({"world": "wildlife", "observe": "features"}, ValueError, 'use "images" or "ids"'),
    ],
)
def test_batches_that_cannot_be(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        equimarl.Batch(**arguments)


def test_numbers_of_numpy_are_numbers() -> None:
    options: dict[str, Any] = {"rows": np.int64(1), "cols": 3.0, "arrival_probability": np.float32(0.5)}
    batch = equimarl.Batch("traffic", **options)
    usual = {option.name: option.usual for world in equimarl.worlds() if world.name == "traffic" for option in world.options}
    assert batch.options == {**usual, "rows": 1, "cols": 3, "arrival_probability": 0.5}
    assert [type(batch.options[name]) for name in options] == [int, int, float]


def test_there_is_no_step_before_a_reset() -> None:
    batch = equimarl.Batch("wildlife")
    for call in (batch.step, batch.render):
        with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
            call()


def test_pictures() -> None:
    batch = equimarl.Batch("traffic", num_envs=2)
    batch.reset()
    picture = batch.render(1)
    assert picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3
    for wrong in (2, -1, 2**70):
        with pytest.raises(IndexError, match=f"there is no environment {wrong}; they are 0 to 1"):
            batch.render(wrong)
    with pytest.raises(TypeError, match="known by its number, not by 'first'"):
        batch.render("first")  # type: ignore[arg-type]


def run(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_run_while_a_batch_steps() -> None:
    """Two batches in two threads play what they play alone; one batch in two threads is refused, not broken."""
    alone = [played(equimarl.Batch("wildlife", num_envs=64, seed=s), 50) for s in range(2)]
    found: list[Any] = [None, None]

    def play(seed: int) -> None:
        found[seed] = played(equimarl.Batch("wildlife", num_envs=64, seed=seed), 50)

    threads = [threading.Thread(target=play, args=(s,)) for s in range(2)]
    run(threads)
    assert all(same(a, b) for a, b in zip(alone, found, strict=True))

    batch = equimarl.Batch("traffic", num_envs=20_000, observe="ids")
    batch.reset()
    refused: list[str] = []

    def insist() -> None:
        for _ in range(20):
            try:
                batch.step()
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=insist) for _ in range(2)]
    run(threads)
    assert refused and set(refused) == {
        "another thread is inside a call of these environments; use one Batch per thread"
    }
    batch.step()


def _forked(batch: equimarl.Batch, answers: Any) -> None:
    try:
        batch.step()
        answers.put("it stepped")
    except RuntimeError as error:
        answers.put(str(error))


def test_forks() -> None:
    """A batch that rests goes on in both processes; one that was in a step is refused in the child."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    batch = equimarl.Batch("traffic", num_envs=20_000, observe="ids")
    batch.reset()
    child = context.Process(target=_forked, args=(batch, answers))
    child.start()
    assert answers.get(timeout=60) == "it stepped"
    child.join()

    stop = threading.Event()

    def keep_stepping() -> None:
        while not stop.is_set():
            batch.step()

    thread = threading.Thread(target=keep_stepping)
    thread.start()
    try:
        for _ in range(50):
            child = context.Process(target=_forked, args=(batch, answers))
            child.start()
            said = answers.get(timeout=60)
            child.join()
            if "forked while another thread" in said:
                break
    finally:
        stop.set()
        thread.join()
    assert "make a new Batch after the fork" in said


def test_more_than_fits_is_refused_before_it_is_made() -> None:
    large: list[dict[str, Any]] = [
        {"world": "traffic", "num_envs": 1 << 20, "rows": 100, "cols": 100},
        {"world": "spread", "agents": 100_000, "radius": 0.01},
    ]
    for options in large:
        with pytest.raises(ValueError, match="would take about"):
            equimarl.Batch(**options)
    negative: list[dict[str, Any]] = [{"num_envs": -1}, {"threads": -1}]
    for options in negative:
        with pytest.raises(ValueError, match="must be at least 1"):
            equimarl.Batch("wildlife", **options)
    for seed in (1.5, "a", None):
        with pytest.raises(TypeError, match="whole number"):
            equimarl.Batch("wildlife", seed=seed)  # type: ignore[arg-type]


def test_vectors_are_acted_by() -> None:
    """Where agents act by vectors, actions are float32 with one more axis, and the bound is kept."""
    batch = equimarl.Batch("spread", actions="continuous", arena="disc", num_envs=300, threads=2, seed=3)
    assert batch.actions.shape == (300, 3, 2) and batch.actions.dtype == np.float32
    assert batch.action_bound == (1.0, True) and batch.num_actions == 2
    assert equimarl.Batch("spread").action_bound is None
    batch.reset()
    rng = np.random.default_rng(1)
    for _ in range(30):
        batch.actions[:] = rng.uniform(-0.7, 0.7, batch.actions.shape)
        _, rewards, _, _, _ = batch.step()
        assert np.isfinite(rewards).all()
    before = batch.observations.copy()
    for wrong in (np.full((300, 3, 2), 0.8), np.full((300, 3, 2), np.nan), np.full((300, 3, 2), np.inf)):
        with pytest.raises(ValueError, match="agent 0 acts by"):
            batch.step(wrong)
    with pytest.raises(ValueError, match="shape"):
        batch.step(np.zeros((300, 3)))
    assert (batch.observations == before).all()
    # In a box each number has the bound.
    box = equimarl.Batch("spread", actions="continuous")
    box.reset()
    box.step(np.full((1, 3, 2), 0.8))
    assert box.action_bound == (1.0, False)


def test_the_wind_of_every_episode_can_be_read() -> None:
    # At strength 1 the poacher always goes where the wind blows, and drones that stay see it go there.
    batch = equimarl.Batch("wildlife", drones=2, grid=5, num_envs=64, wind=1.0, wind_from="any", seed=3)
    batch.reset()
    compass = {(0, 1), (0, -1), (1, 0), (-1, 0)}
    seen, changed = set(), False
    for _ in range(150):
        before, causes = batch.observations.copy(), batch.causes
        batch.step(np.zeros((64, 2), np.int32))
        seen |= {(int(down), int(right)) for down, right in causes}
        for e in np.flatnonzero(batch.ended):
            changed |= not np.array_equal(batch.causes[e], causes[e])
        for e in np.flatnonzero(~batch.ended):
            assert np.array_equal(batch.causes[e], causes[e])
            was, now = (poacher(picture[e, 0, 0]) for picture in (before, batch.observations))
            assert tuple((was + causes[e]) % 5) == tuple(now), (e, was, now, causes[e])
    assert seen == compass and changed


def poacher(picture: Any) -> Any:
    """Row and column of the cell with four corners."""
    size = len(picture) // 3
    found = [
        (row, col) for row in range(size) for col in range(size) if picture[3 * row : 3 * row + 3 : 2, 3 * col : 3 * col + 3 : 2].all()
    ]
    assert len(found) == 1
    return np.array(found[0])


def test_worlds_without_a_cause_have_no_numbers_for_it() -> None:
    batch = equimarl.Batch("spread", num_envs=3)
    with pytest.raises(RuntimeError, match="call reset"):
        _ = batch.causes
    batch.reset()
    assert batch.causes.shape == (3, 0)
