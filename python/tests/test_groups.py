"""Groups, representations and bases as arrays."""

import doctest
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import equimarl
from equimarl import _core, basis, bias_basis, group, rep


@pytest.mark.parametrize(
    ("name", "order", "abelian"),
    [("C4", 4, True), ("D4", 8, False), ("S3", 6, False), ("C4 x C2", 8, True), ("perm[1 2 0; 1 0 2]", 6, False)],
)
def test_groups(name: str, order: int, abelian: bool) -> None:
    found = group(name)
    assert (found.order, len(found), found.abelian) == (order, order, abelian)
    assert len(set(found.names)) == order and found.elements == list(range(order))
    assert [found.element(name) for name in found.names] == found.elements
    table = found.table
    assert table.dtype == np.int64 and (table[0] == range(order)).all()
    # Rows and columns are permutations, products associate, inverses invert.
    assert (np.sort(table, 0).T == range(order)).all() and (np.sort(table, 1) == range(order)).all()
    assert (table[table] == table[:, table]).all()
    assert (table[found.elements, found.inverses] == 0).all()
    assert sorted(g for one in found.classes for g in one) == found.elements
    assert (len(found.classes) == order) == abelian
    assert pickle.loads(pickle.dumps(found)) == found and hash(group(name)) == hash(found)


@pytest.mark.parametrize(
    ("name", "text", "dim"),
    [
        ("C4", "regular", 4),
        ("D4", "8*regular + rotation", 66),
        ("C5", "rotation + rotation(2) + sign", None),
        ("D3", "rotation + sign", 3),
        ("S3", "natural + sign", 4),
        ("C4", "pixels(3)", 9),
        ("D4", "tensor(rotation, sign) + quotient(C2)", None),
    ],
)
def test_representations(name: str, text: str, dim: int | None) -> None:
    if dim is None and name == "C5":
        with pytest.raises(ValueError, match="sign"):
            rep(name, text)
        return
    found = rep(name, text)
    assert dim is None or found.dim == dim
    assert found.group == group(name)
    all_of_them, table = found.matrices(), found.group.table
    assert all_of_them.shape == (found.group.order, found.dim, found.dim)
    products = all_of_them[:, None] @ all_of_them[None]
    assert np.abs(products - all_of_them[table]).max() < 1e-12
    for g, element in enumerate(found.group.names):
        assert np.array_equal(found.matrices(g), all_of_them[g])
        assert np.array_equal(found.matrices(element), all_of_them[g])
    assert pickle.loads(pickle.dumps(found)) == found


PAIRS = [
    ("C4", "2*regular", "perm[0 4 1 2 3]"),
    ("D4", "regular + rotation", "regular + sign"),
    ("C3", "rotation + trivial", "regular"),
    ("D6", "rotation + rotation(2)", "2*rotation"),
    ("S3", "natural", "natural + sign"),
]


@pytest.mark.parametrize(("name", "inputs", "outputs"), PAIRS)
def test_bases_are_orthonormal_equivariant_and_complete(name: str, inputs: str, outputs: str) -> None:
    rep_in, rep_out = rep(name, inputs), rep(name, outputs)
    maps = basis(rep_in, rep_out)
    assert maps.dtype == np.float64 and maps.shape[1:] == (rep_out.dim, rep_in.dim)
    flat = maps.reshape(len(maps), -1)
    assert np.abs(flat @ flat.T - np.eye(len(flat))).max() < 1e-12
    moved_in, moved_out = rep_in.matrices(), rep_out.matrices()
    for g in range(len(moved_in)):
        assert np.abs(maps @ moved_in[g] - moved_out[g] @ maps).max() < 1e-12
    # As many as the characters say.
    characters = [np.trace(m, axis1=1, axis2=2) for m in (moved_in, moved_out)]
    assert len(maps) == pytest.approx(np.mean(characters[0] * characters[1]))
    # Averages over the group are made of them.
    anything = np.random.default_rng(0).normal(size=(rep_out.dim, rep_in.dim))
    mean = np.mean(moved_out @ anything @ np.linalg.inv(moved_in), axis=0).ravel()
    assert np.abs(flat.T @ (flat @ mean) - mean).max() < 1e-12


@pytest.mark.parametrize("kernel", [1, 3, 4])
def test_filters_turn_along(kernel: int) -> None:
    rep_in, rep_out = rep("C4", "trivial + rotation"), rep("C4", "regular")
    filters = basis(rep_in, rep_out, kernel=kernel)
    assert filters.shape[1:] == (4, 3, kernel, kernel)
    turned = np.rot90(filters, axes=(3, 4))
    back = np.einsum("ij,njkpq,kl->nilpq", rep_out.matrices("r"), turned, rep_in.matrices("r3"))
    assert np.abs(back - filters).max() < 1e-12
    flat = filters.reshape(len(filters), -1)
    assert np.abs(flat @ flat.T - np.eye(len(flat))).max() < 1e-12


def test_biases() -> None:
    found = rep("D4", "2*regular + rotation + trivial")
    biases = bias_basis(found)
    assert biases.shape == (3, 19)
    assert np.abs(biases @ biases.T - np.eye(3)).max() < 1e-12
    assert np.abs(found.matrices() @ biases.T - biases.T).max() < 1e-12


def test_mistakes() -> None:
    c4, d4 = rep("C4", "regular"), rep("D4", "regular")
    mistakes: list[tuple[Callable[[], Any], str]] = [
        (lambda: group("Q8"), "cannot read the group `Q8`"),
        (lambda: group("C99999"), "too large"),
        (lambda: rep("C4", "2*"), "cannot read"),
        (lambda: basis(c4, d4), "belong to different groups, C4 and D4"),
        (lambda: basis(rep("C2", "sign"), rep("C2", "trivial")), "the only equivariant map .* is zero"),
        (lambda: basis(rep("C4", "999*regular"), rep("C4", "999*regular")), "too many to write out"),
        (lambda: c4.matrices("m"), "C4 has no element `m`; it has e, r, r2, r3"),
        (lambda: c4.matrices(4), "C4 has the elements 0 to 3, not 4"),
    ]
    for call, text in mistakes:
        with pytest.raises(ValueError, match=text):
            call()
    assert c4 != d4 and group("C4") != group("D4") and group("C4") != "C4"


def test_examples_of_compiled_classes() -> None:
    found = doctest.testmod(_core, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 5 and not found.failed
    assert equimarl.Group is _core.Group
