"""Pictures of a pass: a document becomes a diagram, the diagram is laid out, and written as SVG."""
