"""The version is the framework's: that of the checkout, or that in the metadata of a source distribution."""

import re
from pathlib import Path

from setuptools import setup

here = Path(__file__).parent
files = (here / "PKG-INFO", here.parents[1] / "plugjax" / "__init__.py")
text = next(path for path in files if path.exists()).read_text(encoding="utf-8")
setup(version=re.findall(r'^(?:Version: |__version__ = ")([\w.]+)', text, re.MULTILINE)[0])
