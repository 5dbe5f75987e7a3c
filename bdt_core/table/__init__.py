"""A source becomes arrays: reading, roles, the bias variable, encoding and the split."""
