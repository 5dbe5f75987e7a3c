"""What a table seems to be about, in words and as a commented specification."""
