"""What relaxed networks found of their worlds' asymmetry: how far the weights of every layer are from equivariant ones, and how much what
they do differs from what they do turned; of plain networks only that. One JSON object per run, or a table in Markdown of such a file.

    python3 experiments/asymmetry.py ask runs/imperfect runs/imperfect-lights > docs/results/elsewhere/asymmetry.ndjson
    python3 experiments/asymmetry.py table docs/results/elsewhere/asymmetry.ndjson
"""

import json
import os
import statistics
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

PROGRAM = os.environ.get("EQUIMARL", "target/release/equimarl")


def said(*words):
    """What the program says. A relaxed network is not equivariant, but a check of it still holds: it claims nothing."""
    return json.loads(subprocess.run([PROGRAM, *words, "--json"], check=True, capture_output=True, text=True).stdout)


def ask(folders):
    for folder in folders:
        for run in sorted(Path(folder).iterdir()):
            if not any(method in run.name for method in ("-relaxed-", "-plain-0")) or not (run / "model.safetensors").is_file():
                continue
            found, config = said("inspect", str(run)), tomllib.loads((run / "config.toml").read_text())
            # A team that is told of a wind that is drawn is asked with the wind turned along: about this one everybody may be symmetric.
            along = ["--transform-cause"] if found["settings"].get("wind_from") == "any" and found["settings"].get("wind") else []
            checked = said("check", "network", "--model", str(run), *along)
            moved = [e["divergence"] for e in checked["elements"] if e["element"] != "e"]
            line = {"run": run.name, "world": {"name": found["world"], **found["settings"]}, "method": config["method"], "penalty": config["penalty"], "asymmetry": found.get("asymmetry", {}), "divergence": statistics.fmean(moved), "states": checked["states"]}
            print(json.dumps(line), flush=True)


def table(path):
    rows, layers = defaultdict(list), {}
    for record in map(json.loads, open(path)):
        options = record["world"]
        # The first records do not say it: the penalties that were chosen.
        penalty = record.get("penalty", {"wildlife": 10, "traffic": 100}[options["name"]])
        who = "`plain`" if record.get("method") == "plain" else f"`relaxed`, penalty {penalty:g}"
        broken = "".join(f", {key} {options[key]}" for key in ("wind", "wind_from", "tilt") if options.get(key))
        where = f"{who}{broken if options.get('wind') or options.get('tilt') else ', nothing broken'}"
        where = options["name"], where
        rows[where].append(record)
        layers.setdefault(options["name"], [])
        layers[options["name"]] = layers[options["name"]] or list(record["asymmetry"])
    for world, names in layers.items():
        print(f"| | runs | {' | '.join(f'`{name}`' for name in names)} | mean divergence |\n|" + "---|" * (len(names) + 3))
        for (_, where), found in rows.items():
            if found[0]["world"]["name"] == world:
                told = found[0]["asymmetry"]
                cells = [f"{statistics.fmean(r['asymmetry'][name] for r in found):.2f}" if told else "" for name in names]
                moved = [r["divergence"] for r in found]
                print(f"| {where} | {len(found)} | {' | '.join(cells)} | {statistics.fmean(moved):.3f} ({min(moved):.3f} to {max(moved):.3f}) |")
        print()


if len(sys.argv) >= 3 and sys.argv[1] == "ask":
    ask(sys.argv[2:])
elif len(sys.argv) == 3 and sys.argv[1] == "table":
    table(sys.argv[2])
else:
    sys.exit(__doc__)
