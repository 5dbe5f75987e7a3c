"""Work of the commands of ``bdt``; ``bdt_pipeline.cli`` only takes their arguments."""
