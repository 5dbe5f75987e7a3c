"""Schedules and sensors that start audits by themselves and send messages."""
