"""Reads event files with TensorBoard's own reader and compares them with the metrics of the run.

    python read_back.py RUN EVENTS...
"""

import json
import struct
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def numbers(path, value):
    """Means and numbers by their path, as the event files name them."""
    if isinstance(value, dict):
        if isinstance(value.get("mean"), (int, float)):
            yield path, value["mean"]
            return
        for key, inner in value.items():
            yield from numbers(f"{path}/{key}", inner)
    elif isinstance(value, (int, float)):
        yield path, value


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def expected(run):
    found = {}
    for line in open(f"{run}/metrics.jsonl"):
        line = json.loads(line)
        step = line.pop("steps")
        for key, value in line.items():
            root = key if isinstance(value, dict) else f"train/{key}"
            for tag, number in numbers(root, value):
                found.setdefault(tag, []).append((step, single(number)))
    return found


def main(run, *folders):
    wanted = expected(run)
    assert "train/return" in wanted and "evaluation/greedy/return" in wanted, sorted(wanted)
    for folder in folders:
        events = EventAccumulator(folder, size_guidance={"scalars": 0})
        events.Reload()
        tags = sorted(events.Tags()["scalars"])
        assert tags == sorted(wanted), (tags, sorted(wanted))
        for tag in tags:
            read = [(e.step, e.value) for e in events.Scalars(tag)]
            assert read == wanted[tag], (folder, tag, read[:3], wanted[tag][:3], len(read), len(wanted[tag]))
        points = sum(len(v) for v in wanted.values())
        print(f"{folder}: {len(tags)} tags, {points} points, as in {run}/metrics.jsonl")


main(*sys.argv[1:])
