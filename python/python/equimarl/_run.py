"""Run folders, and figures of them."""

import json
import tomllib
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core

if TYPE_CHECKING:
    from ._team import Team


class Figure:
    """A figure. Notebooks show it, and `save` writes it as SVG, PDF or PNG, by the name's ending."""

    def __init__(self, places: list[str]) -> None:
        self._places = places
        self._svg = self._as("svg").decode()

    def _as(self, kind: Literal["svg", "pdf", "png"]) -> bytes:
        return _core.curves(self._places, kind)

    @property
    def svg(self) -> str:
        """The figure as SVG."""
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def save(self, path: str | PathLike[str]) -> "Figure":
        """Writes it to a file."""
        path = Path(path)
        kind = path.suffix[1:]
        if kind not in ("svg", "pdf", "png"):
            raise ValueError(f"a figure is .svg, .pdf or .png; {path} is neither")
        # Text is what it was when the figure was made; the others are drawn from the same curves.
        path.write_bytes(self._svg.encode() if kind == "svg" else self._as(kind))  # type: ignore[arg-type]
        return self


class Run:
    """A run folder, whoever trained in it: this package, or the program.

    >>> import equimarl, tempfile
    >>> run = equimarl.train("wildlife", "plain", drones=2, grid=5, steps=2048, out=tempfile.mkdtemp() + "/a", evaluate_episodes=10)
    >>> sorted(run.curve())[:4]
    ['approx_kl', 'clip_fraction', 'entropy', 'episodes']
    >>> run.plot().svg[:4]
    '<svg'
    >>> run.team()
    Team('wildlife', plain, ... parameters)
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        if not (self.path / "config.toml").exists():
            what = "there is no such folder" if not self.path.exists() else "it has no config.toml"
            raise FileNotFoundError(f"{self.path} holds no run: {what}. equimarl.train makes runs")

    @property
    def config(self) -> dict[str, Any]:
        """All settings."""
        return tomllib.loads((self.path / "config.toml").read_text("utf-8"))

    @property
    def finished(self) -> bool:
        """Whether all its steps are done."""
        return (self.path / "summary.json").exists()

    @property
    def summary(self) -> dict[str, Any]:
        """How it ended, with its last evaluation; empty while it has not."""
        if not self.finished:
            return {}
        summary: dict[str, Any] = json.loads((self.path / "summary.json").read_text("utf-8"))
        return summary

    def curve(self) -> dict[str, NDArray[np.float64]]:
        """The learning curve: an array per name (``steps``, ``return``, ``entropy``, ...), with a number per line."""
        lines = []
        if (self.path / "metrics.jsonl").exists():
            with open(self.path / "metrics.jsonl", encoding="utf-8") as file:
                for line in file:
                    # A run that is being written may end with half a line.
                    if line.endswith("\n"):
                        lines.append(json.loads(line))
        lines = [line for line in lines if "evaluation" not in line]
        names = {name: None for line in lines for name in line}
        value = {None: np.nan}
        return {name: np.array([value.get(x := line.get(name), x) for line in lines], np.float64) for name in names}

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Its learning curve, also written to a file if one is named. `equimarl.plot` draws several runs."""
        return plot(self, path=path)

    def team(self) -> "Team":
        """The team, trained so far."""
        from ._team import load

        return load(self)

    def __repr__(self) -> str:
        return f"Run({fspath(self.path)!r})"


def plot(
    *runs: str | PathLike[str] | Run | Iterable[str | PathLike[str] | Run], path: str | PathLike[str] | None = None
) -> Figure:
    """Learning curves of runs in one world: a curve per method, the median of its seeds with a band of quartiles.

    A place may be a run, its folder, or a folder with runs below. It needs no other package.

    >>> import equimarl, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for method in ["equivariant", "plain"]:
    ...     run = equimarl.train(
    ...         "wildlife", method, drones=2, grid=5, steps=2048, out=f"{folder}/{method}", evaluate_episodes=10
    ...     )
    >>> figure = equimarl.plot(folder, path=folder + "/curves.png")
    >>> "equivariant" in figure.svg and "plain" in figure.svg
    True
    """
    places = [place for run in runs for place in _places(run)]
    if not places:
        raise ValueError("there is nothing to plot: give runs, or folders with runs")
    figure = Figure(places)
    return figure if path is None else figure.save(path)


def _places(run: str | PathLike[str] | Run | Iterable[str | PathLike[str] | Run]) -> list[str]:
    if isinstance(run, Run):
        return [fspath(run.path)]
    if isinstance(run, (str, PathLike)):
        return [fspath(run)]
    return [place for one in run for place in _places(one)]
