"""What an audit found, in words."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

_HOW: dict[str, str] = {
    "exact": "exact: states were set and transformed, every step with every element",
    "deterministic": "exact for deterministic environments: episodes from transformed starts, step by step",
    "statistical": "statistical: random episodes against transformed random episodes",
}
_NEVER = (
    "A p-value never proves symmetry: what is not refuted may still be broken, by less than so many episodes show or where "
    "random actions do not lead."
)
_AS_FAR = "What holds was not found broken in so many steps; states that random actions do not reach were not tried."


@dataclass(frozen=True)
class Counterexample:
    """Where a symmetry fails."""

    text: str
    """What is wrong, to be read."""
    step: int | None = None
    """The number of steps before it was found."""
    state: Any = None
    """The state before the step, or that of the start, if the environment has states."""
    actions: Any = None
    """What agents did: in that step, or from the start on."""


@dataclass(frozen=True)
class ElementReport:
    """What an audit found for one group element."""

    element: str
    """Its name."""
    verdict: Literal["holds", "not refuted", "refuted", "start not symmetric"]
    """What it came to."""
    text: str
    """The same, in words."""
    p_value: float | None = None
    """Of the statistical tier, corrected for how much was tested; None if nothing was tested."""
    counterexample: Counterexample | None = None
    """Of what was refuted: where."""


@dataclass(frozen=True)
class AuditReport:
    """What an audit found. Print it: it says everything in words.

    `verdict` is the worst of all elements: ``"refuted"``, ``"start not symmetric"`` (then the dynamics were not tested),
    ``"not refuted"`` (statistical, which proves nothing) or ``"holds"`` (as far as the steps went).
    """

    group: str
    """The group."""
    tier: Literal["exact", "deterministic", "statistical"]
    """How it was tested."""
    elements: tuple[ElementReport, ...]
    """What was found for every group element."""
    amount: str
    """How much was tried."""
    notes: tuple[str, ...] = ()
    """What else is worth knowing: why no stricter tier was used."""

    @property
    def verdict(self) -> Literal["holds", "not refuted", "refuted", "start not symmetric"]:
        """The worst of all elements."""
        worst = ("refuted", "start not symmetric", "not refuted", "holds")
        return min((one.verdict for one in self.elements), key=worst.index)

    @property
    def refuted(self) -> bool:
        """Whether something is not symmetric: the dynamics, or the start."""
        return self.verdict in ("refuted", "start not symmetric")

    def element(self, name: str) -> ElementReport:
        """What was found for an element."""
        for one in self.elements:
            if one.element == name:
                return one
        raise ValueError(f"{self.group} has no element {name!r}; it has {', '.join(one.element for one in self.elements)}")

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {"verdict": self.verdict, "refuted": self.refuted, **_plain(asdict(self))}

    def __str__(self) -> str:
        lines = [f"{self.group}, {_HOW[self.tier]}", f"({self.amount})", ""]
        width = max(len(one.element) for one in self.elements)
        lines += [f"{one.element:<{width}}  {one.text}" for one in self.elements]
        lines += ["", *self.notes]
        lines += [_NEVER if self.tier == "statistical" else _AS_FAR]
        return "\n".join(lines)


def _plain(one: Any) -> Any:
    """The same without arrays and the like, so that JSON can hold it; what a state has besides that, as text."""
    if isinstance(one, dict):
        return {key if isinstance(key, str) else str(key): _plain(value) for key, value in one.items()}
    if isinstance(one, list | tuple):
        return [_plain(value) for value in one]
    if isinstance(one, np.ndarray | np.generic):
        return _plain(one.tolist())
    return one if one is None or isinstance(one, bool | int | float | str) else repr(one)
