"""Is the new preset no worse than preset paper at any budget? Prints a table in Markdown from kept records (budget-plan.md has the rule).

    python3 experiments/presets.py docs/results/budget
"""

import json
import random
import statistics
import sys
from pathlib import Path

if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
    sys.exit("give the folder of the records: python3 experiments/presets.py docs/results/budget")
folder = Path(sys.argv[1])


def records(name):
    path = folder / f"{name}.jsonl"
    return [json.loads(line) for line in path.open()] if path.exists() else []


def worth(record):
    """The evaluation with sampled actions, so that more is better: the return, or minus the waiting."""
    sampled = record["summary"]["evaluation"]["sampled"]
    return -sampled["waiting"]["mean"] if "waiting" in sampled else sampled["return"]["mean"]


def values(runs, method, steps, rate=None):
    def fits(config):
        return config["method"] == method and config["steps"] == steps and rate in (None, config["learning_rate"])

    return [worth(run) for run in runs if run["state"] == "finished" and fits(run["config"])]


def best_rate(runs, method, steps, rates):
    """The runs at the rate that is better in the mean."""
    return max((values(runs, method, steps, rate) for rate in rates), key=lambda v: statistics.fmean(v) if v else float("-inf"))


def difference(new, old, draws=10_000):
    """The difference of the means and its 95% interval, by bootstrap over runs of both sides."""
    chance = random.Random(1)
    mean = statistics.fmean
    drawn = sorted(mean(chance.choices(new, k=len(new))) - mean(chance.choices(old, k=len(old))) for _ in range(draws))
    return mean(new) - mean(old), drawn[draws // 40], drawn[-draws // 40]


short = records("preset-wildlife")
tables = [
    ("wildlife, 3 drones", steps, lambda m, s: values(short, m, s, 3e-3), lambda m, s: values(short, m, s, 1e-3))
    for steps in (5_000, 20_000, 100_000)
]
long, long_paper = records("budget-wildlife-new"), records("budget-wildlife")
tables.append(("wildlife, 3 drones", 500_000, lambda m, s: values(long, m, s), lambda m, s: values(long_paper, m, s)))
lights, lights_paper = records("preset-traffic-short-default"), records("preset-traffic-short-paper")
tables += [
    ("traffic, 2 x 2", steps, lambda m, s: values(lights, m, s), lambda m, s: best_rate(lights_paper, m, s, (1e-4, 3e-4)))
    for steps in (5_000, 20_000)
]
city, city_paper = records("budget-traffic-new"), records("budget-traffic")
tables.append(("traffic, 2 x 2", 100_000, lambda m, s: values(city, m, s), lambda m, s: values(city_paper, m, s)))

print("| world | steps | method | paper (runs) | new (runs) | difference [95%] | no worse by 0.05 |")
print("|---|---|---|---|---|---|---|")
for world, steps, new, old in tables:
    for method in ("equivariant", "plain"):
        ours, theirs = new(method, steps), old(method, steps)
        if not ours or not theirs:
            continue
        gain, low, high = difference(ours, theirs)
        ends = f"{statistics.fmean(theirs):.2f} ({len(theirs)}) | {statistics.fmean(ours):.2f} ({len(ours)})"
        verdict = "yes" if low > -0.05 else "**not shown**"
        print(f"| {world} | {steps:,} | {method} | {ends} | {gain:+.2f} [{low:+.2f}, {high:+.2f}] | {verdict} |")
