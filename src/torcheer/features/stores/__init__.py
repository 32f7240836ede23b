"""Where features are kept: a folder of .npy files, or Zarr wherever a URL points to. No torch in here."""
