"""Training from Python beside training by the program, in turns on one machine; and training on an environment in Python.

    cargo build --release && pip install './python[zoo]'
    python bench/peers/training.py [path of the program] [steps]

Steps per second as run folders say them: everything between begin and end, without evaluations but one of a single episode.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import equimarl

HERE = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "target/release/equimarl")
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 40_000
sys.path.insert(0, str(HERE / "examples/python"))
sys.path.insert(0, str(HERE / "python/tests"))
ONCE = {"evaluate_every": 0, "evaluate_episodes": 1}


def program(folder, world, method, *more):
    words = [PROGRAM, "train", "--world", world, "--method", method, "--steps", str(STEPS), "--out", folder, "--quiet", *more]
    words += [word for key, value in ONCE.items() for word in ("--set", f"{key}={value}")]
    subprocess.run(words, check=True)
    return json.loads((Path(folder) / "summary.json").read_text())["steps_per_second"]


def package(folder, world, method, **more):
    return equimarl.train(world, method, steps=STEPS, out=folder, **ONCE, **more).summary["steps_per_second"]


with tempfile.TemporaryDirectory() as home:
    count = 0

    def folder():
        global count
        count += 1
        return f"{home}/{count}"

    for world, method in (("wildlife", "equivariant"), ("wildlife", "plain")):
        rates = {"the program": [], "the program, 1 thread": [], "Python": []}
        for _ in range(3):
            rates["the program"].append(program(folder(), world, method))
            rates["the program, 1 thread"].append(program(folder(), world, method, "--threads", "1"))
            rates["Python"].append(package(folder(), world, method))
        for name, all_of in rates.items():
            print(f"{world} {method:12} {name:24} {statistics.median(all_of):10,.0f} steps/s", flush=True)

    from ducks import SPEC, Pond

    for method in ("equivariant", "plain"):
        rate = statistics.median(package(folder(), Pond(), method, spec=SPEC) for _ in range(3))
        print(f"the tests' pond {method:12} {rate:10,.0f} steps/s", flush=True)
    from own_environment import SPEC as MEADOW
    from own_environment import Meadow

    for method in ("equivariant", "plain"):
        rate = statistics.median(package(folder(), Meadow(), method, spec=MEADOW) for _ in range(3))
        print(f"examples/python's meadow {method:12} {rate:10,.0f} steps/s", flush=True)
