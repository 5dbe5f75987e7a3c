"""An object store of a test's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

SECRET = "topsecret77"


@contextmanager
def object_store() -> Iterator[str]:
    """A local S3 server with its keys in the environment; gives a URL in it under which there is nothing yet."""
    import boto3
    import fsspec
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        boto3.client("s3").create_bucket(Bucket="audits")
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        yield f"s3://audits/{uuid4().hex}"  # what the server holds outlives it in this process
        fsspec.get_filesystem_class("s3").clear_instance_cache()
    server.stop()
