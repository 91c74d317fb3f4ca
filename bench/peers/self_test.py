"""What `torch_ppo.py --self-test` checks: worlds against equimarl's own, pictures, and the trainer's shortcut; in spread also
against traces of mpe2, and the networks against equimarl's answers."""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import torch_minibatch as single
import torch_spread
from torch_ppo import MEASURED, name_of, trainer_of
from worlds import Spread, Traffic, Wildlife

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/equimarl"


def equimarl(*words):
    if not BINARY.exists():
        sys.exit(f"error: {BINARY} is not there to compare with; run `cargo build --release` first")
    return subprocess.run([BINARY, *words], capture_output=True, text=True, check=True).stdout


def replayed(script):
    """The steps of a scripted episode, by equimarl."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(script, file)
        file.flush()
        return json.loads(equimarl("replay", file.name, "--json"))["steps"]


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


# --------------------------------------------------------------------------------------------------------------------
# Spread.


def largest(found, wanted):
    return float(np.abs(np.asarray(found) - np.asarray(wanted)).max())


def compare_spread(rng, count=40):
    """Whole episodes, half of them in a crowd. Contacts amplify rounding, so the numbers agree to 1e-6."""
    world = Spread(count, rng)
    world.places[::2] *= 0.2
    scripts = [
        {"world": "spread", "continuous": False, **world.state(b), "landmarks": world.landmarks[b].tolist(), "actions": []}
        for b in range(count)
    ]
    played, touched = [[] for _ in scripts], 0
    for _ in range(world.LIMIT):
        actions = rng.integers(0, world.ACTIONS, (count, world.agents))
        mean, terminated, truncated = world.step(actions)
        rewards = world.rewards()
        touched += (world.apart()[1] < 2 * world.RADIUS).any((1, 2)).sum()
        for b, script in enumerate(scripts):
            script["actions"].append(actions[b].tolist())
            end = {"terminated": bool(terminated[b]), "truncated": bool(truncated[b])}
            played[b].append({"reward": mean[b], "rewards": rewards[b], **end, **world.state(b)})
    worst = 0.0
    for script, steps in zip(scripts, played):
        expected = replayed(script)
        assert len(steps) == len(expected), f"{len(steps)} steps, not {len(expected)}: {script}"
        for t, (found, wanted) in enumerate(zip(steps, expected)):
            worst = max([worst, *(largest(found[key], wanted[key]) for key in ("agents", "reward", "rewards"))])
            same = all(found[key] == wanted[key] for key in ("terminated", "truncated"))
            assert same and worst < 1e-6, f"step {t}: {found}, not {wanted}: {script}"
    assert touched > 30, f"agents touched in {touched} steps only"
    return f"{count} episodes, {count * world.LIMIT} steps as equimarl's, to {worst:.0e}; agents touch in {touched}"


def compare_mpe2():
    """Single steps from mpe2's own states, in the traces that its pinned version made."""
    worst, steps = 0.0, 0
    with open(ROOT / "tests/mpe/golden.jsonl") as file:
        traces = [trace for trace in map(json.loads, file) if trace["world"] == "spread" and not trace["continuous"]]
    for trace in traces:
        agents = len(trace["agents"])
        world = Spread(1, np.random.default_rng(0), agents)
        world.landmarks[0] = trace["landmarks"]
        before = trace["agents"]
        for actions, after in zip(trace["actions"], trace["states"]):
            world.places[0], world.velocities[0] = np.split(np.array(before), 2, -1)
            world.step(np.array([actions]))
            errors = largest(world.state(0)["agents"], after["agents"]), largest(world.rewards()[0], after["rewards"])
            worst, steps, before = max(worst, *errors), steps + 1, after["agents"]
    assert worst < 1e-12, f"a step differs from mpe2's by {worst:.1e}"
    return f"{len(traces)} episodes, {steps} steps as mpe2's, to {worst:.0e}"


def check_spread_symmetry(method, rng):
    """How far policy and value are off what D4 asks for."""
    network, world = torch_spread.build(method), Spread(100, rng)
    world.velocities[:] = rng.uniform(-1, 1, world.velocities.shape)
    inputs = [torch.from_numpy(x) for x in world.observe()]
    with torch.no_grad():
        for parameter in network.parameters():  # biases and policy large enough to matter
            parameter += 0.03 * torch.randn_like(parameter)
        logits, value = network(*inputs)
    off = 0.0
    for g, matrix in enumerate(torch_spread.MATRICES):
        turn = torch.from_numpy(matrix).float().T
        turned = [(x.unflatten(-1, (-1, 2)) @ turn).flatten(-2) for x in inputs]
        with torch.no_grad():
            found, found_value = network(*turned)
        expected = logits[..., torch_spread.UNMOVED[:, g]]
        off = max(off, (found.softmax(-1) - expected.softmax(-1)).abs().max().item())
        off = max(off, (found_value - value).abs().max().item())
    if method == "equivariant":
        assert off < 1e-5, f"spread-{method} is not equivariant: {off:.1e}"
    else:
        assert off > 1e-3, f"spread-{method} looks equivariant, so the test sees nothing"
    return f"under D4 off by {off:.0e}"


def tensors(path):
    """What is in a file of safetensors, in single precision."""
    data = Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    found = {}
    for name, about in header.items():
        assert about["dtype"] == "F32", f"{name} is {about['dtype']}"
        first, end = about["data_offsets"]
        numbers = np.frombuffer(data[start + first : start + end], np.float32)
        found[name] = torch.tensor(numbers).view(about["shape"])
    return found


def edge_by_edge(w, features, neighbours, edges, landmarks):
    """The network of spread as equimarl's documentation has it, for one state and any graph: rows of logits, and the value."""

    def layer(name, *parts):
        return w[f"{name}.weight"] @ torch.cat(parts) + w[f"{name}.bias"]

    def mean(messages, like):
        return torch.stack(messages).mean(0) if messages else torch.zeros_like(like)

    f = [layer("features2", layer("features1", x).relu()).relu() for x in features]
    for i in range(1, torch_spread.ROUNDS + 1):
        following = []
        for own, speakers, to_agents, to_landmarks in zip(f, neighbours, edges, landmarks):
            heard = [layer(f"round{i}.message", own, edge, f[j]).relu() for j, edge in zip(speakers, to_agents)]
            near = [layer(f"round{i}.landmark.message", own, edge).relu() for edge in to_landmarks]
            following.append(layer(f"round{i}.update", own, mean(heard, own), mean(near, own)).relu())
        f = following
    return torch.stack([layer("policy", x) for x in f]), torch.cat([layer("value", x) for x in f]).mean()


def as_one(w):
    """Weights by equimarl's names, as `torch_spread.decide` takes them."""
    width = len(w["features1.bias"])
    weights = [(w[f"features{i}.weight"], w[f"features{i}.bias"]) for i in (1, 2)]
    for i in range(1, torch_spread.ROUNDS + 1):
        own, edge, said = w[f"round{i}.message.weight"].split([width, 2, width], 1)
        beside, landmark_edge = w[f"round{i}.landmark.message.weight"].split([width, 2], 1)
        kept, out = w[f"round{i}.update.weight"].split([width, 2 * width], 1)
        biases = torch.stack([w[f"round{i}.{part}.bias"] for part in ("message", "landmark.message", "update")])
        weights.append((torch.cat([own, said, beside, kept]), torch.stack([edge, landmark_edge]), out, biases))
    weights.append(tuple(torch.cat([w[f"policy.{part}"], w[f"value.{part}"]]) for part in ("weight", "bias")))
    return weights


def compare_spread_network(method, rng):
    """equimarl has as many parameters. With its weights, the equations give its answer to its sample (whose graph is another
    than spread's), and `decide` gives what the equations give where everybody hears everybody."""
    with tempfile.TemporaryDirectory() as home:
        run, dense, sample = (f"{home}/{name}" for name in ("run", "dense.safetensors", "sample.json"))
        once = [word for what in ("evaluate_every=0", "evaluate_episodes=1") for word in ("--set", what)]
        words = ["--world", "spread", "--method", method, "--preset", "paper", "--steps", "800", "--out", run, "--quiet"]
        equimarl("train", *words, *once)
        equimarl("export", "--model", run, "--dense", dense, "--sample", sample)
        w, sample = tensors(dense), json.loads(Path(sample).read_text())
        count = json.loads(Path(f"{run}/summary.json").read_text())["parameters"]
    assert count == torch_spread.PARAMETERS[f"spread-{method}"], f"equimarl's spread-{method} has {count} parameters"

    def off(found, wanted):
        return max(largest(x, y) / max(1, np.abs(y).max()) for x, y in zip(found, wanted))

    edges = [torch.tensor(x).view(-1, 2) for x in sample["edges"]]
    landmarks = [torch.tensor(each["edges"]) for each in sample["senders"]["landmark"]]
    found = edge_by_edge(w, torch.tensor(sample["features"]), sample["neighbours"], edges, landmarks)
    theirs = off(found, [np.array(sample["logits"]), np.array(sample["value"][0])])
    world = Spread(20, rng)
    inputs = [torch.from_numpy(x) for x in world.observe()]
    found = torch_spread.decide(as_one(w), *inputs)
    wanted = [edge_by_edge(w, x, world.others.tolist(), *more) for x, *more in zip(*inputs)]
    ours = off(found, [torch.stack(x).numpy() for x in zip(*wanted)])
    assert max(theirs, ours) < 1e-5, f"spread-{method}: off by {theirs:.1e} from equimarl, {ours:.1e} from the equations"
    return f"{count:,} parameters; with equimarl's weights its answers to {theirs:.0e}, at once to {ours:.0e}"


def run_spread(rng):
    print(f"spread: {compare_spread(rng)}")
    print(f"spread: {compare_mpe2()}")
    torch.manual_seed(0)
    for method in ("equivariant", "plain"):
        print(f"spread-3-{method}: {compare_spread_network(method, rng)}; {check_spread_symmetry(method, rng)}")


def run():
    rng = np.random.default_rng(0)
    for drones in (2, 3, 4):
        print(f"wildlife-{drones}: {compare_wildlife(drones, rng)}")
    check_last_step()
    print(f"traffic: {compare_traffic(rng)}")
    run_spread(rng)
    for world, drones, method in MEASURED:
        if world == "spread":
            continue
        name = name_of(world, drones, method)
        trainer = trainer_of(world, drones, method, seed=0, learning_rate=1e-4, warm_up=80)
        for _ in range(3):
            check_pictures(name, trainer)
            trainer.iterate()
        print(f"{name}: pictures, graph and network agree with torch_minibatch.py")
    print("self-test passed")
