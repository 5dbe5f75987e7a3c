"""The parts of LOGAN and of the stage that looks for local bias; the public names are in `logan` and `local_bias`."""
