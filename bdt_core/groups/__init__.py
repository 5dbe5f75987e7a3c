"""Groups of people that a few conditions say."""
