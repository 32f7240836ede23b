"""Videos of tensors over a training: as MP4, GIF or PNG, while it runs or afterwards from a run.

`recorder` makes them from tensors as they come, `from_run` from what a run has kept. Both draw with `frame`,
`charts`, `scales` and `canvas`, and write with `files`. Pillow draws, and PyAV (extra `video`)
encodes MP4.
"""
