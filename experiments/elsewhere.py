"""Teams where they did not learn: prints a table in Markdown from what sizes.sh, continuous.sh or sumo.sh wrote.

    python3 experiments/elsewhere.py docs/results/elsewhere/sizes.ndjson --world traffic --by rows --measure waiting

Rows: the values of the option `--by`; columns: methods and controllers; entries: the median over teams (and the least and the greatest), or, of a
controller, the mean over episodes and its standard error. `--where key=value` takes only tries with that option.
"""

import argparse
import json
import re
import statistics
from pathlib import Path

ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ask.add_argument("file", type=Path)
ask.add_argument("--world", required=True)
ask.add_argument("--by", required=True, help="an option of the world, for example drones")
ask.add_argument("--measure", default="return")
ask.add_argument("--where", action="append", default=[], metavar="KEY=VALUE")
ask.add_argument("--runs", default="", help="a regular expression that the names of runs must match")
ask.add_argument("--digits", type=int, default=2)
given = ask.parse_args()


def fits(found):
    wanted = [pair.split("=", 1) for pair in given.where]
    return found["world"] == given.world and all(str(found.get(key)) == value for key, value in wanted)


rows, columns = {}, {}
for number, line in enumerate(given.file.open(), 1):
    try:
        record = json.loads(line)
    except ValueError:
        raise SystemExit(f"{given.file}, line {number}: not a record; did the try fail?") from None
    found = record["found"]
    if not fits(found) or not re.search(given.runs, record["run"]):
        continue
    if given.by not in found or given.measure not in found:
        raise SystemExit(f"{given.file}, line {number}: has no `{given.by}` or no `{given.measure}`; it has {', '.join(found)}")
    model = found["controller"] == "model"
    # A run is called WORLD-SIZE-METHOD[-GROUP]-RATE-SEED, after what differs between runs; seeds go together.
    name = re.sub(r"-[\d.e-]+?(-[A-Z]\w*)?-\d+$", lambda m: m[1] or "", record["run"]) if model else record["run"]
    row = rows.setdefault(str(found[given.by]), {})
    row.setdefault(name, []).append(found[given.measure])
    columns[name] = columns.get(name, model) and model
if not rows:
    raise SystemExit(f"{given.file} has no such tries")


def entry(name, tries):
    if tries is None:
        return ""
    means, digits = [one["mean"] for one in tries], given.digits
    if not columns[name]:
        error = tries[0]["stderr"]  # One episode has none.
        return f"{means[0]:.{digits}f}" + (f" +- {error:.{digits}f}" if error is not None else "")
    return f"{statistics.median(means):.{digits}f} ({min(means):.{digits}f} to {max(means):.{digits}f})"


names = sorted(columns, key=lambda name: (not columns[name], name))
print("| " + " | ".join([given.by, *names]) + " |")
print("|" + "---|" * (len(names) + 1))
for value, row in rows.items():
    print("| " + " | ".join([value, *(entry(name, row.get(name)) for name in names)]) + " |")
