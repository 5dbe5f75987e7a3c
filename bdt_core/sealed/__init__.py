"""An audit that remembers: its plan, its looks, its signatures, and how anybody checks them."""
