"""What a run says of itself: the summary that programs read, and the sentence for a person."""
