"""What the commands of ``bdt`` do; ``bdt_pipeline.cli`` only takes their arguments."""
