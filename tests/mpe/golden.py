"""Random episodes of mpe2's simple_spread and simple_tag, as scripts for `equimarl replay` with what mpe2 made of them.

    python golden.py --episodes 500 --seed 1 > traces.jsonl

Each line is one script with two keys more: `states`, the state after every step as replay prints it, and `mpe2`, the version.
Half of the episodes start close together, because bodies that start anywhere hardly ever touch.
"""

import argparse
import json
from importlib.metadata import version

import numpy as np
from mpe2 import simple_spread_v3, simple_tag_v3
from pettingzoo.utils.env_logger import EnvLogger

# mpe2 says that doubles are not in its space of single precision, and takes them.
EnvLogger.suppress_output()


def body(agent):
    return [float(x) for x in (*agent.state.p_pos, *agent.state.p_vel)]


def crowd(world, rng, half):
    """Puts everything into a small square, with velocities."""
    for entity in world.entities:
        entity.state.p_pos = rng.uniform(-half, half, 2)
    for agent in world.agents:
        agent.state.p_vel = rng.uniform(-0.5, 0.5, 2)


def episode(name, continuous, number, rng):
    if name == "spread":
        n = [3, 3, 2, 5][number % 4]
        env = simple_spread_v3.parallel_env(N=n, continuous_actions=continuous)
    else:
        good, bad, obstacles = [(1, 3, 2), (1, 3, 2), (2, 4, 1), (1, 1, 0)][number % 4]
        env = simple_tag_v3.parallel_env(
            num_good=good, num_adversaries=bad, num_obstacles=obstacles, continuous_actions=continuous
        )
    env.reset(seed=int(rng.integers(2**31)))
    world = env.unwrapped.world
    if number % 2:
        crowd(world, rng, 0.5)
    team = [a for a in world.agents if name == "spread" or a.adversary]
    others = [a for a in world.agents if a not in team]
    names = ("agents", "landmarks") if name == "spread" else ("chasers", "obstacles")

    def state():
        found = {names[0]: [body(a) for a in team]}
        if name == "tag":
            found["prey"] = [body(a) for a in others]
        return found

    script = {"world": name, "continuous": continuous, **state()}
    script[names[1]] = [[float(x) for x in e.state.p_pos] for e in world.landmarks]
    script["actions"] = []
    if name == "tag":
        script["prey_actions"] = []
    script["states"] = []
    while env.agents:
        if continuous:
            # Doubles, because mpe2 would subtract numbers in single precision otherwise.
            chosen = {a.name: rng.uniform(0, 1, 5) for a in world.agents}
            told = {name: [float(x) for x in action] for name, action in chosen.items()}
        else:
            chosen = {a.name: int(rng.integers(5)) for a in world.agents}
            told = chosen
        _, rewards, _, _, _ = env.step(chosen)
        script["actions"].append([told[a.name] for a in team])
        if name == "tag":
            script["prey_actions"].append([told[a.name] for a in others])
        script["states"].append({**state(), "rewards": [float(rewards[a.name]) for a in world.agents]})
    script["mpe2"] = version("mpe2")
    return script


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=500, help="of each of the four kinds")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for kind, (name, continuous) in enumerate((n, c) for n in ("spread", "tag") for c in (False, True)):
        rng = np.random.default_rng([args.seed, kind])
        for number in range(args.episodes):
            print(json.dumps(episode(name, continuous, number, rng), separators=(",", ":")))


if __name__ == "__main__":
    main()
