"""The network as plates of units: which layers, which variables, how a shape becomes a grid."""
