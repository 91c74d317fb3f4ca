"""The tables of docs/imperfect.md, in Markdown, from what `equimarl report ... --by OPTION --json` says.

    cd docs/results/imperfect
    equimarl report imperfect.jsonl imperfect-more.jsonl --by wind --json > winds.json
    python3 ../../../experiments/imperfect_tables.py winds.json 2.25
    equimarl report imperfect-lights.jsonl --seeds 1-5 --by tilt --json > tilts.json
    python3 ../../../experiments/imperfect_tables.py tilts.json 2.3
"""

import json
import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)
report, marks = json.load(open(sys.argv[1])), [float(mark) for mark in sys.argv[2:]]


def name(method):
    """The method, its group or penalty beside it."""
    first, *rest = method.split(" ", 1)
    return f"`{first}`" + (f" {rest[0]}" if rest and "relaxed" in method else "")


def row(*cells):
    print("| " + " | ".join(cells) + " |")


for by in report["by"]:
    values = [f"{by['option']} {value:g}" for value in by["values"]]
    digits = 3 if by["relative"] else 2

    def iqm(found):
        found = found["iqm"]
        return f"{found['estimate']:.{digits}f} [{found['low']:.{digits}f}, {found['high']:.{digits}f}]"

    for key, what in (("end", "at the end"), ("early", f"after {by['after']:,} steps")):
        print(f"\n**{by['name']}: {by['measure']} {what}**" + (", divided by the best possible" if by["relative"] else "") + "\n")
        row("team", "rate", *values)
        row(*["---"] * (2 + len(values)))
        at = {value: n for n, value in enumerate(by["values"])}
        best = {}
        for team in by["teams"]:
            for point in team["points"]:
                if point.get(key):
                    best.setdefault(at[point["value"]], []).append(point[key]["iqm"]["estimate"])
        better = max if by["relative"] or by["measure"] == "return" else min
        for team in by["teams"]:
            cells = [""] * len(values)
            for point in team["points"]:
                n = at[point["value"]]
                if point.get(key):
                    bold = "**" if point[key]["iqm"]["estimate"] == better(best[n]) else ""
                    cells[n] = bold + iqm(point[key]) + bold
                if point.get("stands_in"):
                    cells[n] = "as `equivariant`"
            rates = {f"{point['learning_rate']:g}" for point in team["points"] if not point.get("stands_in")}
            row(name(team["method"]), ", ".join(sorted(rates)), *cells)
    for mark in marks:
        print(f"\n**{by['name']}: steps to {mark:g}, median**\n")
        row("team", *values)
        row(*["---"] * (1 + len(values)))
        for team in by["teams"]:
            cells = [""] * len(values)
            for point in team["points"]:
                found = next((m for m in point.get("marks") or [] if m["threshold"] == mark), None)
                if point.get("stands_in"):
                    cells[at[point["value"]]] = "as `equivariant`"
                elif found:
                    passed = "" if found["passed"] == found["runs"] else f" ({found['passed']} of {found['runs']})"
                    cells[at[point["value"]]] = found["says"] + passed
            row(name(team["method"]), *cells)
    print("\n**Where others overtake `equivariant`**\n")
    row("team", f"after {by['after']:,} steps", "at the end")
    row(*["---"] * 3)
    found = {}
    for crossing in by["crossings"]:
        found.setdefault(crossing["method"], {})[crossing["after"]] = crossing["says"]
    for method, says in found.items():
        row(name(method), says.get(by["after"], ""), says.get(None, ""))
    runs = sorted({tuple(point["runs"]) for team in by["teams"] for point in team["points"]})
    print("\nruns:", ", ".join(f"{done} of {planned}" for done, planned in runs))
