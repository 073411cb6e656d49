"""Molecule kernels and packed similarities, against RDKit and by definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import rkhs
from rkhs._core.errors import InputError, MissingExtraError
from rkhs.data import load_molecules, molecular_fingerprints
from rkhs.kernels import MinMax, MoleculeKernel, MoleculeTanimoto, Normalized, Tanimoto
from rkhs.kernels.vectors.discrete import pack_counts, packed_jaccard

SMILES = list(load_molecules().smiles[:40])


@pytest.fixture
def chem():
    return pytest.importorskip("rdkit.Chem", reason="molecules need RDKit (extra `chem`)")


# ---------------------------------------------------------------- packed words


def minmax(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    low = np.minimum(A[:, None], B[None]).sum(-1)
    high = np.maximum(A[:, None], B[None]).sum(-1)
    return np.where(high > 0, low / np.maximum(high, 1e-300), 1.0)


def test_items_without_anything_are_like_each_other_and_like_nothing_else() -> None:
    X = np.zeros((5, 4))
    X[3:] = [[0.5, 1.0, 0.0, 2.0], [1.5, 0.0, 0.0, 2.0]]  # no whole numbers: nothing is packed
    for K in (Tanimoto()(X), Tanimoto()(X, X.copy())):
        np.testing.assert_array_equal(K[:3, :3], np.ones((3, 3)))
        np.testing.assert_array_equal(K[:3, 3:], np.zeros((3, 2)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("top", [1, 5, 64])
def test_packed_counts_are_minima_over_maxima(top: int, threads: int) -> None:
    rng = np.random.default_rng(top)
    A, B = rng.integers(0, top + 1, size=(37, 19)), rng.integers(0, top + 1, size=(21, 19))
    A[rng.random(A.shape) < 0.5] = 0
    A[3] = B[2] = A[5] = 0
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        left, right = pack_counts(A, B)
        np.testing.assert_allclose(packed_jaccard(left, right), minmax(A, B), rtol=1e-15)
        np.testing.assert_allclose(packed_jaccard(left), minmax(A, A), rtol=1e-15)
        kernel = MinMax() if top > 1 else Tanimoto()
        np.testing.assert_allclose(kernel(A, B), minmax(A, B), rtol=1e-12)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("bad", [0.5, -1.0, 65.0])
def test_other_numbers_are_not_packed(bad: float) -> None:
    A = np.ones((4, 3))
    A[3, 1] = bad
    assert pack_counts(A) is None


def test_the_packed_route_gives_the_values_of_the_product() -> None:
    X = load_molecules().fingerprints[:100].astype(float)
    K = Tanimoto()(X)
    P = X @ X.T
    a = X.sum(1)
    np.testing.assert_allclose(K, P / (a[:, None] + a - P), rtol=1e-14)
    assert Tanimoto()(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(Tanimoto()(2.0 * X), K, rtol=1e-14)  # the route for other numbers


# ---------------------------------------------------------------- molecules


@pytest.mark.parametrize("fingerprint", ["morgan", "path", "maccs"])
@pytest.mark.parametrize("counts", [False, True])
def test_values_are_those_of_rdkit(chem, fingerprint: str, counts: bool) -> None:
    from rdkit import DataStructs
    from rdkit.Chem import MACCSkeys, rdFingerprintGenerator

    if fingerprint == "maccs":
        if counts:
            with pytest.raises(InputError, match="counts must be False for MACCS"):
                MoleculeTanimoto("maccs", counts=True)(SMILES)
            return
        compute = MACCSkeys.GenMACCSKeys
    else:
        make = {
            "morgan": rdFingerprintGenerator.GetMorganGenerator(radius=3, fpSize=1024),
            "path": rdFingerprintGenerator.GetRDKitFPGenerator(fpSize=1024),
        }[fingerprint]
        compute = make.GetCountFingerprint if counts else make.GetFingerprint
    prints = [compute(chem.MolFromSmiles(text)) for text in SMILES]
    expected = np.array([DataStructs.BulkTanimotoSimilarity(one, prints) for one in prints])
    kernel = MoleculeTanimoto(fingerprint, counts=counts, radius=3, n_bits=1024)
    np.testing.assert_allclose(kernel(SMILES), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(SMILES[:7], SMILES), expected[:7], rtol=1e-13)


def test_the_product_formula_is_tanimoto_of_counts(chem) -> None:
    counts = molecular_fingerprints(SMILES, counts=True).bits
    assert counts.dtype == np.uint16
    expected = Tanimoto()(counts.astype(float))
    np.testing.assert_allclose(MoleculeTanimoto(counts=True, formula="product")(SMILES), expected, rtol=1e-14)


def counts_of_five_kinds(chem, text: str) -> list[dict[int, int]]:
    from rdkit.Chem import AllChem, rdMolDescriptors

    molecule = chem.MolFromSmiles(text)
    return [
        rdMolDescriptors.GetMorganFingerprint(molecule, 2).GetNonzeroElements(),
        rdMolDescriptors.GetMorganFingerprint(molecule, 3).GetNonzeroElements(),
        rdMolDescriptors.GetAtomPairFingerprint(molecule).GetNonzeroElements(),
        rdMolDescriptors.GetTopologicalTorsionFingerprint(molecule).GetNonzeroElements(),
        AllChem.UnfoldedRDKFingerprintCountBased(molecule).GetNonzeroElements(),
    ]


def slow_minmax(a: dict[int, int], b: dict[int, int]) -> float:
    keys = {*a, *b}
    high = sum(max(a.get(key, 0), b.get(key, 0)) for key in keys)
    return sum(min(a.get(key, 0), b.get(key, 0)) for key in keys) / high if high else 1.0


def test_the_mean_of_five_kernels_is_that_of_its_definition(chem) -> None:
    texts = [*SMILES[:12], "C", "O", "CC"]  # single atoms have no pairs, torsions and paths
    found = [counts_of_five_kinds(chem, text) for text in texts]
    expected = np.array([[np.mean([*map(slow_minmax, x, y)]) for y in found] for x in found])
    kernel = MoleculeKernel()
    np.testing.assert_allclose(kernel(texts), expected, rtol=1e-14)
    np.testing.assert_allclose(kernel(texts[:3], texts), expected[:3], rtol=1e-14)
    np.testing.assert_array_equal(kernel(texts), kernel([chem.MolFromSmiles(text) for text in texts]))


def test_a_regressor_of_molecules_by_name_is_kept_as_smiles(chem, tmp_path) -> None:
    y = np.array([float(chem.MolFromSmiles(text).GetNumAtoms()) for text in SMILES])
    model = rkhs.OperatorKernelRegressorCV("molecules", regs=[1e-4, 1e-2]).fit(SMILES[:30], y[:30])
    assert model.score(SMILES[30:], y[30:]) > 0.5
    rkhs.save(model.estimator_, tmp_path / "m.rkhs")
    loaded = rkhs.load(tmp_path / "m.rkhs")
    np.testing.assert_array_equal(loaded.predict(SMILES[30:]), model.predict(SMILES[30:]))
    with pytest.raises(
        InputError, match=r"MoleculeKernel reads SMILES .*1 of 2 .*item 1 \('C1CC': not a valid SMILES\)"
    ):
        loaded.predict(["CC", "C1CC"])


def test_molecules_go_in_as_objects_and_come_back(chem, tmp_path) -> None:
    molecules = [chem.MolFromSmiles(text) for text in SMILES]
    settings = {"kernel": MoleculeTanimoto(), "reg": 1e-3, "max_iter": 20, "tol": 1e-2}
    model = rkhs.KernelAutoencoder(3, **settings).fit(molecules[:30])
    again = rkhs.KernelAutoencoder(3, **settings).fit(SMILES[:30])
    np.testing.assert_allclose(model.codes_, again.codes_)
    codes = model.transform(molecules[30:])
    np.testing.assert_allclose(codes, model.transform(SMILES[30:]))
    ranking = model.decode(model.codes_, molecules[:30])
    assert (ranking.indices[:, :5] == np.arange(30)[:, None]).any(1).mean() > 0.5
    rkhs.save(model, tmp_path / "m.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m.rkhs").transform(molecules[30:]), codes)


def test_sums_and_wrappers_read_molecules(chem) -> None:
    molecules = [chem.MolFromSmiles(text) for text in SMILES[:12]]
    kernel = 0.5 * MoleculeTanimoto() + Normalized(MoleculeTanimoto("path"))
    expected = 0.5 * MoleculeTanimoto()(SMILES[:12]) + MoleculeTanimoto("path")(SMILES[:12])
    np.testing.assert_allclose(kernel(molecules), expected, rtol=1e-14)
    assert rkhs.KernelPCA(2, kernel=kernel).fit(molecules).codes_.shape == (12, 2)


def test_training_features_are_computed_once_and_follow_parameters(chem, monkeypatch) -> None:
    calls = []
    original = MoleculeTanimoto._features
    monkeypatch.setattr(
        MoleculeTanimoto, "_features", lambda self, items: calls.append(len(items)) or original(self, items)
    )
    model = rkhs.KernelPCA(2, kernel=MoleculeTanimoto()).fit(SMILES)
    model.transform(SMILES[:3])
    model.transform(SMILES[:4])
    assert calls == [40, 3, 4]
    kernel, items = MoleculeTanimoto(), list(SMILES)
    K = kernel._gram(items)
    assert not torch.equal(kernel.set_params(radius=1)._gram(items), K)


def test_unreadable_molecules_are_named(chem) -> None:
    with pytest.raises(InputError, match=r"2 of 4 that it does not: item 1 \('C1CC': .*item 3 \('': missing\)"):
        MoleculeTanimoto()(["CC", "C1CC", "O", ""])
    with pytest.raises(InputError, match="item 1 is a NoneType"):
        MoleculeTanimoto()(["CC", None])
    with pytest.raises(InputError, match="item 1"):
        rkhs.KernelAutoencoder(1, kernel=MoleculeTanimoto()).fit(["CC", "C1CC", "O"])
    result = molecular_fingerprints(["CC", "C1CC", chem.MolFromSmiles("O")], fingerprint="maccs", on_error="skip")
    assert result.bits.shape == (2, 167)
    assert result.kept.tolist() == [0, 2]
    assert [(bad.row, bad.reason) for bad in result.skipped] == [(2, "not a valid SMILES")]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fingerprint": "ecfp"}, "MoleculeTanimoto.fingerprint must be one of"),
        ({"counts": 1}, "MoleculeTanimoto.counts must be True or False"),
        ({"radius": -1}, "MoleculeTanimoto.radius must be an integer from 0 to 100"),
        ({"n_bits": 0}, "MoleculeTanimoto.n_bits must be an integer from 1 to 16777216"),
        ({"formula": "dice"}, "MoleculeTanimoto.formula must be one of"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    with pytest.raises(InputError, match=message):
        MoleculeTanimoto(**parameters)(["CC"])


def test_a_missing_package_names_the_extra(monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "rdkit.rdBase", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rkhs\[chem\]"'):
        MoleculeTanimoto()(["CC"])


def test_sizes_of_numpy_are_sizes(chem) -> None:
    for fingerprint in ("morgan", "path"):
        kernel = MoleculeTanimoto(fingerprint, radius=np.int64(3), n_bits=np.int64(512))
        twin = MoleculeTanimoto(fingerprint, radius=3, n_bits=512)
        np.testing.assert_array_equal(kernel(SMILES[:5]), twin(SMILES[:5]))
