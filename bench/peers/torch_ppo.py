#!/usr/bin/env python3
"""Train on three worlds with PPO, written in plain PyTorch: equimarl's `paper` preset, without evaluation.

An iteration is 16 episodes x 5 steps, then 4 epochs x 4 minibatches of 20 states.
"""

import argparse
import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import torch_minibatch as single
import torch_spread
from torch_minibatch import chosen, positive, ppo_loss
from worlds import Spread, Traffic, Wildlife

EPISODES, STEPS, EPOCHS, MINIBATCHES = 16, 5, 4, 4
DISCOUNT, LARGEST_GRADIENT = 0.99, 1.0
LEARNING_RATE = {"wildlife": 1e-3, "traffic": 1e-4, "spread": 1e-3}
MEASURED = [
    ("wildlife", 3, "equivariant"),
    ("wildlife", 3, "plain"),
    ("wildlife", 4, "equivariant"),
    ("wildlife", 4, "plain"),
    ("traffic", None, "equivariant"),
    ("traffic", None, "plain"),
    ("spread", None, "equivariant"),
    ("spread", None, "plain"),
]
NOTE = "evaluation off; a forward pass encodes each distinct picture of its batch once"


def name_of(world, drones, method):
    """As `equimarl bench train` calls it."""
    return {"wildlife": f"wildlife-{drones}", "traffic": "traffic-2x2", "spread": "spread-3"}[world] + f"-{method}"


class Trainer:
    def __init__(self, world, drones, method, seed, learning_rate, warm_up=0):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        self.world, self.network = self.make(world, drones, method, rng)
        self.parameters = list(self.network.parameters())
        self.optimiser = torch.optim.Adam(self.parameters, lr=learning_rate, eps=1e-8, fused=True)
        self.steps = 0
        # Of the running episodes, and of those that are over.
        self.returns, self.waiting, self.length = np.zeros((3, EPISODES))
        self.finished_returns, self.finished_waiting = [], []
        self.warm_up(rng, warm_up)

    @staticmethod
    def make(world, drones, method, rng):
        made = Wildlife(EPISODES, rng, drones) if world == "wildlife" else Traffic(EPISODES, rng)
        return made, single.build(f"{world}-{method}")

    def warm_up(self, rng, most):
        """Takes 0 to `most` random steps in each episode, so that they do not run in step. They are not counted."""
        ages = rng.integers(0, most + 1, EPISODES)
        for left in reversed(range(most)):
            actions = rng.integers(0, self.world.ACTIONS, (EPISODES, self.world.agents))
            _, terminated, truncated = self.world.step(actions)
            self.world.restart(terminated | truncated | (ages == left))

    def forward(self, numbers, adjacency, edges):
        """Logits and values. Each distinct picture is encoded once."""
        distinct, where = torch.unique(numbers, return_inverse=True)
        features = F.embedding(where, self.network.encode(self.world.paint(distinct)))
        return self.network.decide(features, adjacency, edges)

    def look(self, which=slice(None)):
        return [torch.from_numpy(np.ascontiguousarray(x[which])) for x in self.world.observe()]

    @torch.no_grad()
    def rollout(self):
        """Everything an update needs, for EPISODES x STEPS states."""
        kept, rewards, goes_on, cut_off = [], [], [], []
        for _ in range(STEPS):
            inputs = self.look()
            logits, values = self.forward(*inputs)
            log_policy = F.log_softmax(logits, -1)
            actions = torch.multinomial(log_policy.exp().flatten(0, 1), 1).view(logits.shape[:2])
            reward, terminated, truncated = self.world.step(actions.numpy())
            kept.append((*inputs, actions, chosen(log_policy, actions), values))
            rewards.append(torch.from_numpy(reward).float())
            goes_on.append(torch.from_numpy(~(terminated | truncated)).float())
            cut_off.append(torch.zeros(EPISODES))
            if truncated.any():  # what would have followed
                cut_off[-1][torch.from_numpy(truncated)] = self.forward(*self.look(truncated))[1]
            self.record(reward, terminated | truncated)
        self.steps += EPISODES * STEPS
        following = self.forward(*self.look())[1]
        returns = []
        for step in reversed(range(STEPS)):
            following = rewards[step] + DISCOUNT * (cut_off[step] + goes_on[step] * following)
            returns.insert(0, following)
        *inputs, actions, old_log, values = (torch.cat(x) for x in zip(*kept))
        returns = torch.cat(returns)
        return inputs, actions, old_log, returns - values, returns

    def record(self, reward, over):
        self.returns += reward
        self.length += 1
        if isinstance(self.world, Traffic):
            self.waiting += self.world.mean_waiting()
        if over.any():
            self.finished_returns += self.returns[over].tolist()
            self.finished_waiting += (self.waiting[over] / self.length[over]).tolist()
            self.returns[over] = self.waiting[over] = self.length[over] = 0
            self.world.restart(over)

    def update(self, inputs, *targets):
        for _ in range(EPOCHS):
            for some in torch.randperm(EPISODES * STEPS).chunk(MINIBATCHES):
                self.optimiser.zero_grad()
                ppo_loss(self.forward, [x[some] for x in inputs], *(x[some] for x in targets)).backward()
                torch.nn.utils.clip_grad_norm_(self.parameters, LARGEST_GRADIENT)
                self.optimiser.step()

    def iterate(self):
        self.update(*self.rollout())

    def progress(self):
        def last(values, count):
            return round(float(np.mean(values[-count:])), 3) if values else None

        found = {"steps": self.steps, "episodes": len(self.finished_returns)}
        found["return"] = last(self.finished_returns, 100)
        if isinstance(self.world, Traffic):
            found["waiting"] = last(self.finished_waiting, 20)
        return found


class SpreadTrainer(Trainer):
    """Agents see vectors in place of pictures."""

    dense = None

    @staticmethod
    def make(world, drones, method, rng):
        return Spread(EPISODES, rng), torch_spread.build(method)

    def forward(self, *inputs):
        return torch_spread.decide(self.dense or self.network.dense(), *inputs)

    @torch.no_grad()
    def rollout(self):
        """Weights do not change in a rollout, so they are made from their coefficients once."""
        self.dense = self.network.dense()
        found = super().rollout()
        self.dense = None
        return found


def trainer_of(world, *what, **more):
    return (SpreadTrainer if world == "spread" else Trainer)(world, *what, **more)


# --------------------------------------------------------------------------------------------------------------------
# Runs.


def say(text):
    print(text, file=sys.stderr, flush=True)


class Clock:
    """Steps per second since it was made, by the clock on the wall, and per second that the processor worked for us."""

    def __init__(self, trainer):
        self.trainer, self.before = trainer, trainer.steps
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def seconds(self):
        return time.perf_counter() - self.wall

    def result(self, name):
        steps = self.trainer.steps - self.before
        speed, per_cpu_second = steps / self.seconds(), steps / (time.process_time() - self.cpu)
        return {"name": name, "value": round(speed, 1), "unit": "steps/s", "per_cpu_second": round(per_cpu_second, 1)}


def train(options):
    """A run of so many steps: its speed, and how it went."""
    name = name_of(options.world, options.drones, options.method)
    rate = options.lr or LEARNING_RATE[options.world]
    trainer = trainer_of(options.world, options.drones, options.method, options.seed, rate, options.warm_up)
    curve, clock = [], Clock(trainer)
    while trainer.steps < options.steps:
        trainer.iterate()
        if trainer.steps % options.every < EPISODES * STEPS:
            curve.append(trainer.progress())
            say(f"{name} {json.dumps(curve[-1])} {clock.result(name)['value']:.0f} steps/s")
    run = {"seed": options.seed, "lr": rate, "warm_up": options.warm_up, **trainer.progress(), "curve": curve}
    return clock.result(name), run


def measure(world, drones, method, options):
    """The speed over so many seconds, after 3 iterations."""
    trainer = trainer_of(world, drones, method, options.seed, options.lr or LEARNING_RATE[world], options.warm_up)
    for _ in range(3):
        trainer.iterate()
    clock = Clock(trainer)
    while clock.seconds() < options.seconds:
        trainer.iterate()
    result = clock.result(name_of(world, drones, method))
    say(describe(result))
    return result


def describe(result):
    return f"{result['name']:22} {result['value']:8.1f} steps/s  ({result['per_cpu_second']:.1f} per CPU second)"


def positive_number(text):
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("must be a positive number")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--world", choices=tuple(LEARNING_RATE), default="wildlife")
    parser.add_argument("--drones", type=positive, default=3, help="of wildlife (default 3)")
    parser.add_argument("--method", choices=("equivariant", "plain"), default="equivariant")
    parser.add_argument("--steps", type=positive, default=10_000, help="environment steps (default 10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lr", type=positive_number, help="learning rate (default 1e-3, traffic 1e-4)")
    parser.add_argument("--every", type=positive, default=2500, help="steps between lines of progress (default 2500)")
    parser.add_argument("--warm-up", type=int, default=0, metavar="N", help="0 to N random steps in each episode first")
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1, help="threads of PyTorch (default 1)")
    parser.add_argument("--all", action="store_true", help="measure the speed of all, each from its start")
    parser.add_argument("--only", default="", metavar="NAME", help="of --all, those with this in their name")
    parser.add_argument("--seconds", type=positive, default=20, help="for each of --all (default 20)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--self-test", action="store_true", help="compare with equimarl's worlds, do not train")
    options = parser.parse_args()
    if options.drones < 2:
        parser.error("--drones must be at least 2")
    if options.all and not any(options.only in name_of(*what) for what in MEASURED):
        parser.error(f"--only {options.only} is in none of " + ", ".join(name_of(*what) for what in MEASURED))
    if options.warm_up < 0:
        parser.error("--warm-up must not be negative")
    torch.set_num_threads(options.threads)
    if options.self_test:
        import self_test

        self_test.run()
        return
    report = {"results": [], "torch": torch.__version__, "threads": options.threads, "note": NOTE}
    if options.all:
        report["results"] = [measure(*what, options) for what in MEASURED if options.only in name_of(*what)]
    else:
        result, run = train(options)
        report |= {"results": [result], **run}
    if options.json:
        print(json.dumps(report))
        return
    print(f"PyTorch {torch.__version__}, {options.threads} thread(s); {NOTE}")
    for result in report["results"]:
        print(describe(result))


if __name__ == "__main__":
    main()
