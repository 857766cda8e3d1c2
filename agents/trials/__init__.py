"""One trial, in the validator's hands: its tasks, its two arms, and the questions to the gate."""
