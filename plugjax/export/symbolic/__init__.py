"""Sizes that are expressions of variables: their algebra, what is known of them, and their text."""
