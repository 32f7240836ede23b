"""A pass without its tensors: types, labels, layers, modules, structure, text. No torch in here."""
