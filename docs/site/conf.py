"""The site's settings: `python -m sphinx -W -c docs/site . FOLDER` from the top of the repository.

Its sources are the pages where they lie, so that their links work here and in a code browser alike. Nothing of it is
fetched from elsewhere, neither when it is built nor when it is read.
"""

import gc
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

import tomllib  # noqa: E402

gc.set_threshold(50_000)  # pages stay until the end: to look through them all the time takes an eighth of the build

project = "Bias audit"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
project_copyright = ""
html_show_copyright = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "generated", "notebooks"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**",
    "notebooks/*.ipynb",
    "bdt_core/data/README.md",
    "benchmarks/RESULTS.md",
]
exclude_patterns = ["docs/site/**"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext", ".ipynb": "notebook"}

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
myst_fence_as_directive = ["mermaid"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings have shapes and units
napoleon_google_docstring = False
napoleon_use_ivar = True  # else "rows" of a shape is taken for an attribute of that name

html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_last_updated_fmt = None  # the same sources give the same bytes
