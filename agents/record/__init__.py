"""What a run leaves on disk: the event log, the content store, the lock, the harness registry."""
