"""What `torch_ppo.py --self-test` checks: worlds against equimarl's own, pictures, and the trainer's shortcut."""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import torch_minibatch as single
from torch_ppo import MEASURED, Trainer, name_of
from worlds import Traffic, Wildlife

BINARY = Path(__file__).resolve().parents[2] / "target/release/equimarl"


def replayed(script):
    """The steps of a scripted episode, by equimarl."""
    if not BINARY.exists():
        sys.exit(f"error: {BINARY} is not there to compare with; run `cargo build --release` first")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(script, file)
        file.flush()
        run = subprocess.run([BINARY, "replay", file.name, "--json"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["steps"]


def compare(world, scripts, choose):
    """Plays all episodes to their end, step by step as equimarl does. `choose` gives the actions and further arguments
    of a step, by the names they have in a script."""
    played = [[] for _ in scripts]
    over = np.zeros(world.count, bool)
    while not over.all():
        actions, chance = choose()
        rewards, terminated, truncated = world.step(actions, *chance.values())
        for b in np.flatnonzero(~over):
            scripts[b]["actions"].append(actions[b].tolist())
            for name, drawn in chance.items():
                scripts[b][name].append(int(drawn[b]))
            end = {"terminated": bool(terminated[b]), "truncated": bool(truncated[b])}
            played[b].append({"reward": rewards[b], **end, **world.state(b)})
        over |= terminated | truncated
    ends = {"terminated": 0, "truncated": 0}
    for script, steps in zip(scripts, played):
        expected = replayed(script)
        assert len(steps) == len(expected), f"{len(steps)} steps, not {len(expected)}: {script}"
        for t, (found, wanted) in enumerate(zip(steps, expected)):
            close = math.isclose(found.pop("reward"), wanted.pop("reward"), abs_tol=1e-12)
            assert close and found == wanted, f"step {t}: {found}, not {wanted}: {script}"
        for end in ends:
            ends[end] += steps[-1][end]
    assert all(ends.values()), f"some end was never seen: {ends}"
    return f"{len(scripts)} episodes, {sum(map(len, played))} steps as equimarl's; {ends}"


def compare_wildlife(drones, rng, count=40):
    world = Wildlife(count, rng, drones)
    common = {"world": "wildlife", "grid": world.SIDE}
    scripts = [{**common, **world.state(b), "actions": [], "poacher_moves": []} for b in range(count)]

    def choose():
        """At random; every second team hunts, so that drones often want the same cell."""
        actions, moves = rng.integers(0, 5, (count, drones)), rng.integers(0, 5, count)
        row, column = np.moveaxis(np.sign((world.poacher[:, None] - world.drones + 3) % 7 - 3), -1, 0)
        hunt = np.where(row != 0, 2 - row, np.where(column != 0, 3 - column, 0))
        hunts = (rng.random((count, drones)) < 0.7) & (np.arange(count) % 2 == 0)[:, None]
        return np.where(hunts, hunt, actions), {"poacher_moves": moves}

    return compare(world, scripts, choose)


def check_last_step():
    """A capture ends the episode, also on the step on which it would be cut off."""
    world = Wildlife(2, np.random.default_rng(0), drones=2)
    world.drones[:], world.poacher[:], world.time[:] = [[3, 2], [3, 4]], [3, 3], world.LIMIT - 1
    rewards, terminated, truncated = world.step(np.array([[2, 0], [0, 0]]))
    assert rewards.tolist() == [1.95, -0.05] and terminated.tolist() == [True, False], "capture on the last step"
    assert truncated.tolist() == [False, True], "capture on the last step"


def compare_traffic(rng, count=40):
    """From empty to crowded roads, with lights that change often or seldom."""
    world = Traffic(count, rng)
    density = rng.choice([0, 0.01, 0.1, 0.1, 0.3, 0.9], (count, 1, 1))
    arrivals = rng.random((count, world.ARRIVAL_STEPS, world.LANES)) < density
    world.restart(np.ones(count, bool), arrivals)
    scripts = []
    for one in arrivals:
        schedule = [[int(t), *world.cells[lane, 0].tolist()] for t, lane in np.argwhere(one)]
        scripts.append({"world": "traffic", "rows": 2, "cols": 2, "schedule": schedule, "actions": []})
    change = rng.choice([0.01, 0.1, 0.5], (count, 1))

    def choose():
        return world.phases ^ (rng.random(world.phases.shape) < change), {}

    return compare(world, scripts, choose)


def check_pictures(name, trainer):
    """What the trainer sees after some steps is what `torch_minibatch.py` sees in the same states."""
    world = trainer.world
    if isinstance(world, Wildlife):
        painter = type("Painter", (single.Wildlife,), {"DRONES": world.agents})
        state = torch.from_numpy(np.concatenate([world.drones, world.poacher[:, None]], 1))
    else:
        painter = single.Traffic
        vehicles = torch.zeros(world.count, 4, world.LENGTH, world.LENGTH)
        for lane, cells in enumerate(world.cells):
            vehicles[:, lane // 2, cells[:, 0], cells[:, 1]] = torch.from_numpy(world.inside[:, lane]).float()
        state = vehicles, torch.from_numpy(world.phases).unflatten(1, (2, 2))
    expected = painter.observe(state)
    numbers, *graph = trainer.look()
    pictures = world.paint(numbers.flatten()).unflatten(0, numbers.shape)
    for found, wanted in zip((pictures, *graph), expected):
        assert torch.allclose(found, wanted, rtol=0, atol=1e-7), f"{name}: agents see something else"
    with torch.no_grad():
        for found, wanted in zip(trainer.forward(numbers, *graph), trainer.network(*expected)):
            assert torch.allclose(found, wanted, rtol=0, atol=1e-5), f"{name}: encoding pictures once changes something"


def run():
    rng = np.random.default_rng(0)
    for drones in (2, 3, 4):
        print(f"wildlife-{drones}: {compare_wildlife(drones, rng)}")
    check_last_step()
    print(f"traffic: {compare_traffic(rng)}")
    for world, drones, method in MEASURED:
        name = name_of(world, drones, method)
        trainer = Trainer(world, drones, method, seed=0, learning_rate=1e-4, warm_up=80)
        for _ in range(3):
            check_pictures(name, trainer)
            trainer.iterate()
        print(f"{name}: pictures, graph and network agree with torch_minibatch.py")
    print("self-test passed")
