"""What stands here is installed by the tests that use it: importing it would register it for all."""

collect_ignore_glob = ["*.py"]
