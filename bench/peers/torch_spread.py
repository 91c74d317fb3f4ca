"""The two networks of spread (equivariant under D4, and plain), written in plain PyTorch.

An agent sees its velocity and its place; it hears the other agents, and where landmarks are. Vectors are (down, right).

A message is relu(W [f_i, e_ij, f_j] + b) = relu(A f_i + B e_ij + C f_j + b), edge by edge, and agents take the mean of those
of agents and of those of landmarks. A f_i and C f_j are made once per agent, and all that a round makes of the same
features is one matrix product: that is faster than a product per edge, for PyTorch too.

The maps of the equivariant network are made from their coefficients by `dense`; `decide` is the same for both. Features of
an equivariant layer have index channels * h + channel, h being an element of D4; acting by g moves h to g h.
"""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

ACTIONS, ROUNDS = 5, 2
PARAMETERS = {"spread-equivariant": 50_911, "spread-plain": 54_918}


# --------------------------------------------------------------------------------------------------------------------
# D4: the eight matrices on (down, right), and what they do to elements and to choices.

QUARTER, MIRROR = np.array([[0, -1], [1, 0]]), np.array([[1, 0], [0, -1]])
MATRICES = np.stack([np.linalg.matrix_power(QUARTER, k) @ m for m in (np.eye(2, dtype=int), MIRROR) for k in range(4)])
ORDER = len(MATRICES)
# stay, left, right, down, up
CHOICES = np.array([[0, 0], [0, -1], [0, 1], [1, 0], [-1, 0]])


def index_of(one, among):
    """Where each of `one` [..., n, m] is among [k, n, m]."""
    return (one[..., None, :, :] == among).all((-1, -2)).argmax(-1)


INVERSE = MATRICES.transpose(0, 2, 1)
# h^-1 k [h, k], and h^-1 a for choices a [a, h].
QUOTIENT = torch.from_numpy(index_of(INVERSE[:, None] @ MATRICES, MATRICES))
UNMOVED = torch.from_numpy(index_of((CHOICES @ MATRICES)[..., None], CHOICES[..., None]).T)  # a^T h = (h^-1 a)^T


# --------------------------------------------------------------------------------------------------------------------
# Networks. Of a round there are: `into`, the four maps of the features (as the hearer of agents, as their speaker, as the
# hearer of landmarks, and what is kept), one below the other; `edge`, those of the edge vectors to agents and landmarks;
# `out`, those of the two means, side by side; and three biases, of both messages and of the sum.


@functools.cache
def others(agents):
    """For each agent, all others."""
    return torch.tensor([[j for j in range(agents) if j != i] for i in range(agents)]).flatten()


def decide(weights, seen, agents, landmarks):
    """seen [states, agents, 4], edge vectors to other agents [states, agents, agents - 1, 2] and to landmarks [states, agents,
    landmarks, 2]; logits [states, agents, actions] and values [states]."""
    (first, bias1), (second, bias2), *rounds, (head, head_bias) = weights
    f = F.relu(F.linear(seen, first, bias1))
    f = F.relu(F.linear(f, second, bias2))
    speakers = others(seen.shape[1])
    for into, edge, out, (to_agents, to_landmarks, bias) in rounds:
        own, said, beside, kept = F.linear(f, into).chunk(4, -1)
        said = said.index_select(1, speakers).unflatten(1, agents.shape[1:3])
        heard = F.relu(own.unsqueeze(2) + said + F.linear(agents, edge[0], to_agents)).mean(2)
        near = F.relu(beside.unsqueeze(2) + F.linear(landmarks, edge[1], to_landmarks)).mean(2)
        f = F.relu(kept + F.linear(torch.cat([heard, near], -1), out, bias))
    answer = F.linear(f, head, head_bias)
    return answer[..., :-1], answer[..., -1].mean(-1)


def he(*shape, fan_in):
    return nn.Parameter(torch.randn(*shape) * math.sqrt(2 / fan_in))


def zeros(*shape):
    return nn.Parameter(torch.zeros(*shape))


class Network(nn.Module):
    """Its `dense` weights are what `decide` takes."""

    def keep(self, layers):
        self.layers = layers
        self.all = nn.ParameterList(parameter for layer in layers for parameter in layer)

    def forward(self, *inputs):
        return decide(self.dense(), *inputs)


class Plain(Network):
    def __init__(self, width=64):
        super().__init__()
        w = width
        heads = torch.cat([0.01 * torch.randn(ACTIONS, w), torch.randn(1, w) / math.sqrt(w)])
        layers = [[he(w, 4, fan_in=4), zeros(w)], [he(w, w, fan_in=w), zeros(w)]]
        for _ in range(ROUNDS):
            # Messages have inputs of their own widths; what is kept belongs to the sum.
            fans = [2 * w + 2, 2 * w + 2, w + 2, 3 * w]
            into = nn.Parameter(torch.cat([he(w, w, fan_in=fan) for fan in fans]).detach())
            edge = nn.Parameter(torch.stack([he(w, 2, fan_in=fan) for fan in (2 * w + 2, w + 2)]).detach())
            layers.append([into, edge, he(w, 2 * w, fan_in=3 * w), zeros(3, w)])
        layers.append([nn.Parameter(heads), zeros(ACTIONS + 1)])
        self.keep(layers)

    def dense(self):
        return self.layers


class Equivariant(Network):
    """Maps between features have coefficients [D4, maps, outputs, inputs]: W[h, k] = w[h^-1 k]. Those of vectors v are
    w h^-1 v. The head's six outputs are five choices, which D4 permutes, and the value, which it leaves alone."""

    def __init__(self, channels=22):
        super().__init__()
        n, w = channels, ORDER * channels
        heads = torch.cat([0.01 * torch.randn(ACTIONS, n), torch.randn(1, n) / math.sqrt(w)])
        layers = [[he(2, n, 2, fan_in=4), zeros(n)], [he(ORDER, 1, n, n, fan_in=w), zeros(n)]]
        for _ in range(ROUNDS):
            fans = [2 * w + 2, 2 * w + 2, w + 2, 3 * w]
            into = nn.Parameter(torch.cat([he(ORDER, 1, n, n, fan_in=fan) for fan in fans], 1).detach())
            edge = nn.Parameter(torch.stack([he(n, 2, fan_in=fan) for fan in (2 * w + 2, w + 2)]).detach())
            layers.append([into, edge, he(ORDER, 2, n, n, fan_in=3 * w), zeros(3, n)])
        layers.append([nn.Parameter(heads), zeros(3)])
        self.keep(layers)
        self.register_buffer("inverse", torch.from_numpy(INVERSE).float())
        value = torch.full((1, ORDER), ACTIONS)
        self.register_buffer("head_table", torch.cat([UNMOVED, value]).flatten())
        self.register_buffer("head_bias", torch.tensor([0, 1, 1, 1, 1, 2]))

    @staticmethod
    def over_group(base):
        """[h, k, maps, outputs, inputs]; blocks are copied as they are, which is the fastest way that we found."""
        return base.index_select(0, QUOTIENT.flatten()).unflatten(0, (ORDER, ORDER))

    def below(self, base):
        """Maps of one input, one below the other."""
        return self.over_group(base).permute(2, 0, 3, 1, 4).flatten(3).flatten(0, 2)

    def beside(self, base):
        """Maps to one output, side by side."""
        return self.over_group(base).permute(0, 3, 2, 1, 4).flatten(2).flatten(0, 1)

    def of_vectors(self, base):
        """base [maps, outputs, 2]; [maps, all outputs, 2]."""
        return (base.unsqueeze(1) @ self.inverse.unsqueeze(0)).flatten(1, 2)

    def dense(self):
        (first, bias1), (second, bias2), *rounds, (head, head_bias) = self.layers
        weights = [(torch.cat(self.of_vectors(first).unbind(), -1), bias1.repeat(ORDER))]
        weights.append((self.below(second), bias2.repeat(ORDER)))
        for into, edge, out, biases in rounds:
            parts = self.below(into), self.of_vectors(edge), self.beside(out), biases.repeat(1, ORDER)
            weights.append(parts)
        heads = head.index_select(0, self.head_table).view(ACTIONS + 1, -1)
        weights.append((heads, head_bias.index_select(0, self.head_bias)))
        return weights


def build(method):
    network = {"equivariant": Equivariant, "plain": Plain}[method]()
    count, expected = sum(p.numel() for p in network.parameters()), PARAMETERS[f"spread-{method}"]
    assert count == expected, f"spread-{method} has {count} parameters, not {expected}"
    return network
