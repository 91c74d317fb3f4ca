"""Chooses the rates (and penalties) of imperfect.toml from kept records, by the rule of imperfect-plan.md; prints a table in Markdown.

    python3 experiments/imperfect.py docs/results/imperfect/imperfect-rates.jsonl

At strengths 0 and 0.4: the mean over seeds of the return (less is better: the waiting) over the last tenth of training; the choice has the best mean of
its ranks over the strengths, among equals the best mean over the strengths.
"""

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
    sys.exit("give the file of the records: python3 experiments/imperfect.py docs/results/imperfect/imperfect-rates.jsonl")


def last_tenth(record):
    """Training's curve after nine tenths of the steps; more is better. A run that failed is worse than all."""
    if record["state"] != "finished":
        return float("-inf")
    curve = record["curve"]
    values = next(curve[key] for key in ("waiting", "return") if key in curve)
    sign = -1 if "waiting" in curve else 1
    end = 0.9 * record["config"]["steps"]
    return sign * statistics.fmean(v for s, v in zip(curve["steps"], values) if s > end and v is not None)


found = defaultdict(lambda: defaultdict(list))
for line in open(sys.argv[1]):
    record = json.loads(line)
    config = record["config"]
    world = config["world"]
    strength = world.get("wind", 0.0) or world.get("tilt", 0.0)
    setting = (config["learning_rate"], config["penalty"] if config["method"] == "relaxed" else None)
    found[world["name"], config["method"]][setting, strength].append(last_tenth(record))

print("| world | method | rate | penalty | at 0 | at 0.4 | ranks | chosen |")
print("|---|---|---|---|---|---|---|---|")
for (world, method), runs in found.items():
    settings, strengths = sorted({s for s, _ in runs}, key=str), sorted({s for _, s in runs})

    def score(setting, strength):
        return statistics.fmean(runs.get((setting, strength), [float("-inf")]))

    def rank(setting, strength, among):
        return 1 + sum(score(other, strength) > score(setting, strength) for other in among)

    def choose(among):
        def key(s):
            return statistics.fmean(rank(s, x, among) for x in strengths), -statistics.fmean(score(s, x) for x in strengths)

        return min(among, key=key)

    # Of `relaxed`, penalties first, at the rate that all of them have; then rates, at the penalty that was chosen.
    stage = settings
    if method == "relaxed":
        middle = max({s[0] for s in settings}, key=lambda rate: len({s[1] for s in settings if s[0] == rate}))
        penalty = choose([s for s in settings if s[0] == middle])[1]
        stage = [s for s in settings if s[1] == penalty]
    best = choose(stage)
    for setting in settings:
        values = [f"{abs(score(setting, x)):.3f}" if x in strengths else "" for x in (0.0, 0.4)]
        ranks = ", ".join(str(rank(setting, x, stage)) for x in strengths) if setting in stage else ""
        shown = "" if setting[1] is None else f"{setting[1]:g}"
        print(f"| {world} | {method} | {setting[0]:g} | {shown} | {values[0]} | {values[1]} | {ranks} | {'chosen' if setting == best else ''} |")
