"""What starts audits by itself, and tells somebody."""
