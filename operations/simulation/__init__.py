"""A made-up company whose agents call tools, the same for the same seed: for the demo, for `simulate` and for tests.

The world is a function of the seed and of absolute time, so whoever tells a stretch of it twice tells the same
records, and the console answers `duplicate`.
"""
