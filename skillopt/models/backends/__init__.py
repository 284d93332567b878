"""One module per backend; each declares `BACKEND`. Heavy imports belong inside `open`."""
