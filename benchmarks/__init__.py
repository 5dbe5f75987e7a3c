"""Measured side by side: speed against the peers, and validity by simulation."""
