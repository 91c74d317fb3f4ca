#!/usr/bin/env python3
"""Compare the gradients of equimarl's four distributed networks with those of PyTorch's autograd.

equimarl writes down networks, states, samples and what it found (crates/learn/examples/gradients.rs); here the paper's
equations say what it should have found, in 64 bits. Of equimarl's own, only the table is used that says which
coefficient stands where in a weight.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = 1e-5
# A gradient this much smaller than the largest one is zero by symmetry, and rounding is all that is left of it.
ZERO = 1e-12


def numbers(values):
    return torch.tensor(values, dtype=torch.float64)


def gathered(theta, table):
    """Every entry is a scale times one coefficient, or zero."""
    index, scale = torch.tensor(table["index"]), numbers(table["scale"])
    return torch.where(index < 0, 0.0, scale * theta[index.clamp(min=0)])


def realised(theta, layers):
    """The weight and bias of every layer."""
    tensors, first = {}, 0
    for layer in layers:
        own = theta[first : first + layer["coefficients"]]
        first += layer["coefficients"]
        tensors[layer["name"]] = gathered(own, layer["weight"]).reshape(layer["shape"]), gathered(own, layer["bias"])
    assert first == len(theta), "the layers do not have all coefficients"
    return tensors


def forward(tensors, batch):
    """The logits of every agent, and the value of every state."""
    x = numbers(batch["pictures"]).reshape(batch["shape"])
    x = F.relu(F.conv2d(x, *tensors["conv1"], stride=2))
    x = F.relu(F.conv2d(x, *tensors["conv2"]))
    f = x.amax((2, 3))

    # f_i' = relu(W [f_i, sum_j a_ij (e_ij, f_j)] + b), a_ij = 1 / (1 + number of neighbours of i)
    agents = len(f)
    heard = torch.zeros(agents, agents, dtype=torch.float64)
    edges = torch.zeros(agents, agents, 2, dtype=torch.float64)
    for i, j, vector in batch["edges"]:
        heard[i, j] = 1
        edges[i, j] = numbers(vector)
    a = heard / (1 + heard.sum(1, keepdim=True))
    edge = (a.unsqueeze(-1) * edges).sum(1)
    for name in ("round1", "round2"):
        f = F.relu(F.linear(torch.cat([f, edge, a @ f], 1), *tensors[name]))

    each = F.linear(f, *tensors["value"]).squeeze(1)
    starts = batch["starts"]
    values = torch.stack([each[start:end].mean() for start, end in zip(starts, starts[1:])])
    return F.linear(f, *tensors["policy"]), values


def ppo_loss(logits, values, starts, samples, config):
    """The loss, and what the clipping does in each state: -1 from below, 1 from above, 0 nothing."""
    log_policy = F.log_softmax(logits, 1)
    chosen = log_policy.gather(1, torch.tensor(samples["actions"]).unsqueeze(1)).squeeze(1)
    joint = torch.stack([chosen[start:end].sum() for start, end in zip(starts, starts[1:])])
    ratio, advantages = (joint - numbers(samples["log_probabilities"])).exp(), numbers(samples["advantages"])
    free = ratio * advantages
    clipped = ratio.clamp(1 - config["clip"], 1 + config["clip"]) * advantages
    entropy = -(log_policy.exp() * log_policy).sum(1).mean()
    error = values - numbers(samples["returns"])
    loss = config["value"] * error.square().mean() / 2 - torch.min(free, clipped).mean() - config["entropy"] * entropy
    return loss, torch.where(clipped < free, (ratio - 1).sign(), 0.0)


def relative(ours, exact):
    return ((ours - exact).norm() / exact.norm()).item()


def compare(network, config):
    """The errors of everything, by way and name, and the names of what is zero by symmetry."""
    theta = numbers(network["coefficients"]).requires_grad_()
    logits, values = forward(realised(theta, network["layers"]), network["batch"])
    loss, clipped = ppo_loss(logits, values, network["batch"]["starts"], network["samples"], config)
    loss.backward()
    assert set(clipped.tolist()) == {-1, 0, 1}, "ratios should be clipped from below, from above, and not at all"
    named = {name: slice(start, end) for name, start, end in network["named"]}
    assert sum(part.stop - part.start for part in named.values()) == len(theta), "some coefficients have no name"
    largest = max(theta.grad[part].norm() for part in named.values())
    zero = [name for name, part in named.items() if theta.grad[part].norm() < ZERO * largest]
    errors = {}
    for ours in network["ours"]:
        way, gradient = ours["way"], numbers(ours["gradient"])
        errors[way, "logits"] = relative(numbers(ours["logits"]).reshape(logits.shape), logits)
        errors[way, "values"] = relative(numbers(ours["values"]), values)
        errors[way, "loss"] = relative(numbers(ours["loss"]), loss)
        for name, part in named.items():
            exact = theta.grad[part]
            apart = (gradient[part] - exact).norm() / (largest if name in zero else exact.norm())
            errors[way, name] = apart.item()
    return errors, zero


def written():
    """What equimarl has to say, fresh."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "gradients.json"
        command = "cargo run --release -q -p equimarl-learn --example gradients --".split()
        subprocess.run([*command, file], cwd=ROOT, check=True)
        return json.loads(file.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", nargs="?", type=pathlib.Path, help="what the example wrote (default: run it)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = json.loads(options.file.read_text()) if options.file else written()
    right = True
    for network in found["networks"]:
        errors, zero = compare(network, found["loss"])
        # Written so that what is not a number is wrong.
        wrong = {what: error for what, error in errors.items() if not error < TOLERANCE}
        (way, name), error = max((wrong or errors).items(), key=lambda item: item[1])
        line = f"{network['name']:21} {len(errors)} compared, worst error {error:.1e} ({name}, {way})"
        if zero:
            line += f"; zero by symmetry, so against the largest gradient: {', '.join(zero)}"
        for way in dict.fromkeys(way for way, _ in wrong):
            line += f"; WRONG ({way}): {', '.join(name for by, name in wrong if by == way)}"
        right = right and not wrong
        print(line)
    if not right:
        sys.exit(f"error: not within {TOLERANCE} of PyTorch")


if __name__ == "__main__":
    main()
