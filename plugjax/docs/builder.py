"""Build the site: stage the sources, run Sphinx with warnings as errors, write the pages of source code, check links."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import plugjax
from plugjax.docs import inventories, links, matrix, sources, staging

_ASSETS = Path(__file__).parent / "assets"


class SiteError(RuntimeError):
    """The site could not be built, or has broken links."""


def root() -> Path:
    """The repository: the current folder, or the one that plugjax is imported from.

    Raises:
        SiteError: neither has ``docs/site``.
    """
    for folder in (Path.cwd(), Path(plugjax.__file__).resolve().parents[1]):
        if (folder / "docs" / "site").is_dir():
            return folder
    raise SiteError("no folder docs/site here: run the command in a checkout of plugjax.")


def configuration(known: dict[str, tuple[str, str]], run: bool = True) -> dict[str, Any]:
    """Sphinx's configuration.

    Args:
        known: address and inventory of other projects.
        run: whether blocks are run.
    """
    return {
        "intersphinx_mapping": known,
        "plugjax_run": run,
        "project": "plugjax",
        "version": plugjax.__version__,
        "release": plugjax.__version__,
        "copyright": "the authors of plugjax",
        "extensions": [
            "myst_parser",
            "sphinx.ext.intersphinx",
            "plugjax.docs.mathematics",
            "plugjax.docs.directives",
        ],
        "myst_enable_extensions": ["colon_fence", "deflist"],
        "myst_heading_anchors": 3,
        "suppress_warnings": ["misc.highlighting_failure", "myst.header"],
        "html_math_renderer": "mathml",
        "html_theme": "pydata_sphinx_theme",
        "html_title": f"plugjax {plugjax.__version__}",
        "html_static_path": [str(_ASSETS)],
        "html_css_files": ["site.css"],
        "html_context": {"default_mode": "auto"},
        "html_copy_source": False,
        # A picture and a table that need the width.
        "html_sidebars": {"how_it_works/house": [], "reference/matrix": []},
        "html_theme_options": {
            "navbar_align": "left",
            "show_toc_level": 2,
            "collapse_navigation": True,
            "navigation_with_keys": False,
            "secondary_sidebar_items": {
                "**": ["page-toc"],
                "reference/matrix": [],
                "reference/options": [],
                "how_it_works/house": [],
                "how_it_works/sine": [],
                "how_it_works/gradient": [],
            },
            "footer_start": ["copyright"],
            "footer_end": [],
            "header_links_before_dropdown": 7,
        },
        "python_use_unqualified_type_names": True,
        "toc_object_entries": False,
        "add_module_names": False,
    }


def build(output: Path, fresh: bool = False, run: bool = True) -> Path:
    """Build the site into a folder and return it.

    Args:
        output: the folder; what an earlier build left there is used again.
        fresh: delete the folder first.
        run: run the blocks of the pages, and show what they print.

    Raises:
        SiteError: Sphinx warned, or an internal link leads nowhere.
    """
    repository = root()
    if fresh and output.exists():
        shutil.rmtree(output)
    source, site = output / "source", output / "html"
    cells = matrix.rows()
    pages = [
        *staging.written(repository),
        *staging.developers(repository),
        *staging.generated(repository, cells),
    ]
    staging.stage(pages, source)
    app = Sphinx(
        srcdir=source,
        confdir=None,
        outdir=site,
        doctreedir=output / "doctrees",
        buildername="html",
        confoverrides=configuration(inventories.write(output / "inventories"), run),
        warningiserror=True,
        parallel=2,
        status=None,
        warning=sys.stderr,
    )
    app.build()
    if app.statuscode:
        raise SiteError("Sphinx warned: see above.")
    sources.write(matrix.files(cells), repository, site)
    wrong = links.broken(site)
    if wrong:
        raise SiteError("links that lead nowhere:\n" + "\n".join(wrong[:40]))
    return site
