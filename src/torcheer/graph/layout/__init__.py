"""Where boxes and wires go in a static picture: layered, nested, one group's inside at a time."""
