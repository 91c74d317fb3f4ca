"""Simulated seconds per second: equimarl's client against a Python traci loop with the same subscriptions and the same commands
(a program of yellow, red and green, and its first phase), and SUMO alone.

    pip install eclipse-sumo traci
    cargo build --release -p equimarl-sumo --example speed
    python bench/sumo/speed.py target/release/examples/speed

Both drive the same 4 x 4 grid with the same vehicles and random phases; rounds alternate, so that a busy machine is busy for all.
"""
import json, multiprocessing, os, random, statistics, subprocess, sys, tempfile, time

import sumo
import traci
import traci.constants as tc

BINARY = os.path.join(os.path.dirname(sumo.__file__), "bin", "sumo")
DURATION, INTERVAL, YELLOW, ALL_RED = 1800, 10, 3, 2
VEHICLE = [tc.VAR_LANE_ID, tc.VAR_LANEPOSITION, tc.VAR_SPEED, tc.VAR_WAITING_TIME, tc.VAR_POSITION]


def arguments(folder, out):
    return [BINARY, "-n", f"{folder}/bench.net.xml", "-r", f"{folder}/bench.rou.xml", "--seed", "1", "--no-step-log", "true",
            "--duration-log.disable", "true", "--no-warnings", "true", "--tripinfo-output", f"{folder}/{out}.xml"]


def phases(light):
    """The eight phases of a junction whose links are numbered clockwise from the north: as equimarl has them."""
    per = len(light) // 4
    letters = lambda sides, left: "".join(
        ("rrG" if left else "GGg") if s in sides else "rrr" for s in range(4)) if per == 3 else light
    single = lambda side: "".join("GGG" if s == side else "rrr" for s in range(4))
    return [letters((1, 3), False), letters((0, 2), False), letters((1, 3), True), letters((0, 2), True)] + [
        single(s) for s in (1, 0, 3, 2)]


def loop(job):
    folder, label = job
    traci.start(arguments(folder, label), label=label, stdout=subprocess.DEVNULL)
    c = traci.getConnection(label)
    lights = c.trafficlight.getIDList()
    for light in lights:
        c.trafficlight.subscribe(light, [tc.TL_RED_YELLOW_GREEN_STATE])
    c.simulation.subscribe([tc.VAR_PENDING_VEHICLES])
    c.junction.subscribeContext(lights[0], tc.CMD_GET_VEHICLE_VARIABLE, 1e7, VEHICLE)
    rng = random.Random(1)
    states = {light: c.trafficlight.getRedYellowGreenState(light) for light in lights}
    for step in range(1, DURATION // INTERVAL + 1):
        for light in lights:
            old = states[light]
            new = rng.choice(phases(old))
            if new != old:
                yellow = "".join("y" if a in "Gg" and b == "r" else (a if b in "Gg" else "r") for a, b in zip(old, new))
                logic = traci.trafficlight.Logic("random", 0, 0, [
                    traci.trafficlight.Phase(YELLOW, yellow), traci.trafficlight.Phase(ALL_RED, yellow.replace("y", "r")),
                    traci.trafficlight.Phase(1e6, new)])
                c.trafficlight.setProgramLogic(light, logic)
                # Without this SUMO stays in the middle of the old green; equimarl sends it, too.
                c.trafficlight.setPhase(light, 0)
                states[light] = new
        c.simulationStep(step * INTERVAL)
        seen = c.junction.getContextSubscriptionResults(lights[0])
        for values in seen.values():
            values[tc.VAR_LANE_ID], values[tc.VAR_SPEED]
    c.close()


def python(folder, count):
    start = time.perf_counter()
    jobs = [(folder, f"python-{k}") for k in range(count)]
    if count == 1:
        loop(jobs[0])
    else:
        with multiprocessing.Pool(count) as pool:
            pool.map(loop, jobs)
    return DURATION * count / (time.perf_counter() - start)


def alone(folder):
    start = time.perf_counter()
    subprocess.run(arguments(folder, "alone") + ["--end", str(DURATION)], check=True, stdout=subprocess.DEVNULL)
    return DURATION / (time.perf_counter() - start)


def ours(program, folder, count):
    said = subprocess.run([program, str(count), folder], check=True, capture_output=True, text=True).stdout
    return json.loads(said)["simulated_per_second"]


if __name__ == "__main__":
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        ours(program, folder, 1)
        found = {}
        for _ in range(rounds):
            for name, call in [("equimarl, 1 environment", lambda: ours(program, folder, 1)),
                               ("Python traci, 1 environment", lambda: python(folder, 1)),
                               ("equimarl, 2 environments", lambda: ours(program, folder, 2)),
                               ("Python traci, 2 environments (2 processes)", lambda: python(folder, 2)),
                               ("SUMO alone, its own program, no client", lambda: alone(folder))]:
                found.setdefault(name, []).append(call())
        for name, values in found.items():
            print(f"{name:45s} {statistics.median(values):8.0f} simulated s/s   ({', '.join(f'{v:.0f}' for v in values)})")
