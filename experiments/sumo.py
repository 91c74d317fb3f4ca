"""Time loss while teams learn in SUMO, from one log line to the next, and the rates of sumo.toml by the rule of sumo-plan.md.

    python3 experiments/sumo.py curves runs/sumo-rates runs/sumo > docs/results/elsewhere/sumo-curves.ndjson
    python3 experiments/sumo.py rates docs/results/elsewhere/sumo-curves.ndjson
    python3 experiments/sumo.py after 4000 docs/results/elsewhere/sumo-curves.ndjson
    python3 experiments/sumo.py ends docs/results/sumo.jsonl
    python3 experiments/sumo.py measures docs/results/sumo.jsonl docs/results/elsewhere/sumo-controllers.ndjson
    python3 experiments/sumo.py elsewhere docs/results/elsewhere/sumo-teams.ndjson docs/results/elsewhere/sumo-controllers.ndjson
    python3 experiments/sumo.py figure docs/results/sumo.jsonl docs/results/elsewhere/sumo-teams.ndjson docs/results/elsewhere/sumo-controllers.ndjson > docs/results/figures/sumo-ends.svg

A run's log has the mean time loss of its last twenty episodes. Up to the twentieth that is all of them, so two lines give the mean of the
episodes between: (n2 m2 - n1 m1) / (n2 - n1). 4,000 decisions have 17 to 20; what comes later is left out here.
"""

import json
import random
import re
import statistics
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

LAST = 20  # episodes that a mean of the log is about


def curves(folders):
    """One line per run: for every log line the episodes that have ended since the one before, and their mean time loss."""
    for run in sorted(p.parent for folder in folders for p in Path(folder).glob("*/metrics.jsonl")):
        config = tomllib.loads((run / "config.toml").read_text())
        steps, episodes, losses = [], [], []
        ended, total = 0, 0.0
        for line in map(json.loads, open(run / "metrics.jsonl")):
            if line.get("time_loss") is None:
                continue
            if line["episodes"] > LAST:
                break
            if line["episodes"] == ended:
                continue
            sum_now = line["episodes"] * line["time_loss"]
            steps.append(line["steps"])
            episodes.append(line["episodes"] - ended)
            losses.append(round((sum_now - total) / (line["episodes"] - ended), 3))
            ended, total = line["episodes"], sum_now
        keys = ("method", "learning_rate", "seed", "steps")
        print(json.dumps({"run": run.name, **{k: config[k] for k in keys}, "tilt": config["world"].get("tilt", 0.0), "at": steps, "episodes": episodes, "time_loss": losses}))


def read(path):
    return [json.loads(line) for line in open(path)]


def rates(path):
    """The lowest mean of the last line's episodes; among equals the smaller rate. Only runs of seed 101 choose."""
    found = defaultdict(dict)
    for run in read(path):
        if run["seed"] == 101:
            found[run["method"]][run["learning_rate"]] = run["time_loss"][-1] if run["at"][-1] == run["steps"] else float("inf")
    print("| method | rate | time loss of the last episodes (s) | |\n|---|---|---|---|")
    for method, losses in found.items():
        best = min(losses, key=lambda rate: (losses[rate], rate))
        for rate, loss in sorted(losses.items()):
            print(f"| {method} | {rate:g} | {loss:.1f} | {'chosen' if rate == best else ''} |")


def after(steps, path):
    """Mean time loss of the episodes that ended in the last line up to so many decisions: mean and range over seeds."""
    found = defaultdict(list)
    for run in read(path):
        if run["seed"] != 101:
            found[run["tilt"], run["method"]].append(next(m for s, m in zip(reversed(run["at"]), reversed(run["time_loss"])) if s <= steps))
    print("| tilt | method | seeds | time loss (s) | range |\n|---|---|---|---|---|")
    for (tilt, method), losses in sorted(found.items()):
        print(f"| {tilt:g} | {method} | {len(losses)} | {statistics.fmean(losses):.1f} | {min(losses):.1f} to {max(losses):.1f} |")


MEASURES = ["time_loss", "travel_time", "waiting", "stops", "queue", "throughput", "not_inserted", "teleports"]


def spread(values):
    """The mean, and what it lies between if there is more than one."""
    mean = f"{statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.1f} to {max(values):.1f})"


def named(line):
    """A team by its method, a controller by its name and its shortest green if that is not the usual one."""
    green = line["found"].get("min_green", 5)
    method = re.sub(r"^sumo-4x4-(tilt0\.4-)?(.*)-[0-9.e-]+-\d+$", r"\2", line["run"])
    return method if green == 5 or method != line["run"] else f"{method}, {green} s"


def measures(records, controllers):
    """The last policies and the controllers on the episodes of evaluation, where they learned."""
    rows = defaultdict(list)
    for record in read(records):
        if record["state"] == "finished":
            config, found = record["config"], record["summary"]["evaluation"]
            for how in ("greedy", "sampled"):
                rows[config["world"].get("tilt", 0.0), f"`{config['method']}`, {how}"].append(found[how])
    for line in read(controllers):
        if line["found"]["rows"] == 4 and not line["found"]["net"]:
            rows[line["found"]["tilt"], f"`{named(line)}`"].append(line["found"])
    table(rows)


def iqm(values):
    """The mean of the middle half; of four values that of the middle two."""
    values, n = sorted(values), len(values)
    weights = [max(0.0, min(i + 1, 0.75 * n) - max(i, 0.25 * n)) for i in range(n)]
    return sum(w * v for w, v in zip(weights, values)) / sum(weights)


def interval(draw, draws=10_000):
    """The 95% interval of something that is worked out anew from runs drawn with replacement."""
    chance = random.Random(1)
    found = sorted(draw(lambda runs: chance.choices(runs, k=len(runs))) for _ in range(draws))
    return found[draws // 40], found[-draws // 40]


def better(ours, theirs):
    """How likely a run of ours loses less than one of theirs; equals count half."""
    return statistics.fmean((a < b) + 0.5 * (a == b) for a in ours for b in theirs)


def ends(records):
    """Greedy time loss on the episodes of evaluation, as the plan wants it; and how likely `equivariant` is better."""
    found = defaultdict(dict)
    for record in read(records):
        if record["state"] == "finished":
            config, evaluation = record["config"], record["summary"]["evaluation"]
            runs = found[config["world"].get("tilt", 0.0)].setdefault(config["method"], {})
            runs[config["seed"]] = evaluation["greedy"]["time_loss"]["mean"]
    print("| tilt | method | runs | IQM [95%] | all runs | `equivariant` is better with probability [95%] |\n|---|---|---|---|---|---|")
    for tilt, methods in sorted(found.items()):
        ours = list(methods["equivariant"].values())
        for method, runs in sorted(methods.items(), key=lambda of: iqm(of[1].values())):
            runs = [loss for _, loss in sorted(runs.items())]
            low, high = interval(lambda again: iqm(again(runs)))
            if method == "equivariant":
                beside = ""
            else:
                least, most = interval(lambda again: better(again(ours), again(runs)))
                beside = f"{better(ours, runs):.2f} [{least:.2f}, {most:.2f}]"
            print(f"| {tilt:g} | `{method}` | {len(runs)} | {iqm(runs):.1f} [{low:.1f}, {high:.1f}] | {', '.join(f'{loss:.1f}' for loss in runs)} | {beside} |")


def elsewhere(*files):
    """Teams and controllers where no team learned. Teams of the tilted demand play the tilted demand."""
    rows = defaultdict(list)
    for line in (line for file in files for line in read(file)):
        found = line["found"]
        if found["net"] or found["rows"] != 4:
            place = "T-junction" if found["net"] else f"{found['rows']} x {found['cols']}"
            rows[f"{place}, {found['tilt']:g}", f"`{named(line)}`"].append(found)
    table(rows)


def table(rows):
    print("| where | who | " + " | ".join(name.replace("_", " ") for name in MEASURES) + " |\n|" + "---|" * (len(MEASURES) + 2))
    for (where, who), found in sorted(rows.items(), key=lambda row: (str(row[0][0]), statistics.fmean(f["time_loss"]["mean"] for f in row[1]))):
        cells = [spread([f[name]["mean"] for f in found]) for name in MEASURES]
        print(f"| {where} | {who} | " + " | ".join(cells) + " |")


def figure(records, teams, controllers):
    """A dot for every run, a diamond for every controller: time loss where teams learned, under tilted demand, and on 8 x 8 junctions."""
    panels = {"4 x 4 junctions, where they learned": defaultdict(list), "the same, tilted demand": defaultdict(list), "8 x 8 junctions, unseen": defaultdict(list)}
    names = list(panels)
    for record in read(records):
        if record["state"] == "finished":
            panels[names[record["config"]["world"].get("tilt", 0.0) > 0]][record["config"]["method"]].append(record["summary"]["evaluation"]["greedy"]["time_loss"]["mean"])
    for line in [*read(controllers), *read(teams)]:
        found = line["found"]
        place = None if found["net"] else names[2] if found["rows"] == 8 and not found["tilt"] else names[found["tilt"] > 0] if found["rows"] == 4 else None
        if place:
            panels[place][named(line)].append(found["time_loss"]["mean"])
    learned = {"equivariant": "#0072b2", "relaxed": "#009e73", "augment-random": "#e69f00", "plain": "#d55e00"}
    width, left, row, low, high = 900, 190, 19, 40.0, 180.0
    x = lambda loss: left + (width - left - 30) * (min(loss, high) - low) / (high - low)  # noqa: E731
    body, y = [], 20
    for title, rows in panels.items():
        body.append(f'<text x="{left}" y="{y}" font-weight="bold">{title}</text>')
        top = y + 8
        for who, losses in sorted(rows.items(), key=lambda r: statistics.fmean(r[1])):
            y += row
            colour = learned.get(who, "#555555")
            body.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end" fill="{colour}">{who}</text><line x1="{left}" x2="{width - 30}" y1="{y}" y2="{y}" stroke="#e4e4e4"/>')
            for loss in losses:
                at = x(loss)
                mark = f'<circle cx="{at:.1f}" cy="{y}" r="5" fill="{colour}" fill-opacity="0.65"' if who in learned else f'<path d="M{at:.1f} {y - 6}l6 6l-6 6l-6 -6z" fill="{colour}"'
                body.append(f"{mark}><title>{who}: {loss:.1f} s</title>" + ("</circle>" if who in learned else "</path>"))
        y += 16
        for tick in range(int(low), int(high) + 1, 20):
            body.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{y - 6}" stroke="#bbbbbb" stroke-dasharray="2 3"/><text x="{x(tick):.1f}" y="{y + 6}" text-anchor="middle" fill="#555555">{tick}</text>')
        y += 36
    body.append(f'<text x="{left}" y="{y - 8}" fill="#555555">time loss per vehicle, seconds: less is better. A dot is a trained team (greedy), a diamond a controller.</text>')
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" font-family="sans-serif" font-size="13"><rect width="{width}" height="{y}" fill="white"/>' + "".join(body) + "</svg>")


if len(sys.argv) >= 3 and sys.argv[1] == "curves":
    curves(sys.argv[2:])
elif len(sys.argv) == 3 and sys.argv[1] == "rates":
    rates(sys.argv[2])
elif len(sys.argv) == 4 and sys.argv[1] == "after" and sys.argv[2].isdigit():
    after(int(sys.argv[2]), sys.argv[3])
elif len(sys.argv) == 3 and sys.argv[1] == "ends":
    ends(sys.argv[2])
elif len(sys.argv) == 4 and sys.argv[1] == "measures":
    measures(*sys.argv[2:])
elif len(sys.argv) == 5 and sys.argv[1] == "figure":
    figure(*sys.argv[2:])
elif len(sys.argv) >= 3 and sys.argv[1] == "elsewhere":
    elsewhere(*sys.argv[2:])
else:
    sys.exit(__doc__)
