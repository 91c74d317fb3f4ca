"""Which environments are ours."""

import sys
from typing import Any

from . import _core
from ._batch import Batch


def own_envs(env: Any) -> _core.Envs | None:
    """The environments that a `Batch` or an environment of `equimarl.zoo` is made of; None of anybody else's.

    A wrapper hands on attributes of what it wraps, and a subclass may change what a step does: they are other environments.
    """
    zoo = sys.modules.get("equimarl.zoo")
    envs = env._envs if type(env) is Batch or (zoo is not None and type(env) is zoo.World) else None
    return envs if isinstance(envs, _core.Envs) else None
