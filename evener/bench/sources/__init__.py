"""What a source of training data is worth: six of them over one run folder."""
