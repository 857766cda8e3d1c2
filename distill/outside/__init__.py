"""Training by a program of the user's: what it is told, what it answers, how that is checked."""
