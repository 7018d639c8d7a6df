"""The SDK for providers of Husk in Python.

The fields of dataclasses describe inputs and state, from which the schema, the checks and defaults of inputs, and the diff follow:

    provider = Provider("greet", "1.0.0")

    @dataclass(kw_only=True)
    class Inputs:
        name: Annotated[str, Field(replace=True)]
        mark: str = "!"

    @dataclass(kw_only=True)
    class State(Inputs):
        text: str

    @provider.resource("greet:index:Greeting")
    class Greeting(Resource[Inputs, State]):
        def create(self, request: CreateRequest[Inputs]) -> Created[State]:
            i = request.inputs
            return Created(i.name, State(**vars(i), text=f"Hello, {i.name}{i.mark}"))

The main module has the provider in its variable provider. A provider runs in several instances with memory of their own: a variable is seen by
its own instance only. What runs when modules are imported runs once, before there is any configuration.
"""

from . import http as http
from .component import Alias, CallOptions, Context, ResourceOptions, Timeouts
from .errors import ErrorKind, HuskError, InitFailed, InvalidArgument, NotFound, Unavailable
from .host import Item, assets, cancelled, kv, log
from .outputs import Child, all_of, concat
from .provider import (
    Autonaming, CapabilityRequest, Change, CheckFailure, CheckRequest, Component, ConstructRequest, Created, CreateRequest, DeleteRequest, Diff,
    DiffRequest, ExistsRequest,
    Listed, ListRequest, Page, PreviewRequest, Provider, Read, ReadRequest, Resource, UpdateRequest,
)
from .shapes import Field, dump, parse
from .values import Archive, Asset, Output, Reference, Secret, Unknown, unknown

__all__ = [
    "Alias", "all_of", "Archive", "Asset", "assets", "Autonaming", "CallOptions", "cancelled", "CapabilityRequest", "Change", "CheckFailure",
    "CheckRequest", "Child", "Component", "concat", "ConstructRequest", "Context", "Created", "CreateRequest", "DeleteRequest", "Diff", "DiffRequest",
    "dump", "ErrorKind", "ExistsRequest", "Field", "http", "HuskError", "InitFailed", "InvalidArgument", "Item", "kv", "Listed", "ListRequest", "log",
    "NotFound", "Output", "Page", "parse", "PreviewRequest", "Provider", "Read", "ReadRequest", "Reference", "Resource", "ResourceOptions", "Secret",
    "Timeouts", "Unavailable", "Unknown", "unknown", "UpdateRequest",
]
