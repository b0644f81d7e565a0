"""craits_sim."""
__version__ = "0.1.0"
