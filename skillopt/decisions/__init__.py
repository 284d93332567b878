"""The decisions of the loop, each a small pure function with its alternatives beside it."""
