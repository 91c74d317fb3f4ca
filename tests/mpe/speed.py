"""Steps per second of spread with 3 agents: mpe2 and equimarl in turn, in one run, one core each, random choices, resets included.

    python speed.py path/to/equimarl
"""

import json
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np
from mpe2 import simple_spread_v3

SECONDS = 3.0


def mpe2():
    env = simple_spread_v3.parallel_env(N=3)
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        env.step({agent: int(rng.integers(5)) for agent in env.agents})
        steps += 1
        if not env.agents:
            env.reset()
    return steps / (time.perf_counter() - start)


def equimarl(program):
    found = subprocess.run(
        [program, "bench", "worlds", "--seconds", str(SECONDS), "--json"], capture_output=True, check=True
    )
    return {line["name"]: line["value"] for line in json.loads(found.stdout)["results"]}


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "equimarl"
    ours, theirs = [], []
    for _ in range(3):
        theirs.append(mpe2())
        ours.append(equimarl(program))
    middle = sorted(theirs)[1]
    print(f"mpe2 {version('mpe2')}: {middle:,.0f} steps/s (of {', '.join(f'{x:,.0f}' for x in theirs)})")
    for name in ours[0]:
        if name.startswith(("spread", "tag")):
            value = sorted(run[name] for run in ours)[1]
            ratio = f", {value / middle:,.0f} x mpe2" if name.startswith("spread-3-") else ""
            print(f"{name}: {value:,.0f} steps/s{ratio}")


if __name__ == "__main__":
    main()
