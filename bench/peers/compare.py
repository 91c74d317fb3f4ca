#!/usr/bin/env python3
"""Trains with equimarl and with plain PyTorch, one right after the other, and prints how many times faster equimarl is.

Needs `cargo build --release` first. Run it on an idle machine. What only one side has is named and left out.

On a machine that is never idle, `--turns N` lets both sides train in turn, N times, and prints medians of steps per second of
processor time. equimarl's side is then `train`, with all that it does before and after, and so a little slower.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

from torch_ppo import MEASURED, name_of

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


# Each side's own way of leaving AVX-512 alone.
AVX2 = {"EQUIMARL_SIMD": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}


def measure(command, avx2):
    environment = os.environ | AVX2 if avx2 else os.environ
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    return json.loads(done.stdout)


def processor_rate(program, world, drones, method, seconds, avx2):
    """Steps of `equimarl train` per second of processor time."""

    def spent(steps, home):
        words = ["train", "--world", world, "--method", method, "--preset", "paper", "--threads", "1", "--quiet"]
        words += ["--drones", str(drones)] if drones else []
        words += ["--steps", str(steps), "--out", f"{home}/{steps}"]
        words += ["--set", "evaluate_every=0", "--set", "evaluate_episodes=1"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, *words], check=True, env=os.environ | AVX2 if avx2 else os.environ)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    with tempfile.TemporaryDirectory() as home:
        guess = 800 / spent(800, home)
        steps = 80 * max(11, round(guess * seconds / 80))
        return steps / spent(steps, home)


def in_turns(program, options):
    common = ["--seconds", str(options.seconds), "--json", "--all", "--only"]
    print(f"{'':24} {'equimarl':>9} {'PyTorch':>9} {'ratio':>6}   steps per second of processor time, {options.turns} turns")
    for what in MEASURED:
        name, ours, theirs = name_of(*what), [], []
        for _ in range(options.turns if options.only in name else 0):
            ours.append(processor_rate(program, *what, options.seconds, options.avx2))
            torch = measure([sys.executable, HERE / "torch_ppo.py", *common, name], options.avx2)
            theirs.append(torch["results"][0]["per_cpu_second"])
        if ours:
            ratios = [x / y for x, y in zip(ours, theirs)]
            middle = [statistics.median(x) for x in (ours, theirs, ratios)]
            print(f"{name:24} {middle[0]:9.0f} {middle[1]:9.0f} {middle[2]:6.1f}   ratios {min(ratios):.1f} to {max(ratios):.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20, help="for each line of each side (default 20)")
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1)
    parser.add_argument("--only", default="", metavar="NAME",
                        help="lines with this in their name; equimarl still measures all of its own before that")
    parser.add_argument("--avx2", action="store_true", help="hold both sides to AVX2, to compare machines fairly")
    parser.add_argument("--turns", type=int, default=0, metavar="N", help="train in turn, N times, by processor time")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if not any(options.only in name_of(*what) for what in MEASURED):
        names = ", ".join(name_of(*what) for what in MEASURED)
        sys.exit(f"error: PyTorch has nothing with `{options.only}` in its name: {names}")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / "release" / "equimarl"
    if not program.exists():
        sys.exit(f"error: {program} is not there; run `cargo build --release` first")
    if options.turns > 0:
        if options.json or options.threads > 1:
            sys.exit("error: --turns prints a table, of one thread")
        in_turns(program, options)
        return
    common = ["--seconds", str(options.seconds), "--threads", str(options.threads), "--json"]
    ours = measure([program, "bench", "train", *common], options.avx2)
    torch = measure([sys.executable, HERE / "torch_ppo.py", "--all", "--only", options.only, *common], options.avx2)
    mine, peers = ({x["name"]: x for x in side["results"] if options.only in x["name"]} for side in (ours, torch))
    rows = []
    for name in [name for name in mine if name in peers]:
        value, peer = mine[name]["value"], peers[name]
        busy = 1 - peer["value"] / peer["per_cpu_second"]
        rows.append({"name": name, "equimarl": value, "torch": peer["value"], "ratio": value / peer["value"], "busy": busy})
    skipped = {"PyTorch": sorted(mine.keys() - peers), "equimarl": sorted(peers.keys() - mine)}
    for side, names in skipped.items():
        if names:
            print(f"skipped, since {side} has no such line: {', '.join(names)}", file=sys.stderr)
    if not rows:
        sys.exit("error: no line has both sides")
    if options.json:
        print(json.dumps({"results": rows, "unit": "steps/s", "threads": options.threads, "torch": torch["torch"],
                          "machine": ours["machine"], "commit": ours["commit"], "skipped": skipped}))
        return
    print(f"{'':24} {'equimarl':>9} {'PyTorch':>9} {'ratio':>6}   steps/s, {options.threads} thread(s)")
    for row in rows:
        print(f"{row['name']:24} {row['equimarl']:9.0f} {row['torch']:9.0f} {row['ratio']:6.1f}")
    cpu, simd = ours["machine"]["cpu"], ours["machine"]["simd"]
    print(f"equimarl {ours['commit']}, PyTorch {torch['torch']}, {cpu}, kernels with {simd}")
    if max(row["busy"] for row in rows) > 0.05:
        print("Other programs were running; the ratios are not to be trusted.", file=sys.stderr)


if __name__ == "__main__":
    main()
