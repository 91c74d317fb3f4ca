"""What worlds there are."""

from dataclasses import dataclass

from . import _core


@dataclass(frozen=True)
class Option:
    """An option of a world: a keyword argument."""

    name: str
    about: str
    usual: bool | int | float | str


@dataclass(frozen=True)
class WorldInfo:
    """A world that can be made by its name."""

    name: str
    about: str
    version: int
    options: tuple[Option, ...]


def worlds() -> list[WorldInfo]:
    """All worlds with their options.

    >>> import equimarl
    >>> for world in equimarl.worlds()[:4]:
    ...     print(world.name, {option.name: option.usual for option in world.options})
    wildlife {'drones': 3, 'grid': 7, 'wind': 0.0, 'wind_from': 'west'}
    traffic {'rows': 2, 'cols': 2, ...}
    spread {'agents': 3, ...}
    tag {'chasers': 3, ...}
    """
    return [
        WorldInfo(w["name"], w["about"], w["version"], tuple(Option(*option) for option in w["options"]))
        for w in _core.worlds()
    ]
