#!/usr/bin/env python3
"""An agent's sensors and actuators in Python: `fleet agent --agent 0 --sensor 'python3 sensor.py HOST:PORT {agent}'`.

This body is a device that speaks lines of JSON over TCP: it sends what it sees, and takes what to do. Put your camera and
your motors where `look` and `move` are.
"""

import json
import socket
import sys
import threading


class Device:
    """Something with a camera and motors, here at the other end of a connection."""

    def __init__(self, address, agent):
        host, port = address.rsplit(":", 1)
        connection = socket.create_connection((host, int(port)))
        self.camera, self.motors = connection.makefile("r"), connection.makefile("w")
        self.send({"agent": agent})

    def send(self, message):
        self.motors.write(json.dumps(message) + "\n")
        self.motors.flush()

    def look(self):
        """Waits for the next look at the world: what is seen, and who is near across which vector."""
        line = self.camera.readline()
        return json.loads(line) if line else None

    def move(self, decision):
        """Does what was decided; if the action is None nothing was, and the device holds still."""
        self.send(decision)


def main():
    device = Device(sys.argv[1], int(sys.argv[2]))

    def act():
        for line in sys.stdin:  # one line per step, until the agent ends
            device.move(json.loads(line))  # {"step": 17, "action": 3, "missed": 0}

    threading.Thread(target=act, daemon=True).start()
    while (seen := device.look()) is not None:
        # {"own": [...], "neighbours": [{"agent": 1, "edge": [x, y]}, ...]}, and "step" if it is for a certain one.
        print(json.dumps(seen), flush=True)


main()
