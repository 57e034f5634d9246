"""How Sphinx builds the site: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cprsim.basics.version import __version__

project = "cprsim"
author = "cprsim developers"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "tools.site"]
html_theme = "furo"
html_title = f"cprsim {release}"
html_copy_source = False
exclude_patterns = ["figures"]

# The same pages are read on a code host: anchors are made as it makes them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# Docstrings are NumPy's, with names in single backticks as in Markdown.
default_role = "code"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
