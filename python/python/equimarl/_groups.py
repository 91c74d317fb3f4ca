"""Groups, representations, and the maps between them that commute with the group."""

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import Group, Rep


def group(name: str | Group) -> Group:
    """A finite group by its name.

    ``C4`` turns a square, ``D4`` mirrors it, too, ``S3`` permutes three things; products are written ``C4 x C2``, and
    generators ``perm[1 2 0; 1 0 2]`` or ``matrix[0 -1, 1 0]``.

    >>> import equimarl
    >>> c4 = equimarl.group("C4")
    >>> c4.names
    ['e', 'r', 'r2', 'r3']
    >>> c4.table
    array([[0, 1, 2, 3],
           [1, 2, 3, 0],
           [2, 3, 0, 1],
           [3, 0, 1, 2]])
    >>> equimarl.group("C4 x")
    Traceback (most recent call last):
    ValueError: cannot read the group `C4 x`: ...
    """
    if not isinstance(name, str | Group):
        raise TypeError(f"a group is named by text such as \"C4\", not by {name!r}")
    return name if isinstance(name, Group) else Group(name)


def rep(group: str | Group, text: str) -> Rep:
    """A representation of a group, as a sum of named ones.

    There are ``trivial``, ``sign``, ``regular``, ``rotation``, ``rotation(2)``, ``quotient(C2)``, ``natural``, ``pixels(5)``,
    ``perm[0 4 1 2 3]`` and ``matrix[0 -1, 1 0]`` (one per generator), ``dual(...)`` and ``tensor(..., ...)``.

    >>> import equimarl
    >>> equimarl.rep("D4", "8*regular + rotation").dim
    66
    >>> equimarl.rep("C4", "perm[1 2 0]")
    Traceback (most recent call last):
    ValueError: `perm[1 2 0]` is not a representation of C4: rho(r) rho(r3) = perm[1 2 0] but rho(r r3) = rho(e) = ...
    """
    return Rep(group if isinstance(group, Group) else Group(group), text)


def rep_text(rep: Rep) -> str:
    """A representation as it was written."""
    return rep.__getnewargs__()[1]


def declared_rep(group: Group, what: str, given: str | Rep) -> Rep:
    """A representation that somebody declared under this name."""
    if isinstance(given, Rep):
        if given.group != group:
            raise ValueError(f"`{what}` is a representation of {given.group.name}, and the group is {group.name}")
        return given
    if not isinstance(given, str):
        raise TypeError(f"`{what}` must be a representation, as text or as equimarl.Rep, not {type(given).__name__}")
    try:
        return Rep(group, given)
    except ValueError as error:
        raise ValueError(f"`{what}` is `{given}`: {error}") from None


def basis(rep_in: Rep, rep_out: Rep, kernel: int | None = None) -> NDArray[np.float64]:
    """All equivariant maps between two representations: an orthonormal basis, as an array [rank, out, in].

    Every W that is a sum of these commutes with the group, W rho_in(g) = rho_out(g) W, and there are no others. With
    ``kernel=k`` it is a basis of filters of k x k pixels that turn along with the group, [rank, out, in, k, k].

    >>> import equimarl, numpy as np
    >>> features = equimarl.rep("C4", "2*regular")
    >>> moves = equimarl.rep("C4", "perm[0 4 1 2 3]")
    >>> maps = equimarl.basis(features, moves)
    >>> maps.shape  # 10 free numbers instead of 40
    (10, 5, 8)
    >>> turned = moves.matrices("r") @ maps - maps @ features.matrices("r")
    >>> bool(np.abs(turned).max() < 1e-12)
    True
    >>> equimarl.basis(features, features, kernel=5).shape
    (400, 8, 8, 5, 5)
    """
    return _core.basis(rep_in, rep_out, kernel)


def bias_basis(rep: Rep) -> NDArray[np.float64]:
    """All vectors that the group leaves alone, as an orthonormal basis [rank, dim]: biases that keep equivariance.

    >>> import equimarl
    >>> equimarl.bias_basis(equimarl.rep("C4", "regular"))
    array([[0.5, 0.5, 0.5, 0.5]])
    >>> equimarl.bias_basis(equimarl.rep("C4", "rotation")).shape  # a turned arrow is another arrow
    (0, 2)
    """
    return _core.bias_basis(rep)
