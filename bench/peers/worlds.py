"""Three worlds, many episodes at a time, in NumPy.

A world holds `count` episodes. `step(actions)` advances them all; `restart(which)` begins new episodes where `which`
is true. `observe()` gives, for every episode and agent, the number of the picture that the agent sees, and the graph of
who hears whom; `paint(numbers)` makes the pictures. Equal numbers are equal pictures. In spread there are no pictures:
`observe()` gives vectors. `state(episode)` is what `equimarl replay` says of it.
"""

import numpy as np
import torch

import torch_minibatch as single


def normalised(neighbours):
    """a_ij = 1 / (1 + number of neighbours of i)"""
    return (neighbours / (1 + neighbours.sum(-1, keepdims=True))).astype(np.float32)


class Wildlife:
    """Drones hunt a poacher on a 7 x 7 torus. A capture ends an episode; after 100 steps it is cut off."""

    SIDE, LIMIT = 7, 100
    MOVES = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])
    ACTIONS = len(MOVES)

    def __init__(self, count, rng, drones=3):
        self.count, self.rng, self.agents = count, rng, drones
        self.drones = np.zeros((count, drones, 2), int)
        self.poacher = np.zeros((count, 2), int)
        self.time = np.zeros(count, int)
        self.restart(np.ones(count, bool))
        # A drone in the middle sees the poacher where it is, so the number of a picture is the poacher's cell in it.
        cells = torch.arange(self.SIDE**2)
        seen = torch.stack([cells // self.SIDE, cells % self.SIDE], -1)
        state = torch.full((len(cells), single.Wildlife.DRONES + 1, 2), self.SIDE // 2)
        state[:, -1] = seen
        self.pictures = single.Wildlife.observe(state)[0][:, 0].contiguous()

    def restart(self, which):
        cells = self.rng.permuted(np.tile(np.arange(self.SIDE**2), (which.sum(), 1)), axis=1)[:, : self.agents + 1]
        places = np.stack(np.divmod(cells, self.SIDE), -1)
        self.drones[which], self.poacher[which], self.time[which] = places[:, :-1], places[:, -1], 0

    def step(self, actions, poacher_moves=None):
        """Rewards, terminated, truncated."""
        if poacher_moves is None:
            poacher_moves = self.rng.integers(0, len(self.MOVES), self.count)
        self.drones = self.settle((self.drones + self.MOVES[actions]) % self.SIDE)
        middle = self.SIDE // 2
        away = (self.drones - self.poacher[:, None] + middle) % self.SIDE - middle
        distance = np.abs(away).sum(-1)
        beside = (distance == 1).sum(-1)
        captured = (distance == 0).any(-1) & (beside > 0)
        moved = (self.poacher + self.MOVES[poacher_moves]) % self.SIDE
        self.poacher = np.where(captured[:, None], self.poacher, moved)
        self.time += 1
        return np.where(captured, 1 + beside, 0) - 0.05, captured, ~captured & (self.time >= self.LIMIT)

    def settle(self, wanted):
        """Drones that share a wanted cell stay where they are, until no two share one."""
        while True:
            cell = wanted[..., 0] * self.SIDE + wanted[..., 1]
            shared = (cell[:, :, None] == cell[:, None, :]).sum(-1) > 1
            if not shared.any():
                return wanted
            wanted = np.where(shared[..., None], self.drones, wanted)

    def observe(self):
        seen = (self.poacher[:, None] - self.drones + self.SIDE // 2) % self.SIDE
        difference = self.drones[:, :, None] - self.drones[:, None, :]
        near = ((difference**2).sum(-1) < 18) & ~np.eye(self.agents, dtype=bool)
        return seen[..., 0] * self.SIDE + seen[..., 1], normalised(near), (difference / 3).astype(np.float32)

    def paint(self, numbers):
        return self.pictures[numbers]

    def state(self, episode):
        return {"drones": self.drones[episode].tolist(), "poacher": self.poacher[episode].tolist()}


class Traffic:
    """2 x 2 junctions on 15 x 15 cells. The last vehicle ends an episode; after 500 steps it is cut off.

    There are eight lanes of 15 cells: two for each direction in the order of `single.Traffic` (growing columns, falling
    rows, falling columns, growing rows). A place is a lane and a number of cells from the lane's entry. Two places that
    cross are one cell: `other` maps one to the other, and every other place to itself.
    """

    LENGTH, LANES, ARRIVAL_STEPS, ARRIVAL_PROBABILITY, LIMIT = 15, 8, 100, 0.1, 500
    STOP_LINES = np.array([2, 10])
    BETWEEN = STOP_LINES + 1  # inside a junction, between its two crossing cells
    IS_ROW = np.array([1, 1, 0, 0, 1, 1, 0, 0], bool)
    DIRECTIONS = np.array([[0, 1], [-1, 0], [0, -1], [1, 0]])
    ACTIONS, agents = 2, 4

    def __init__(self, count, rng):
        self.count, self.rng = count, rng
        self.lay_out()
        self.prepare_pictures()
        places = (count, self.LANES, self.LENGTH)
        self.inside = np.zeros(places, bool)
        self.marked = np.zeros(places, bool)
        self.waiting = np.zeros(places, int)
        self.outside = np.zeros((count, self.LANES), int)
        self.arrivals = np.zeros((count, self.ARRIVAL_STEPS, self.LANES), int)
        self.remaining = np.zeros(count, int)
        self.phases = np.zeros((count, self.agents), int)
        self.time = np.zeros(count, int)
        self.restart(np.ones(count, bool))

    def lay_out(self):
        """Cells of places, and what is where."""
        along = np.arange(self.LENGTH)
        back = along[::-1]
        runs = [(2, None, along), (None, 2, back), (4, None, back), (None, 4, along)]
        self.cells = np.zeros((self.LANES, self.LENGTH, 2), int)
        for direction, (row, column, run) in enumerate(runs):
            for block in (0, 1):
                cells = self.cells[2 * direction + block]
                cells[:, 0] = run if row is None else row + 8 * block
                cells[:, 1] = run if column is None else column + 8 * block
        rows, columns = self.cells.reshape(-1, 2).T
        same = (rows[:, None] == rows) & (columns[:, None] == columns) & ~np.eye(len(rows), dtype=bool)
        self.other = np.where(same.any(1), same.argmax(1), np.arange(len(rows)))
        # The places that each junction sees, lane by lane, and the junction of each stop line.
        corners = [(r, c) for r in (0, 8) for c in (0, 8)]
        in_block = [(rows >= r) & (rows < r + 7) & (columns >= c) & (columns < c + 7) for r, c in corners]
        self.views = np.stack([np.flatnonzero(b) for b in in_block])
        stops = self.cells[:, self.STOP_LINES]
        self.governed_by = 2 * (stops[..., 0] // 8) + stops[..., 1] // 8

    def prepare_pictures(self):
        """A picture is a sum: the empty junction with phase 0, the change to phase 1, and one tile per vehicle."""
        view = self.views[0]
        vehicles = torch.zeros(len(view) + 2, 4, self.LENGTH, self.LENGTH)
        for k, place in enumerate(view):
            lane, step = divmod(int(place), self.LENGTH)
            vehicles[k, lane // 2][tuple(self.cells[lane, step])] = 1
        phases = torch.zeros(len(vehicles), 2, 2, dtype=torch.long)
        phases[-2] = 1
        pictures = single.Traffic.observe((vehicles, phases))[0][:, 0]
        self.shape = pictures.shape[1:]
        self.background = pictures[-1].flatten()
        self.parts = pictures[:-1].flatten(1) - self.background
        self.bits = torch.arange(len(self.parts))
        self.bit_values = 2 ** np.arange(len(self.parts), dtype=np.int64)
        place = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        edges = place[:, None] - place
        graph = normalised(np.abs(edges).sum(-1) == 1), edges.astype(np.float32)
        self.graph = [np.broadcast_to(x, (self.count, *x.shape)) for x in graph]

    def restart(self, which, arrivals=None):
        """`arrivals` [episodes, ARRIVAL_STEPS, LANES] says who arrives when; it is drawn if it is not given."""
        if arrivals is None:
            arrivals = self.rng.random((which.sum(), self.ARRIVAL_STEPS, self.LANES)) < self.ARRIVAL_PROBABILITY
        self.arrivals[which] = arrivals
        self.remaining[which] = self.arrivals[which].sum((1, 2))
        for part in (self.inside, self.marked, self.waiting, self.outside, self.phases, self.time):
            part[which] = 0

    def step(self, actions):
        """Rewards, terminated, truncated."""
        self.phases = np.array(actions)
        self.enter()
        self.move()
        self.time += 1
        terminated = self.remaining == 0
        return -self.mean_waiting() / 1000, terminated, ~terminated & (self.time >= self.LIMIT)

    def enter(self):
        now = np.minimum(self.time, self.ARRIVAL_STEPS - 1)
        arriving = self.arrivals[np.arange(self.count), now]
        self.outside += arriving * (self.time < self.ARRIVAL_STEPS)[:, None]
        enters = (self.outside > 0) & ~self.inside[..., 0]
        self.outside -= enters
        self.inside[..., 0] |= enters

    def move(self):
        inside = self.inside
        # Who may not take its next cell, whoever is there: red lights and claims, on the way to a stop line. (A vehicle
        # on its stop line claims a cell too, but that one is nobody's stop line.)
        barred = np.zeros_like(inside)
        red = self.IS_ROW[:, None] != self.phases[:, self.governed_by]
        claims = np.zeros_like(inside)
        claims[..., self.BETWEEN + 1] = inside[..., self.BETWEEN]
        barred[..., self.STOP_LINES - 1] = red | self.across(claims)[..., self.STOP_LINES]
        # Who goes: everybody whose next cell is empty, or will be.
        able = inside & ~self.marked & ~barred
        able[..., -1] = False
        goes = np.zeros_like(inside)
        goes[..., -1] = inside[..., -1]
        free = ~(inside | self.across(inside)) | goes
        while True:
            new = able[..., :-1] & free[..., 1:] & ~goes[..., :-1]
            if not new.any():
                break
            goes[..., :-1] |= new
            free[..., :-1] |= new
            free |= self.across(goes)
        self.remaining -= inside[..., -1].sum(-1)
        stays = inside & ~goes
        held = barred
        held[..., :-1] |= ~free[..., 1:]
        self.marked = stays & held
        waiting = np.where(stays, self.waiting + 1, 0)
        waiting[..., 1:] += np.where(goes, self.waiting, 0)[..., :-1]
        self.waiting = waiting
        self.inside = stays
        self.inside[..., 1:] |= goes[..., :-1]

    def across(self, places):
        """What holds for a place, as seen from the place that it crosses."""
        return places.reshape(self.count, -1)[:, self.other].reshape(places.shape)

    def mean_waiting(self):
        """The mean waiting time so far of the vehicles inside; 0 if there are none."""
        return self.waiting.sum((1, 2)) / np.maximum(self.inside.sum((1, 2)), 1)

    def observe(self):
        """A picture's number: one bit per place in the junction's view, and one for its phase."""
        seen = self.inside.reshape(self.count, -1)[:, self.views]
        return seen @ self.bit_values[:-1] + self.phases * self.bit_values[-1], *self.graph

    def paint(self, numbers):
        bits = ((numbers[:, None] >> self.bits) & 1).float()
        return (bits @ self.parts + self.background).unflatten(1, self.shape)

    def state(self, episode):
        """All vehicles, sorted: row, column, direction, waiting time, mark."""
        vehicles = []
        for lane, step in np.argwhere(self.inside[episode]):
            place = episode, lane, step
            where = [*self.cells[lane, step].tolist(), *self.DIRECTIONS[lane // 2].tolist()]
            vehicles.append([*where, int(self.waiting[place]), bool(self.marked[place])])
        return {"vehicles": sorted(vehicles)}


class Spread:
    """Agents cover landmarks without bumping into each other: mpe2's simple_spread. After 25 steps an episode is cut off."""

    LIMIT, STEP, DAMPING, ACCELERATION, RADIUS = 25, 0.1, 0.25, 5.0, 0.15
    CONTACT_FORCE, CONTACT_MARGIN, LOCAL_RATIO = 100.0, 1e-3, 0.5
    # stay, left, right, down, up; y grows upwards
    FORCES = ACCELERATION * np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
    ACTIONS = len(FORCES)

    def __init__(self, count, rng, agents=3):
        self.count, self.rng, self.agents = count, rng, agents
        self.places = np.zeros((count, agents, 2))
        self.velocities = np.zeros((count, agents, 2))
        self.landmarks = np.zeros((count, agents, 2))
        self.time = np.zeros(count, int)
        self.others = np.array([[j for j in range(agents) if j != i] for i in range(agents)])
        self.restart(np.ones(count, bool))

    def restart(self, which):
        both = self.rng.uniform(-1, 1, (2, which.sum(), self.agents, 2))
        self.places[which], self.landmarks[which] = both
        self.velocities[which], self.time[which] = 0, 0

    def apart(self):
        """Vectors from all other agents to each, and their lengths."""
        away = self.places[:, :, None] - self.places[:, self.others]
        return away, np.sqrt((away**2).sum(-1))

    def step(self, actions):
        """Rewards, terminated, truncated."""
        away, distance = self.apart()
        margin = self.CONTACT_MARGIN
        penetration = margin * np.logaddexp(0, (2 * self.RADIUS - distance) / margin)
        # Two agents on the same point do not push each other.
        push = self.CONTACT_FORCE * penetration / np.where(distance == 0, np.inf, distance)
        force = self.FORCES[actions] + (push[..., None] * away).sum(2)
        self.places += self.STEP * self.velocities
        self.velocities = (1 - self.DAMPING) * self.velocities + self.STEP * force
        self.time += 1
        return self.rewards().mean(-1), np.zeros(self.count, bool), self.time >= self.LIMIT

    def rewards(self):
        """What mpe2 gives each agent."""
        touches = (self.apart()[1] < 2 * self.RADIUS).sum(-1)
        away = self.landmarks[:, :, None] - self.places[:, None]
        nearest = np.sqrt((away**2).sum(-1).min(-1)).sum(-1, keepdims=True)
        return -(1 - self.LOCAL_RATIO) * nearest - self.LOCAL_RATIO * touches

    @staticmethod
    def seen(vectors):
        """Networks see vectors as (down, right)."""
        return np.stack([-vectors[..., 1], vectors[..., 0]], -1).astype(np.float32)

    def observe(self):
        """Velocities and places, edge vectors to the other agents, and to landmarks."""
        own = np.concatenate([self.seen(self.velocities), self.seen(self.places)], -1)
        to_landmarks = self.places[:, :, None] - self.landmarks[:, None]
        return own, self.seen(self.apart()[0]), self.seen(to_landmarks)

    def state(self, episode):
        return {"agents": np.concatenate([self.places[episode], self.velocities[episode]], -1).tolist()}
