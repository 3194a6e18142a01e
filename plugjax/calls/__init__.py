"""Calls: equations that hold a program or a function, and the user's own rules for them."""
