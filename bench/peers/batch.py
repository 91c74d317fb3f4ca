#!/usr/bin/env python3
"""Steps per second of `equimarl.Batch` beside `equimarl bench worlds`, the Rust library with as many environments, and NumPy.

Needs `cargo build --release`, `pip install ./python`, and for the last column PyTorch (its pictures are painted by it). Run
it on an idle machine: each is measured several times in turn, and the median is printed.

`bench worlds` steps 16 environments at a time, whose images stay in the cache nearest to the processor. Images of 4,096 do
not: 29 MB for four drones, 241 MB for 2 x 2 junctions. The Rust library with 4,096 environments says what that costs, and so
the ratio to it what Python costs.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

import equimarl

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
CASES = [
    ("wildlife-4", "wildlife", {"drones": 4}),
    ("traffic-2x2", "traffic", {"rows": 2, "cols": 2}),
]


# All environments begin together, and how much there is to paint changes within an episode. So much is played before and
# while anything is measured that every part of an episode is in it; no episode is longer than 500 steps.
EPISODE = 600


def rate(step, count, seconds, steps=EPISODE):
    """Environment steps per second, and the part of the time that we had a processor."""

    def run(seconds):
        start, busy, done = time.perf_counter(), time.process_time(), 0
        while (passed := time.perf_counter() - start) < seconds or done < steps:
            step()
            done += 1
        return done * count / passed, (time.process_time() - busy) / passed

    run(0)
    return run(seconds)


def batch(world, options, observe, count, threads, seconds):
    made = equimarl.Batch(world, num_envs=count, observe=observe, threads=threads, **options)
    made.reset()
    # Drawn before, as NumPy's random numbers would cost as much as the worlds.
    rng = np.random.default_rng(0)
    actions = rng.integers(made.num_actions, size=(64, *made.actions.shape), dtype=np.int32)
    turn = iter(range(10**12))
    return rate(lambda: made.step(actions[next(turn) % 64]), count, seconds)


def numpy_port(world, options, observe, count, seconds):
    """The port of this world to NumPy that our trainer's peer uses; nothing without PyTorch."""
    sys.path.insert(0, str(HERE))
    try:
        import torch
        import worlds
    except ImportError:
        return None, 1.0
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    port = worlds.Wildlife(count, rng, drones=options["drones"]) if world == "wildlife" else worlds.Traffic(count, rng)

    def step():
        actions = rng.integers(0, port.ACTIONS, (count, port.agents))
        _, terminated, truncated = port.step(actions)
        if (ended := terminated | truncated).any():
            port.restart(ended)
        seen = port.observe()[0]
        if observe == "images":
            port.paint(torch.from_numpy(seen.reshape(-1)))

    # It is too slow for whole episodes with images of thousands.
    return rate(step, count, seconds, steps=20)


def told(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each measurement (default 1)")
    parser.add_argument("--times", type=int, default=5, help="how often each is measured (default 5)")
    parser.add_argument("--threads", type=int, default=1, help="of the batch; the others have one (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program, speed = target / "release" / "equimarl", target / "release" / "examples" / "speed"
    if not program.exists():
        sys.exit(f"error: {program} is not there; run `cargo build --release` first")
    build = ["cargo", "build", "--release", "--locked", "--example", "speed", "--manifest-path", ROOT / "python/Cargo.toml"]
    subprocess.run(build, check=True, env=os.environ | {"CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": sys.executable})

    found, had = {}, []
    for _ in range(options.times):
        lines = json.loads(told([program, "bench", "worlds", "--json", "--seconds", str(options.seconds)]))["results"]
        bench = {line["name"]: line["value"] for line in lines}
        for label, world, settings in CASES:
            for observe in ("images", "ids"):
                row = found.setdefault(f"{label}-{observe}", {})
                ours, share = batch(world, settings, observe, options.environments, options.threads, options.seconds)
                had.append(share / options.threads)
                given = [f"{key}={value}" for key, value in settings.items()]
                rust = told([speed, world, observe, str(options.environments), str(options.seconds), *given])
                port, _ = numpy_port(world, settings, observe, options.environments, options.seconds)
                for name, value in [
                    ("batch", ours),
                    ("bench", bench[f"{label}-{observe}"]),
                    ("rust", float(rust)),
                    ("numpy", port),
                ]:
                    row.setdefault(name, []).append(value)

    def median(values):
        return None if None in values else statistics.median(values)

    rows = [{"name": name, **{key: median(values) for key, values in row.items()}} for name, row in found.items()]
    busy = 1 - min(had)
    if options.json:
        print(json.dumps({"results": rows, "unit": "steps/s", "busy": busy, **vars(options)}))
        return
    together = f"{options.environments:,} environments"
    print(f"Millions of steps/s, {together}, {options.threads} thread(s); median of {options.times}")
    print(f"{'':20} {'Batch':>7} {'Rust':>7} {'of it':>6} {'bench worlds':>13} {'of it':>6} {'NumPy':>7} {'times':>6}")
    for row in rows:
        ours, rust, bench, port = row["batch"], row["rust"], row["bench"], row["numpy"]
        line = f"{row['name']:20} {ours / 1e6:7.2f} {rust / 1e6:7.2f} {ours / rust:6.0%} {bench / 1e6:13.2f} {ours / bench:6.0%}"
        print(line + (f" {port / 1e6:7.3f} {ours / port:6.0f}" if port else "       -      -"))
    if busy > 0.05:
        print(f"Other programs had the processor for up to {busy:.0%} of the time; do not trust this.", file=sys.stderr)


if __name__ == "__main__":
    main()
