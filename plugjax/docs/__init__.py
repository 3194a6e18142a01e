"""The documentation's builder: ``plugjax docs`` makes the site from ``docs/`` and from what is installed.

Nothing here is imported by the rest of plugjax. The extra ``docs`` brings Sphinx, MyST and the theme.
"""
