"""Signal processing: Fourier transforms, windows and frames."""
