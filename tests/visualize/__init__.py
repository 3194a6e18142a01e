"""Pictures: well-formed, complete, escaped, bounded."""
