"""Settings of the site; ``./dev docs`` builds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
os.environ.pop("RKHS_DATA", None)  # the site is the same on every machine
os.environ["RKHS_OUTPUT"] = ""  # gallery scripts leave their figures open for the site

import rkhs  # noqa: E402

project = "rkhs"
author = "The rkhs developers"
copyright = author
version = release = rkhs.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "option_tables",
    "mathml",
    "whole_site",
]
exclude_patterns = ["**/*.ipynb"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
suppress_warnings = ["config.cache"]  # the order of gallery scripts is a class

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

templates_path = ["_templates"]
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_use_unqualified_type_names = True
smartquotes = False  # flags keep their two dashes
toc_object_entries_show_parents = "hide"  # the contents of a page have no room for the name of its class

sphinx_gallery_conf = {
    "examples_dirs": ["../tutorials", "../examples"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": r"plot_",
    "ignore_pattern": r"gallery\.py",
    "doc_module": ("rkhs",),
    "backreferences_dir": "api/backreferences",
    "inspect_global_variables": False,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "min_reported_time": 10**9,
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "parallel": 2,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "rkhs"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"start": [], "choose": []}  # pages without a section: their tables get the room
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "rkhs"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
