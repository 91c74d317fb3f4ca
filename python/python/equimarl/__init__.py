"""Teams of agents that learn from symmetry.

- `Batch`: thousands of environments of a world at once, in NumPy arrays that are written in place.
- `equimarl.zoo`: the same worlds for PettingZoo (``pip install equimarl[zoo]``).
- `train`, `resume`, `load`, `plot`: teams that learn, in these worlds or in any PettingZoo environment with a `Spec`.
- `group`, `rep`, `basis`, `bias_basis`: finite groups, their representations, and all maps that commute with them.
- `audit`, `GroupAction`: is an environment, ours or anybody's, as symmetric as somebody says?
- `equimarl.torch`: equivariant layers for PyTorch, and our models in it (``pip install equimarl[torch]``).
- `worlds`: what worlds there are, and their options.

>>> import equimarl
>>> batch = equimarl.Batch("wildlife", drones=4, num_envs=16, seed=0)
>>> batch.reset().shape
(16, 4, 1, 21, 21)
"""

from importlib import import_module
from types import ModuleType

from ._audit import AuditReport, Counterexample, ElementReport, GroupAction, audit, moves
from ._batch import Batch, Infos
from ._core import Group, Rep
from ._groups import basis, bias_basis, group, rep
from ._run import Figure, Run, plot
from ._spec import Spec
from ._team import Team, load
from ._train import Update, resume, train
from ._worlds import Option, WorldInfo, worlds

__all__ = [
    "AuditReport",
    "Batch",
    "Counterexample",
    "ElementReport",
    "Figure",
    "Group",
    "GroupAction",
    "Infos",
    "Option",
    "Rep",
    "Run",
    "Spec",
    "Team",
    "Update",
    "WorldInfo",
    "audit",
    "basis",
    "bias_basis",
    "group",
    "load",
    "moves",
    "plot",
    "rep",
    "resume",
    "train",
    "worlds",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> ModuleType:
    """Modules that need more than NumPy are imported when somebody asks for them."""
    if name in ("torch", "zoo"):
        return import_module(f"equimarl.{name}")
    raise AttributeError(f"module 'equimarl' has no attribute {name!r}")
