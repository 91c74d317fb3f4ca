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
        self.lines = socket.create_connection((host, int(port))).makefile("rw")
        self.send({"agent": agent})

    def send(self, message):
        self.lines.write(json.dumps(message) + "\n")
        self.lines.flush()

    def look(self):
        """Waits for the next look at the world: what is seen, and who is near across which vector."""
        line = self.lines.readline()
        return json.loads(line) if line else None

    def move(self, step, action):
        """Does what was decided; nothing was if the action is None, and the device holds still."""
        self.send(action if action["action"] is not None else {"step": step, "action": None, "missed": 0})


def main():
    device = Device(sys.argv[1], int(sys.argv[2]))

    def act():
        for line in sys.stdin:  # one line per step, until the agent ends
            action = json.loads(line)
            device.move(action["step"], action)

    threading.Thread(target=act, daemon=True).start()
    while (seen := device.look()) is not None:
        # {"own": [...], "neighbours": [{"agent": 1, "edge": [x, y]}, ...]}, and "step" if it is for a certain one.
        print(json.dumps(seen), flush=True)


main()
