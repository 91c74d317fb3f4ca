"""Two methods on the same environment, three seeds each, and the figure.

    python examples/python/compare.py

The figure is equimarl's own and needs no other package; `equimarl report runs/compare` makes a whole page of the same runs, with
intervals and probabilities of improvement.
"""

import argparse

from own_environment import SPEC, Meadow

import equimarl

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=40_000)
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--out", default="runs/compare")
asked = parser.parse_args()

for method in ("equivariant", "plain"):
    for seed in range(1, asked.seeds + 1):
        run = equimarl.train(
            Meadow(), method, spec=SPEC, steps=asked.steps, seed=seed, evaluate_every=0, out=f"{asked.out}/{method}-{seed}"
        )
        print(f"{method}, seed {seed}: {run.summary['evaluation']['greedy']['return']['mean']:.3f}")

equimarl.plot(asked.out, path="curves.svg")
print("the learning curves are in curves.svg")

try:
    import matplotlib.pyplot as plt
except ImportError:
    pass  # it is only another way to draw them
else:
    for method, colour in (("equivariant", "C0"), ("plain", "C1")):
        for seed in range(1, asked.seeds + 1):
            curve = equimarl.Run(f"{asked.out}/{method}-{seed}").curve()
            plt.plot(curve["steps"], curve["return"], colour, label=method if seed == 1 else None)
    plt.xlabel("environment steps")
    plt.ylabel("mean return of 100 episodes")
    plt.legend()
    plt.savefig("curves-matplotlib.png")
