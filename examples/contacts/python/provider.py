"""The provider contacts, as ../provider has it in Go."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeVar

from husk_provider import (
    Child, Component, ConstructRequest, Context, Created, CreateRequest, DeleteRequest, Field, HuskError, InvalidArgument, Listed, ListRequest,
    NotFound, Output, Page, Provider, Read, ReadRequest, Resource, UpdateRequest, concat, http, parse,
)

provider = Provider("contacts", "1.0.0", description="Contacts of a service.")
T = TypeVar("T")


@dataclass(kw_only=True)
class Config:
    url: Annotated[str, Field(doc="Where the service is.")]


@dataclass(kw_only=True)
class Address:
    city: str
    street: str | None = None


@dataclass(kw_only=True)
class Inputs:
    name: Annotated[str, Field(replace=True, doc="Another name makes another contact.")]
    kind: Literal["person", "company"] = "person"
    priority: Annotated[int, Field(min=1, max=5)] = 3
    address: Address | None = None
    tags: list[str] | None = None
    password: Annotated[str | None, Field(secret=True, doc="Never shown.")] = None


@dataclass(kw_only=True)
class State(Inputs):
    label: Annotated[str, Field(doc="How letters begin.")]


# What the service answers.


@dataclass(kw_only=True)
class Made:
    id: str


@dataclass(kw_only=True)
class Found:
    name: str
    kind: str
    priority: int
    address: Address | None
    tags: list[str] | None
    password: str | None


@dataclass(kw_only=True)
class Entry:
    id: str
    name: str
    tags: list[str] | None


url = ""


@provider.configure
def configure(config: Config) -> None:
    global url
    url = config.url


def send(method: str, path: str, body: Inputs | None = None) -> bytes:
    if body:
        body = replace(body, tags=body.tags or None)  # what is empty is not sent
    response = http.request(method, url + path, json=body)
    if response.status == 404:
        raise NotFound(f"{path} does not exist")
    if response.status >= 300:
        raise HuskError("internal", f"{method} {path}: the service answers {response.status}")
    return response.body


def call(answer: type[T], method: str, path: str, body: Inputs | None = None) -> T:
    text = send(method, path, body)
    try:
        return parse(answer, text)
    except ValueError:
        raise HuskError("internal", f"{method} {path}: the answer of the service does not fit") from None


def state(given: Inputs) -> State:
    return State(**vars(given), label=f"{given.name} ({given.kind})")


@provider.resource("contacts:index:Contact")
class Contact(Resource[Inputs, State]):
    def create(self, request: CreateRequest[Inputs]) -> Created[State]:
        made = call(Made, "POST", "/contacts", request.inputs)
        return Created(made.id, state(request.inputs))

    def read(self, request: ReadRequest[Inputs, State]) -> Read[Inputs, State]:
        found = call(Found, "GET", f"/contacts/{request.id}")
        inputs = Inputs(**vars(found))
        return Read(inputs, state(inputs))

    def update(self, request: UpdateRequest[Inputs, State]) -> State:
        call(Found, "PUT", f"/contacts/{request.id}", request.inputs)
        return state(request.inputs)

    def delete(self, request: DeleteRequest[State]) -> None:
        send("DELETE", f"/contacts/{request.id}")

    def list(self, request: ListRequest) -> Page:
        return Page([Listed(one.id, one.name) for one in call(list[Entry], "GET", "/contacts")])


@dataclass(kw_only=True)
class TeamInputs:
    names: Annotated[list[str], Field(doc="Each name makes a contact.")]
    domain: Annotated[Output[str], Field(doc="What follows each name and @.")]
    note: Annotated[Output[str] | None, Field(secret=True, doc="The password of each contact.")] = None


@dataclass(kw_only=True)
class TeamOutputs:
    ids: Annotated[list[Output[str]], Field(doc="The IDs of the contacts, in the order of the names.")]
    count: int
    domain: Output[str]


# A contact for each of its names. The first one is made before the others.
@provider.component("contacts:index:Team")
class Team(Component[TeamInputs, TeamOutputs]):
    def construct(self, request: ConstructRequest[TeamInputs], context: Context) -> TeamOutputs:
        given = request.inputs
        for i, name in enumerate(given.names):
            if name in given.names[:i]:
                raise InvalidArgument(f"names[{i}]", f"{name} is in the team already")
        contacts: list[Child] = []
        for name in given.names:
            inputs = {"name": concat(name, "@", given.domain), "password": given.note}
            contacts.append(context.resource("contacts:index:Contact", f"{request.name}-{name}", inputs, depends_on=contacts[:1]))
        return TeamOutputs(ids=[contact.id for contact in contacts], count=len(contacts), domain=given.domain)


@dataclass(kw_only=True)
class Search:
    tag: str
    limit: Annotated[int, Field(min=1)] = 10


@dataclass(kw_only=True)
class Matches:
    names: list[str]
    tag: str


@provider.function("contacts:index:find")
def find(search: Search) -> Matches:
    everyone = call(list[Entry], "GET", "/contacts")
    names = sorted(one.name for one in everyone if search.tag in (one.tags or ()))
    return Matches(names=names[:search.limit], tag=search.tag)
