"""Programs of one device, run by all devices of a mesh."""
