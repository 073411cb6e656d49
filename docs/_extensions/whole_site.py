"""A folder of the site for each version, a page above that leads to the newest, and words that its search must find."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.search.en import SearchEnglish

# Words of the papers and of the field, and a page that a search for them must list.
WORDS = {
    "kernel autoencoder vector-valued RKHS": "papers/kernel_autoencoders",
    "operator-valued kernel representer theorem": "papers/kernel_autoencoders",
    "K2AE": "math/kernel_autoencoder",
    "Fenchel conjugate infimal convolution": "papers/duality_robust_losses",
    "epsilon-insensitive Huber robust losses": "papers/duality_robust_losses",
    "Moreau envelope": "more/glossary",
    "input output kernel regression IOKR": "papers/duality_robust_losses",
    "metabolite identification": "results/papers",
    "Stiefel manifold Cayley Adam": "math/deep_rkm",
    "disentanglement restricted kernel machine": "papers/constr_drkm",
    "contrastive spectral loss negatives": "papers/representation_learning",
    "denoising autoencoder": "papers/representation_learning",
    "out-of-sample extension": "more/glossary",
    "Tanimoto fingerprints molecules": "api/generated/rkhs.kernels.Tanimoto",
    "Weisfeiler-Lehman": "api/generated/rkhs.kernels.WeisfeilerLehman",
    "Nyström landmarks": "user/big_data",
    "random Fourier features": "api/generated/rkhs.features.RandomFeatures",
    "conformal prediction sets coverage": "user/guarantees",
    "generalisation bound Rademacher": "api/generated/rkhs.metrics.Bound",
}


def found_by(index: dict[str, list[int] | int | dict], query: str) -> set[str]:
    """Pages that hold every word of a query, as the script of the site finds them: by stems, in titles and texts."""
    stemmer, pages = SearchEnglish({}), set(index["docnames"])
    for word in set(re.findall(r"\w+", query.lower())) - stemmer.stopwords:
        hits = [index[part].get(stemmer.stem(word), []) for part in ("terms", "titleterms")]
        numbers = {n for hit in hits for n in (hit if isinstance(hit, list) else [hit])}
        pages &= {index["docnames"][n] for n in numbers}
    return pages


def check_search(folder: Path) -> None:
    """Refuse a site whose search does not find the words of the papers, or without an inventory of its names."""
    text = (folder / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    missed = [f"{page!r} by {query!r}" for query, page in WORDS.items() if page not in found_by(index, query)]
    if missed or not (folder / "objects.inv").is_file():
        raise ExtensionError(f"the search of the site does not find {', '.join(missed)}")


def write_versions(folder: Path) -> None:
    """Write the page above the folders of all versions: it lists them, and leads to the newest."""
    versions = sorted((path.parent.name for path in folder.glob("*/objects.inv")), key=numbers_of, reverse=True)
    links = "".join(f'<li><a href="{name}/index.html">rkhs {name}</a></li>' for name in versions)
    refresh = f'<meta http-equiv="refresh" content="0; url={versions[0]}/index.html">'
    page = f'<!doctype html><meta charset="utf-8"><title>rkhs</title>{refresh}<ul>{links}</ul>\n'
    (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")


def numbers_of(name: str) -> list[int]:
    """The numbers of a version, by which versions are ordered."""
    return [int(number) for number in re.findall(r"\d+", name)]


def finish(app: Sphinx, error: Exception | None) -> None:
    """Check the built site, and list it among the versions."""
    if error is None and app.builder.name == "html":
        check_search(Path(app.outdir))
        write_versions(Path(app.outdir).parent)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
