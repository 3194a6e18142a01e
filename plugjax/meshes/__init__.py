"""Arrays over several devices: meshes, partition specs, shardings, and how they lie on devices."""
