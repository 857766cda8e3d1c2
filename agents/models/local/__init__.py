"""Models that run in this process: found or fetched, converted once, generated in batches."""
