"""Files that commands write: an output folder with its manifest, or a single file, whole or not at all."""
