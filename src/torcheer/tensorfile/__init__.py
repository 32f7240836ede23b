"""Files and raw numbers without torch: safetensors files, what is shown of a tensor, files written whole."""
