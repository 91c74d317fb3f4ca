"""Records what SUMO answers, and what Eclipse's own client makes of it: an oracle that shares no code with ours.

python record.py NET OUT.json, with `pip install eclipse-sumo traci`. The commands are written by traci itself; the bytes that
it sends and gets are kept beside the values that it reads.
"""
import json, os, sys, tempfile
import sumo
import traci
import traci.constants as tc
import traci.connection

net, out = sys.argv[1:]
log = []


traffic = {"sent": b"", "got": b""}


class Spy:
    def __init__(self, socket):
        self._s = socket

    def send(self, data):
        traffic["sent"] += bytes(data)
        return self._s.send(data)

    def recv(self, n):
        data = self._s.recv(n)
        traffic["got"] += data
        return data

    def __getattr__(self, name):
        return getattr(self._s, name)


def exchange(name, call):
    traffic["sent"], traffic["got"] = b"", b""
    call()
    log.append({"name": name, "sent": traffic["sent"].hex(), "got": traffic["got"].hex()})


with tempfile.TemporaryDirectory() as folder:
    routes = os.path.join(folder, "r.rou.xml")
    with open(routes, "w") as f:
        f.write("<routes><vType id='car' sigma='0'/>")
        for k in range(12):
            f.write(f"<trip id='{k}' type='car' depart='{k}' from='left{k % 2}A{k % 2}' to='B{k % 2}right{k % 2}'/>")
        f.write("</routes>")
    binary = os.path.join(os.path.dirname(sumo.__file__), "bin", "sumo")
    traci.start([binary, "-n", net, "-r", routes, "--no-step-log", "true", "--no-warnings", "true"])
    connection = traci.getConnection()
    connection._socket = Spy(connection._socket)
    exchange("watch light", lambda: traci.trafficlight.subscribe("A0", [tc.TL_RED_YELLOW_GREEN_STATE], 0, 1e9))
    exchange("watch simulation", lambda: traci.simulation.subscribe([tc.VAR_PENDING_VEHICLES], 0, 1e9))
    variables = [tc.VAR_LANE_ID, tc.VAR_LANEPOSITION, tc.VAR_SPEED, tc.VAR_WAITING_TIME, tc.VAR_POSITION]
    exchange("watch vehicles", lambda: traci.junction.subscribeContext("A0", tc.CMD_GET_VEHICLE_VARIABLE, 1e7, variables, 0, 1e9))
    phases = [traci.trafficlight.Phase(3, "yyyrrryyyrrr", 3, 3), traci.trafficlight.Phase(1e6, "rrrGGgrrrGGg", 1e6, 1e6)]
    logic = traci.trafficlight.Logic("equimarl", 0, 0, phases)
    exchange("light", lambda: traci.trafficlight.setProgramLogic("A0", logic))
    exchange("phase", lambda: traci.trafficlight.setPhase("A0", 0))
    exchange("program", lambda: traci.trafficlight.setProgram("A0", "0"))
    exchange("step", lambda: traci.simulationStep(20))
    seen = traci.junction.getContextSubscriptionResults("A0")
    light = traci.trafficlight.getSubscriptionResults("A0")[tc.TL_RED_YELLOW_GREEN_STATE]
    vehicles = {
        k: {"lane": v[tc.VAR_LANE_ID], "position": v[tc.VAR_LANEPOSITION], "speed": v[tc.VAR_SPEED],
            "waiting": v[tc.VAR_WAITING_TIME], "at": list(v[tc.VAR_POSITION])}
        for k, v in seen.items()
    }
    pending = list(traci.simulation.getSubscriptionResults()[tc.VAR_PENDING_VEHICLES])
    traci.close()
json.dump({"exchanges": log, "light": light, "vehicles": vehicles, "pending": pending}, open(out, "w"), indent=1)
