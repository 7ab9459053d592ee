"""Sphinx's settings; ``python docs/build.py`` stages the pages and calls Sphinx."""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from _site.gallery_scripts import PictureScraper  # noqa: E402

import covey  # noqa: E402

QUICK = os.environ.get("COVEY_DOCS") == "quick"
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

project = "covey"
author = "The covey developers"
copyright = "the covey developers, BSD-3-Clause"
version = release = covey.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "_site.mathml",
    "_site.linked_names",
    "_site.accessible",
]
if QUICK:
    extensions.remove("sphinx.ext.viewcode")

root_doc = "index"
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = [
    "gallery_scripts",
    "gallery/*.ipynb",
    "gallery/*.md5",
    "**/sg_execution_times.rst",
]
# `FlockClassifier` in a docstring is a link where it can be one.
default_role = "autolink"
templates_path = [str(HERE / "_templates")]
html_math_renderer = "mathml"
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88
# Reports that are made by benchmarks step over levels of headings; a picture may be in a link.
suppress_warnings = ["myst.header", "config.cache", "mystnb.unknown_mime_type"]

autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# Pages of the guide are run when the site is built, and the build fails where one of them does.
nb_execution_mode = "off" if QUICK else "cache"
nb_execution_cache_path = str(HERE / "_build" / "cache")
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_excludepatterns = ["notebooks/*"]  # `make notebooks` runs them, with outputs kept
nb_merge_streams = True
nb_execution_show_tb = True

sphinx_gallery_conf = {
    "examples_dirs": [os.path.join(os.environ.get("COVEY_DOCS_SOURCE", "."), "gallery_scripts")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"^$",
    "plot_gallery": not QUICK,
    "image_scrapers": (PictureScraper(),),
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("covey",),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "notebook_images": False,
    "last_notebook_cell": (
        "from pathlib import Path\nfrom IPython.display import Image\n\n"
        "Image(max(Path('.').glob('*.png'), key=lambda path: path.stat().st_mtime))"
    ),
    "download_all_examples": not QUICK,
    "copyfile_regex": r"^$",
    "reset_modules": ("matplotlib",),
    "nested_sections": False,
    "within_subsection_order": "_site.gallery_scripts.InOrderOfQuestions",
}

html_theme = "pydata_sphinx_theme"
html_title = "covey"
html_static_path = [str(HERE / "_static")]
html_css_files = ["covey.css"]
html_favicon = str(HERE / "_static" / "covey.svg")
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_sidebars = {"index": [], "choosing": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "text": f"covey {release}",
        "image_light": str(HERE / "_static" / "covey.svg"),
        "image_dark": str(HERE / "_static" / "covey.svg"),
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
