"""NATS, PostgreSQL and SeaweedFS as supervised children of this process. Linux only."""

from kit.embedded.errors import DataDirInUse, EmbeddedError
from kit.embedded.server import Endpoints
from kit.embedded.stack import EmbeddedStack, ServiceName, running_endpoints

__all__ = ["DataDirInUse", "EmbeddedError", "EmbeddedStack", "Endpoints", "ServiceName", "running_endpoints"]
