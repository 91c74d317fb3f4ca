"""Steps per second of spread with 3 agents: mpe2 and equimarl in turn, in one run, one core each, random choices, resets included.

    python speed.py path/to/equimarl
"""

import json
import resource
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
    steps, start, busy = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < SECONDS:
        env.step({agent: int(rng.integers(5)) for agent in env.agents})
        steps += 1
        if not env.agents:
            env.reset()
    passed = time.perf_counter() - start
    return steps / passed, (time.process_time() - busy) / passed


def equimarl(program):
    def busy():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    start, before = time.perf_counter(), busy()
    found = subprocess.run(
        [program, "bench", "worlds", "--seconds", str(SECONDS), "--json"], capture_output=True, check=True
    )
    share = (busy() - before) / (time.perf_counter() - start)
    return {line["name"]: line["value"] for line in json.loads(found.stdout)["results"]}, share


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "equimarl"
    ours, theirs, had = [], [], []
    for _ in range(3):
        rate, share = mpe2()
        values, own_share = equimarl(program)
        theirs.append(rate)
        ours.append(values)
        had.append((share, own_share))
    middle = sorted(theirs)[1]
    print(f"mpe2 {version('mpe2')}: {middle:,.0f} steps/s (of {', '.join(f'{x:,.0f}' for x in theirs)})")
    for name in ours[0]:
        if name.startswith(("spread", "tag")):
            value = sorted(run[name] for run in ours)[1]
            ratio = f", {value / middle:,.0f} x mpe2" if name.startswith("spread-3-") else ""
            print(f"{name}: {value:,.0f} steps/s{ratio}")
    if min(min(shares) for shares in had) < 0.95:
        shares = "; ".join(f"{x:.2f} and {y:.2f}" for x, y in had)
        fair = sorted(run["spread-3-features"] / own / (rate / share) for run, rate, (share, own) in zip(ours, theirs, had))
        print(f"Other programs were running: mpe2 and equimarl had {shares} of a core.")
        print(f"By processor time spread with 3 agents makes {fair[1]:,.0f} x mpe2's steps ({fair[0]:,.0f} to {fair[2]:,.0f}).")


if __name__ == "__main__":
    main()
