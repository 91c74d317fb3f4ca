#!/usr/bin/env python3
"""Two programs play the same fleets in turns: bench/fleet/compare.py OLD NEW --model NAME=RUN:EPISODES ... [--rounds 3]

Per model and transport it says steps per second, how long a round takes, and processor time per step (of all processes, their
start included): the median over turns, the least and the largest, and the ratio of the medians. Turns alternate, so that what
else the machine does falls on both; processor time hardly feels it. Messages that were missed or agents that were away would
make a run another one; they are shown.
"""
import argparse, json, resource, statistics, subprocess

parser = argparse.ArgumentParser()
parser.add_argument("old")
parser.add_argument("new")
parser.add_argument("--model", action="append", required=True, metavar="NAME=RUN:EPISODES")
parser.add_argument("--transport", action="append", metavar="zenoh|in-process")
parser.add_argument("--rounds", type=int, default=3)
options = parser.parse_args()


def used():
    """Processor seconds of all processes that have ended, and of those that they waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def play(program, model, episodes, transport):
    more = ["--deadline", "5000"] if transport == "zenoh" else ["--threads", "1"]
    command = [program, "fleet", "run", "--model", model, "--transport", transport, "--episodes", episodes, "--seed", "100"]
    before = used()
    done = subprocess.run([*command, "--json", *more], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    cpu = 1e6 * (used() - before) / said["fleet"]["steps"]
    return {**said["fleet"], "return": said["return"]["mean"], "cpu_us_per_step": cpu}


for what in options.model:
    name, rest = what.split("=", 1)
    model, episodes = rest.rsplit(":", 1)
    for transport in options.transport or ["zenoh", "in-process"]:
        many = episodes if transport == "zenoh" else str(4 * int(episodes))
        runs = {"old": [], "new": []}
        for turn in range(options.rounds):
            order = [("old", options.old), ("new", options.new)]
            for which, program in order if turn % 2 == 0 else reversed(order):
                runs[which].append(play(program, model, many, transport))
        everything = runs["old"] + runs["new"]
        returns = {run["return"] for run in everything}
        lost = sum(run["missed"] + run["absent"] for run in everything)
        print(f"{name} {transport}: {everything[0]['steps']} steps a run, returns {returns}, missed or absent {lost}", flush=True)
        # In one process time is simulated: a round takes none.
        keys = ["steps_per_second", "cpu_us_per_step"] + (["round_p50_us", "round_p99_us"] if transport == "zenoh" else [])
        for key in keys:
            middle = {}
            for which in runs:
                values = sorted(run[key] for run in runs[which])
                middle[which] = statistics.median(values)
                print(f"  {key} {which}: {middle[which]:.0f} ({values[0]:.0f} to {values[-1]:.0f})")
            print(f"  {key} new / old: {middle['new'] / middle['old']:.2f}", flush=True)
