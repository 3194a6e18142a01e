"""plugjax on IREE."""
