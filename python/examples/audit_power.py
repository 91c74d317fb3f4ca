"""What the statistical audit finds, and how often it is wrong: the numbers of docs/python-audit.md.

    python examples/audit_power.py level [--audits 200]     alarms in audits of symmetric environments
    python examples/audit_power.py power [--audits 20]      episodes needed against the size of a break

Both print a table in Markdown; `power --figure FILE` also writes it as an SVG figure.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from pond import MOVES, Pond

from equimarl import GroupAction, audit

SIZES = {
    "wind": ("everybody drifts, in steps per step", (0.1, 0.2, 0.4)),
    "uneven": ("moves to the right are longer by", (0.2, 0.4, 0.8)),
    "favour": ("reward per place to the right", (0.4, 0.8, 1.6)),
}
EPISODES = (20, 40, 80, 160, 320)


def symmetric() -> Iterator[tuple[str, Callable[[], Any], Any]]:
    """Environments that are symmetric, and how."""
    d4 = GroupAction("D4", observations="2*rotation", actions=MOVES)
    yield "pond, D4", lambda: Pond(length=5), d4
    three = GroupAction("C4", observations="3*rotation", actions=MOVES)
    yield "pond of three boats, C4", lambda: Pond(3, length=5), three
    smooth = GroupAction("D4", observations="2*rotation", actions="rotation")
    yield "pond with continuous actions, D4", lambda: Pond(length=5, continuous=True), smooth
    swapped = {"r": {"boat_0": "boat_1", "boat_1": "boat_0"}}
    exchange = GroupAction("C2", observations="4*trivial", actions="5*trivial", agents=swapped)
    yield "pond with exchanged boats, C2", lambda: Pond(length=5), exchange
    try:
        from equimarl import zoo
    except ImportError:
        return
    yield "wildlife, D4", lambda: zoo.parallel_env("wildlife", drones=2), "D4"


def level(audits: int) -> None:
    """How often something symmetric is refuted."""
    cases = list(symmetric())
    each, total, alarms = audits // len(cases), 0, 0
    print("| environment | audits | alarms |\n|---|---|---|")
    for case, (name, make, action) in enumerate(cases):
        # Every audit has a seed of its own: equal seeds would give environments that are nearly the same the same luck.
        found = sum(
            audit(make(), action, tier="statistical", episodes=60, max_steps=5, seed=seed).refuted
            for seed in range(case * each, (case + 1) * each)
        )
        total, alarms = total + each, alarms + found
        print(f"| {name} | {each} | {found} |", flush=True)
    print(f"| together | {total} | {alarms} |")


def found(kind: str, size: float, episodes: int, seed: int) -> bool:
    """Whether an audit finds this break: in the dynamics, where it is. A false alarm about the start is none."""
    action = GroupAction("C4", observations="2*rotation", actions=MOVES)
    broken: dict[str, Any] = {kind: size}
    return audit(Pond(length=5, **broken), action, episodes=episodes, seed=seed, permutations=299).verdict == "refuted"


def power(audits: int, figure: str | None, only: str | None) -> None:
    """How often a break is found, by its size and the number of episodes."""
    print(f"| break | size | {' | '.join(map(str, EPISODES))} | needed |\n|---|---|{'---|' * (len(EPISODES) + 1)}")
    curves: dict[str, dict[float, list[float]]] = {}
    for kind, (about, sizes) in SIZES.items():
        for size in sizes if only in (None, kind) else ():
            shares: list[float] = []
            for episodes in EPISODES:
                # What was always found with fewer is not tried with more.
                always = len(shares) >= 2 and shares[-1] == shares[-2] == 1.0
                shares.append(1.0 if always else sum(found(kind, size, episodes, k) for k in range(audits)) / audits)
            curves.setdefault(kind, {})[size] = shares
            needed = next((str(n) for n, share in zip(EPISODES, shares, strict=True) if share >= 0.8), f"> {EPISODES[-1]}")
            print(f"| {about} | {size:g} | {' | '.join(f'{share:.0%}' for share in shares)} | {needed} |", flush=True)
    if figure is not None:
        Path(figure).write_text(drawn(curves))


def drawn(curves: dict[str, dict[float, list[float]]]) -> str:
    """One panel per kind of break: share of audits that find it against episodes, on a logarithmic axis."""
    width, height, left, top = 250, 200, 46, 30
    blues = ["#9ecae1", "#4292c6", "#08519c"]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(curves) * (width + 30) + left} {height + 80}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for panel, (kind, lines) in enumerate(curves.items()):
        x0 = left + panel * (width + 30)

        def x(k: int, x0: int = x0) -> float:
            return x0 + k * (width - 40) / (len(EPISODES) - 1)

        def y(share: float) -> float:
            return top + (1 - share) * height

        out.append(f'<text x="{x0}" y="18" font-size="13">{kind}</text>')
        for share in (0.0, 0.5, 0.8, 1.0):
            out.append(f'<line x1="{x0}" x2="{x(len(EPISODES) - 1)}" y1="{y(share)}" y2="{y(share)}" stroke="#ddd"/>')
            if panel == 0:
                out.append(f'<text x="{x0 - 6}" y="{y(share) + 4}" text-anchor="end">{share:.0%}</text>')
        for k, episodes in enumerate(EPISODES):
            out.append(f'<text x="{x(k)}" y="{top + height + 16}" text-anchor="middle">{episodes}</text>')
        for (size, shares), colour in zip(lines.items(), blues, strict=False):
            points = " ".join(f"{x(k):.1f},{y(share):.1f}" for k, share in enumerate(shares))
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            out.append(f'<text x="{x(len(EPISODES) - 1) + 3}" y="{y(shares[-1]) + 4}" fill="{colour}">{size:g}</text>')
        out.append(f'<text x="{x0 + width / 2 - 20}" y="{top + height + 36}" text-anchor="middle">episodes</text>')
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["level", "power"])
    parser.add_argument("--audits", type=int)
    parser.add_argument("--figure", help="where to write the figure of `power`")
    parser.add_argument("--only", choices=list(SIZES), help="one kind of break")
    given = parser.parse_args()
    if given.what == "level":
        level(given.audits or 200)
    else:
        power(given.audits or 20, given.figure, given.only)


if __name__ == "__main__":
    main()
