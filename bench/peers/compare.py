#!/usr/bin/env python3
"""Trains with equimarl and with plain PyTorch, one right after the other, and prints how many times faster equimarl is.

Needs `cargo build --release` first. Run it on an idle machine.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


# Each side's own way of leaving AVX-512 alone.
AVX2 = {"EQUIMARL_SIMD": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}


def measure(command, avx2):
    environment = os.environ | AVX2 if avx2 else os.environ
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="for each of the twelve (default 20)")
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1)
    parser.add_argument("--avx2", action="store_true", help="hold both sides to AVX2, to compare machines fairly")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / "release" / "equimarl"
    if not program.exists():
        sys.exit(f"error: {program} is not there; run `cargo build --release` first")
    common = ["--seconds", str(options.seconds), "--threads", str(options.threads), "--json"]
    ours = measure([program, "bench", "train", *common], options.avx2)
    torch = measure([sys.executable, HERE / "torch_ppo.py", "--all", *common], options.avx2)
    peers = {line["name"]: line for line in torch["results"]}
    rows = []
    for line in ours["results"]:
        peer = peers[line["name"]]
        busy = 1 - peer["value"] / peer["per_cpu_second"]
        rows.append({"name": line["name"], "equimarl": line["value"], "torch": peer["value"],
                     "ratio": line["value"] / peer["value"], "busy": busy})
    if options.json:
        print(json.dumps({"results": rows, "unit": "steps/s", "threads": options.threads, "torch": torch["torch"]}))
        return
    print(f"{'':24} {'equimarl':>9} {'PyTorch':>9} {'ratio':>6}   steps/s, {options.threads} thread(s)")
    for row in rows:
        print(f"{row['name']:24} {row['equimarl']:9.0f} {row['torch']:9.0f} {row['ratio']:6.1f}")
    if max(row["busy"] for row in rows) > 0.05:
        print("Other programs were running; the ratios are not to be trusted.", file=sys.stderr)


if __name__ == "__main__":
    main()
