"""The interval rule of the Lambert W function."""
