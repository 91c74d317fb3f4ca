#!/usr/bin/env python3
"""Time one training minibatch of the four distributed networks, written in plain PyTorch.

A minibatch is 20 states: 60 pictures of 1 x 21 x 21 (wildlife, 3 drones) or 80 pictures of 3 x 35 x 35 (traffic, 2 x 2
junctions). Timed are forward, backward and the Adam step. Every picture is encoded, also when two are equal.

The group is C4; h = 0, 1, 2, 3 counts quarter turns counter-clockwise, what `torch.rot90` does.
"""

import argparse
import json
import math
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

STATES = 20
NOTE = "every image is encoded"
PARAMETERS = {
    "wildlife-equivariant": 25_891,
    "wildlife-plain": 26_694,
    "traffic-equivariant": 26_578,
    "traffic-plain": 28_067,
}


# --------------------------------------------------------------------------------------------------------------------
# Layers. Features of an equivariant layer have index 4 * channel + h; turning the world by g moves h to g + h.


def he(*shape, fan_in):
    return nn.Parameter(torch.randn(*shape) * math.sqrt(2 / fan_in))


def over_group(base):
    """Realises a group layer: W[out, h, in, k] = rot_h base[out, in, k - h]. Pixels, if any, are the last two axes."""
    turned = (base.roll(h, 2) for h in range(4))
    if base.dim() == 5:
        turned = (torch.rot90(psi, h, (3, 4)) for h, psi in enumerate(turned))
    return torch.stack(list(turned), 1)


class LiftingConv(nn.Module):
    """out[h] = x * (rot_h psi)"""

    def __init__(self, inputs, outputs, size, stride):
        super().__init__()
        self.psi = he(outputs, inputs, size, size, fan_in=inputs * size * size)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.stride = stride

    def forward(self, x):
        weight = torch.stack([torch.rot90(self.psi, h, (2, 3)) for h in range(4)], 1).flatten(0, 1)
        return F.conv2d(x, weight, self.bias.repeat_interleave(4), self.stride)


class GroupConv(nn.Module):
    """out[h] = sum_k in[k] * rot_h psi[k - h]"""

    def __init__(self, inputs, outputs, size):
        super().__init__()
        self.psi = he(outputs, inputs, 4, size, size, fan_in=4 * inputs * size * size)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        weight = over_group(self.psi).flatten(2, 3).flatten(0, 1)
        return F.conv2d(x, weight, self.bias.repeat_interleave(4))


class GroupRound(nn.Module):
    """W [f (+) edge (+) message] + b with W (L_g (+) U_g (+) L_g) = L_g W"""

    def __init__(self, inputs, outputs):
        super().__init__()
        fan_in = 8 * inputs + 2
        self.own = he(outputs, inputs, 4, fan_in=fan_in)
        self.edge = he(outputs, 2, fan_in=fan_in)
        self.message = he(outputs, inputs, 4, fan_in=fan_in)
        self.bias = nn.Parameter(torch.zeros(outputs))
        # U_h^-1, the inverse of h turns of a difference vector (rows, columns).
        inverse = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
        self.register_buffer("unturn", torch.stack([torch.linalg.matrix_power(inverse, h) for h in range(4)]))

    def forward(self, x):
        edge = torch.einsum("oa,hab->ohb", self.edge, self.unturn)
        blocks = [over_group(self.own).flatten(2), edge, over_group(self.message).flatten(2)]
        return F.linear(x, torch.cat(blocks, 2).flatten(0, 1), self.bias.repeat_interleave(4))


class WildlifePolicy(nn.Module):
    """regular -> stay (invariant) and four moves, which turn into each other"""

    def __init__(self, inputs):
        super().__init__()
        self.stay = nn.Parameter(0.01 * torch.randn(1, inputs))
        self.move = nn.Parameter(0.01 * torch.randn(1, inputs, 4))
        self.bias = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        stay = self.stay.repeat_interleave(4, 1)
        move = over_group(self.move).flatten(2).flatten(0, 1)
        return F.linear(x, torch.cat([stay, move]), torch.cat([self.bias[:1], self.bias[1:].expand(4)]))


class TrafficPolicy(nn.Module):
    """regular -> two phases, swapped by the quarter turn"""

    def __init__(self, inputs):
        super().__init__()
        self.weight = nn.Parameter(0.01 * torch.randn(inputs, 2))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        weight = torch.stack([self.weight, self.weight.flip(1)]).repeat(1, 1, 2).flatten(1)
        return F.linear(x, weight, self.bias.expand(2))


class InvariantValue(nn.Module):
    """regular -> one invariant number"""

    def __init__(self, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, inputs) / math.sqrt(4 * inputs))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return F.linear(x, self.weight.repeat_interleave(4, 1), self.bias)


# --------------------------------------------------------------------------------------------------------------------
# Networks.


class Network(nn.Module):
    """Encoder, two rounds of messages, a policy per agent and a team value."""

    def __init__(self, conv1, conv2, round1, round2, policy, value):
        super().__init__()
        self.conv1, self.conv2 = conv1, conv2
        self.round1, self.round2 = round1, round2
        self.policy, self.value = policy, value

    def forward(self, pictures, adjacency, edges):
        """pictures [states, agents, channels, rows, columns], adjacency [states, agents, agents] (normalised),
        edges [states, agents, agents, 2]; logits [states, agents, actions] and values [states]."""
        features = self.encode(pictures.flatten(0, 1)).unflatten(0, pictures.shape[:2])
        return self.decide(features, adjacency, edges)

    def encode(self, pictures):
        """pictures [pictures, channels, rows, columns]; features [pictures, features]."""
        x = F.relu(self.conv1(pictures))
        x = F.relu(self.conv2(x))
        return x.amax((2, 3))

    def decide(self, f, adjacency, edges):
        """What the agents do, from the features [states, agents, features] of what they see."""
        edge = (adjacency.unsqueeze(-1) * edges).sum(2)
        for layer in (self.round1, self.round2):
            f = F.relu(layer(torch.cat([f, edge, adjacency @ f], -1)))
        return self.policy(f), self.value(f).squeeze(-1).mean(-1)


def equivariant_network(channels, policy):
    return Network(
        LiftingConv(channels, 8, 7, stride=2),
        GroupConv(8, 16, 5),
        GroupRound(16, 32),
        GroupRound(32, 32),
        policy(32),
        InvariantValue(32),
    )


def plain_network(channels, actions):
    network = Network(
        nn.Conv2d(channels, 16, 7, stride=2),
        nn.Conv2d(16, 32, 5),
        nn.Linear(32 + 2 + 32, 64),
        nn.Linear(64 + 2 + 64, 64),
        nn.Linear(64, actions),
        nn.Linear(64, 1),
    )
    for layer in network.children():
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(layer.bias)
    nn.init.normal_(network.policy.weight, std=0.01)
    nn.init.normal_(network.value.weight, std=1 / math.sqrt(64))
    return network


def build(name):
    network = {
        "wildlife-equivariant": lambda: equivariant_network(1, WildlifePolicy),
        "wildlife-plain": lambda: plain_network(1, 5),
        "traffic-equivariant": lambda: equivariant_network(3, TrafficPolicy),
        "traffic-plain": lambda: plain_network(3, 2),
    }[name]()
    count = sum(p.numel() for p in network.parameters())
    assert count == PARAMETERS[name], f"{name} has {count} parameters, not {PARAMETERS[name]}"
    return network


# --------------------------------------------------------------------------------------------------------------------
# Random states of the two worlds, the quarter turn of a state, and what the agents see of it.


def normalised(neighbours):
    """a_ij = 1 / (1 + number of neighbours of i)"""
    return neighbours.float() / (1 + neighbours.sum(-1, keepdim=True))


class Wildlife:
    """Drones and a poacher on a 7 x 7 torus; a state is a tensor [states, drones + 1, 2], the poacher last."""

    SIDE, DRONES, ACTIONS = 7, 3, 5
    # The agents and actions of a turned state, by their indices before the turn.
    TURNED_AGENTS = [0, 1, 2]
    TURNED_ACTIONS = [0, 4, 1, 2, 3]

    @classmethod
    def random(cls, count):
        cells = torch.stack([torch.randperm(cls.SIDE**2)[: cls.DRONES + 1] for _ in range(count)])
        return torch.stack([cells // cls.SIDE, cells % cls.SIDE], -1)

    @classmethod
    def turn(cls, state):
        row, col = state.unbind(-1)
        return torch.stack([cls.SIDE - 1 - col, row], -1)

    @classmethod
    def observe(cls, state):
        drones, poacher = state[:, :-1], state[:, -1:]
        middle = cls.SIDE // 2
        seen = (poacher - drones + middle) % cls.SIDE
        there = F.one_hot(seen[..., 0] * cls.SIDE + seen[..., 1], cls.SIDE**2).unflatten(-1, (cls.SIDE, cls.SIDE))
        own = torch.zeros_like(there)
        own[..., middle, middle] = 1 - there[..., middle, middle]
        plus = torch.tensor([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
        cross = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
        pictures = paint(own, plus) + paint(there, cross)
        difference = drones.unsqueeze(2) - drones.unsqueeze(1)
        near = (difference.square().sum(-1) < 18) & ~torch.eye(cls.DRONES, dtype=torch.bool)
        return pictures.unsqueeze(2), normalised(near), difference / 3


class Traffic:
    """2 x 2 junctions on 15 x 15 cells. A state is a pair: the vehicles [states, 4 directions, 15, 15] and the phases
    [states, 2, 2]. Directions: growing columns, falling rows, falling columns, growing rows; each turns into the next.
    """

    ACTIONS = 2
    TURNED_AGENTS = [1, 3, 0, 2]
    TURNED_ACTIONS = [1, 0]

    @staticmethod
    def quarter_turns(picture):
        return torch.stack([torch.rot90(picture, h) for h in range(4)])

    @classmethod
    def lanes(cls):
        east = torch.zeros(15, 15)
        east[[2, 10]] = 1
        return cls.quarter_turns(east)

    @classmethod
    def random(cls, count):
        vehicles = (torch.rand(count, 4, 15, 15) < 0.12) * cls.lanes()
        vehicles[:, 1::2] *= 1 - vehicles[:, 0::2].amax(1, keepdim=True)  # one vehicle on a crossing cell
        return vehicles, torch.randint(2, (count, 2, 2))

    @staticmethod
    def turn(state):
        vehicles, phases = state
        return torch.rot90(vehicles, 1, (2, 3)).roll(1, 1), 1 - torch.rot90(phases, 1, (1, 2))

    @classmethod
    def observe(cls, state):
        vehicles, phases = state
        tile = torch.full((5, 5), 0.1)
        tile[1:4, 1:4] = 1
        tile[2, 4] = 1
        arrow = torch.zeros(5, 5)
        arrow[1:4, 2] = 1
        arrow[2, 1] = 1
        stop = torch.zeros(7, 7)
        stop[2, 2] = 1
        is_row_lane = torch.tensor([1, 0, 1, 0])
        red = (is_row_lane != phases.flatten(1).unsqueeze(-1)).float()  # phase 0: the row lanes have red
        views = torch.stack([vehicles[..., r : r + 7, c : c + 7] for r in (0, 8) for c in (0, 8)], 1)
        lane = cls.lanes()[:, :7, :7].amax(0).expand(len(phases), 4, 7, 7)
        pictures = torch.stack(
            [
                paint(lane, torch.full((5, 5), 0.5)),
                paint(red[..., None, None] * cls.quarter_turns(stop), cls.quarter_turns(arrow)),
                paint(views, cls.quarter_turns(tile)),
            ],
            2,
        )
        place = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
        edges = (place.unsqueeze(1) - place.unsqueeze(0)).float()
        neighbours = edges.abs().sum(-1) == 1
        count = len(phases)
        return pictures, normalised(neighbours).expand(count, 4, 4), edges.expand(count, 4, 4, 2)


def paint(cells, glyph):
    """A picture with `glyph` in every marked cell; with four glyphs, cells are [..., direction, rows, columns]."""
    if glyph.dim() == 2:
        cells, glyph = cells.unsqueeze(-3), glyph.unsqueeze(0)
    return torch.einsum("...dij,dpq->...ipjq", cells.float(), glyph).flatten(-2).flatten(-3, -2)


def world_of(name):
    return Wildlife if name.startswith("wildlife") else Traffic


# --------------------------------------------------------------------------------------------------------------------
# A training step.


def chosen(log_policy, actions):
    """The log-probability of the joint action, the sum over the agents."""
    return log_policy.gather(-1, actions.unsqueeze(-1)).squeeze(-1).sum(-1)


def random_minibatch(network, world):
    """What a rollout would hand over for 20 states, with random returns."""
    inputs = [x.contiguous() for x in world.observe(world.random(STATES))]
    with torch.no_grad():
        logits, values = network(*inputs)
        log_policy = F.log_softmax(logits, -1)
        actions = torch.distributions.Categorical(logits=logits).sample()
        returns = torch.randn(STATES)
    return inputs, actions, chosen(log_policy, actions), returns - values, returns


def ppo_loss(network, inputs, actions, old_log, advantages, returns):
    logits, values = network(*inputs)
    log_policy = F.log_softmax(logits, -1)
    ratio = (chosen(log_policy, actions) - old_log).exp()
    gain = torch.min(ratio * advantages, ratio.clamp(0.9, 1.1) * advantages).mean()
    entropy = -(log_policy.exp() * log_policy).sum(-1).mean()
    return -gain + 0.5 * (values - returns).square().mean() - 0.01 * entropy


def milliseconds(name, repeats, warm_up=10):
    """The median time of one training step, over minibatches that differ."""
    torch.manual_seed(0)
    network = build(name)
    minibatches = [random_minibatch(network, world_of(name)) for _ in range(8)]
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4, eps=1e-8, fused=True)
    times = []
    for step in range(warm_up + repeats):
        minibatch = minibatches[step % len(minibatches)]
        start = time.perf_counter()
        optimiser.zero_grad()
        ppo_loss(network, *minibatch).backward()
        optimiser.step()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[warm_up:])


# --------------------------------------------------------------------------------------------------------------------
# Self-test.


def deviation(name):
    """The largest change of policy and value when the world turns, against what the symmetry asks for."""
    world, network = world_of(name), build(name)
    state = world.random(100)
    before, after = world.observe(state), world.observe(world.turn(state))
    expected = torch.rot90(before[0], 1, (3, 4))[:, world.TURNED_AGENTS]
    assert torch.equal(after[0], expected), f"{name}: the pictures do not turn with the world"
    with torch.no_grad():
        for parameter in network.parameters():  # biases and policy large enough to matter
            parameter += 0.03 * torch.randn_like(parameter)
        (logits, value), (turned_logits, turned_value) = network(*before), network(*after)
    policy, turned_policy = logits.softmax(-1), turned_logits.softmax(-1)
    expected = policy[:, world.TURNED_AGENTS][..., world.TURNED_ACTIONS]
    return (turned_policy - expected).abs().max().item(), (turned_value - value).abs().max().item()


def self_test():
    torch.manual_seed(0)
    for name, parameters in PARAMETERS.items():
        policy, value = deviation(name)
        print(f"{name:21} {parameters:,} parameters; quarter turn: policy off by {policy:.1e}, value by {value:.1e}")
        if name.endswith("equivariant"):
            assert policy < 1e-5 and value < 1e-5, f"{name} is not equivariant"
        else:
            assert policy > 1e-3 and value > 1e-3, f"{name} looks equivariant, so the test sees nothing"
    print("self-test passed")


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1, help="threads of PyTorch (default 1)")
    parser.add_argument("--repeats", type=positive, default=50, help="timed steps per network (default 50)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--self-test", action="store_true", help="check the symmetry instead of timing")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.self_test:
        self_test()
        return
    results = []
    for name in PARAMETERS:
        results.append({"name": name, "value": round(milliseconds(name, options.repeats), 3), "unit": "ms"})
    if options.json:
        print(json.dumps({"results": results, "torch": torch.__version__, "threads": options.threads, "note": NOTE}))
        return
    print(f"PyTorch {torch.__version__}, {options.threads} thread(s), median of {options.repeats}; {NOTE}")
    for result in results:
        print(f"{result['name']:21} {result['value']:9.3f} {result['unit']}")


if __name__ == "__main__":
    main()
