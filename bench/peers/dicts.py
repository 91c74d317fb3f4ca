"""Steps per second of parallel environments behind dicts, ours and PettingZoo's, for orientation: they are different worlds, and what
they share is the interface. One process, random actions drawn beforehand, no rendering.

    pip install './python[zoo]' mpe2 pygame pymunk
    python bench/peers/dicts.py [seconds]
"""

import importlib
import sys
import time

import numpy as np

from equimarl import zoo

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0


def rate(env):
    """Environment steps per second, resets included: the median of three."""
    names = env.possible_agents
    rng = np.random.default_rng(0)
    count = env.action_space(names[0]).n
    drawn = [dict(zip(names, rng.integers(count, size=len(names)).tolist())) for _ in range(1024)]
    rates = []
    for _ in range(3):
        env.reset(seed=0)
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < SECONDS:
            for actions in drawn[:64]:
                if not env.agents:
                    env.reset()
                env.step({agent: actions[agent] for agent in env.agents})
                steps += 1
        rates.append(steps / (time.perf_counter() - start))
    return sorted(rates)[1]


def others():
    """Whoever is installed."""
    for module, options in [
        ("mpe2.simple_spread_v3", {"N": 3, "max_cycles": 100}),
        ("pettingzoo.butterfly.knights_archers_zombies_v10", {}),
        ("pettingzoo.butterfly.knights_archers_zombies_v11", {}),
    ]:
        try:
            yield module, importlib.import_module(module).parallel_env(**options)
        except Exception as error:  # versions come and go
            print(f"{module:60} not measured: {error}")


for name, env in [
    ("equimarl wildlife, 3 drones", zoo.parallel_env("wildlife", drones=3)),
    ("equimarl wildlife, 4 drones", zoo.parallel_env("wildlife", drones=4)),
    ("equimarl traffic, 2 x 2 junctions", zoo.parallel_env("traffic", rows=2, cols=2)),
    *others(),
]:
    print(f"{name:60} {len(env.possible_agents)} agents  {rate(env):10,.0f} steps/s", flush=True)
