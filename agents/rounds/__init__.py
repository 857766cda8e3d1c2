"""The steps of a round, in the conductor's hands: search, gate, training, and a look back."""
