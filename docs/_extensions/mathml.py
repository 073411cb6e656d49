"""Formulas as MathML, which browsers draw themselves: no script, no network."""

from __future__ import annotations

import re
from typing import Any, Literal

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def to_mathml(node: nodes.Element, display: Literal["block", "inline"]) -> str:
    """Convert a formula; what the converter does not know would stand on the page as a command."""
    formula = convert(node.astext(), display=display)
    if unknown := re.findall(r">\s*(\\\w+)", formula):
        logger.warning("a formula uses %s, which latex2mathml does not know", ", ".join(unknown), location=node)
    return formula


def visit_math(translator: Any, node: nodes.math) -> None:
    translator.body.append(to_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math-block">{to_mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
