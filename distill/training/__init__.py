"""The training process: what it is told, the loss, the adapter it saves, and the probe of it."""
