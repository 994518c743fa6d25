"""What commands write: an output folder with its manifest, and a single file, each whole or not at all."""
