"""Requests through the host, within the grants for http. In programs outside of a module, urllib makes them."""

from __future__ import annotations

import json as _json
from typing import Any, Mapping, NamedTuple, TypeVar
from urllib.parse import urljoin, urlsplit

from . import host
from .errors import HuskError, Unavailable
from .shapes import dump, parse

T = TypeVar("T")

MAX_REDIRECTS = 10
_redirects = (301, 302, 303, 307, 308)


class Response(NamedTuple):
    """A whole response. The names of headers are in lower case; several of a name are joined with a comma."""

    status: int
    url: str
    headers: dict[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Reads JSON of any form. parse checks it against a dataclass."""
        return _json.loads(self.body)

    def parse(self, as_type: type[T]) -> T:
        """Reads JSON as a value of a type, see husk_provider.parse."""
        return parse(as_type, self.body)


def request(
    method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes | str = b"", json: Any = None, timeout: float = 0,
    follow: bool = True,
) -> Response:
    """Sends a request and waits for the response, or raises a HuskError. Any status is a response.

    json is sent in place of body; dataclasses become JSON, too. The timeout in seconds is that of the operation if it is shorter. Redirects are
    followed unless follow is False.
    """
    sent = {name.lower(): str(value) for name, value in (headers or {}).items()}
    content = body.encode() if isinstance(body, str) else bytes(body)
    if json is not None:
        content = dump(json).encode()
        sent.setdefault("content-type", "application/json")
    for _ in range(MAX_REDIRECTS + 1):
        left = host.remaining()
        within = min(t for t in (timeout, left) if t > 0) if timeout > 0 or left > 0 else 0
        response = _send(method, url, sent, content, within)
        location = response.headers.get("location")
        if not follow or response.status not in _redirects or not location:
            return response
        to = urljoin(url, location)
        if response.status == 303 and method != "HEAD" or response.status < 303 and method == "POST":
            method, content = "GET", b""
            sent = {name: v for name, v in sent.items() if not name.startswith("content-")}
        if urlsplit(to)[:2] != urlsplit(url)[:2]:
            sent = {name: v for name, v in sent.items() if name not in ("authorization", "cookie", "proxy-authorization")}
        url = to.partition("#")[0]
    raise HuskError("internal", f"{url}: more than {MAX_REDIRECTS} redirects")


def _send(method: str, url: str, headers: dict[str, str], body: bytes, timeout: float) -> Response:
    if host.engine is None:
        return _natively(method, url, headers, body, timeout)
    answer = host.call("httpSend", {
        "method": method, "url": url, "body": body, "timeoutMs": max(1, int(timeout * 1000)) if timeout else 0,
        "headers": [{"name": name, "value": value.encode()} for name, value in headers.items()],
    })
    found: dict[str, str] = {}
    for h in answer["headers"]:
        name, value = h["name"].lower(), h["value"].decode("utf-8", "replace")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return Response(answer["status"], url, found, answer["body"])


def _natively(method: str, url: str, headers: dict[str, str], body: bytes, timeout: float) -> Response:
    from http.client import HTTPException
    from urllib import request as urllib

    class Returned(urllib.HTTPErrorProcessor):
        def http_response(self, request: Any, response: Any) -> Any:
            return response

        https_response = http_response

    asked = urllib.Request(url, data=body or None, headers=headers, method=method)
    try:
        with urllib.build_opener(Returned).open(asked, timeout=timeout or None) as response:
            found = {name.lower(): ", ".join(response.headers.get_all(name)) for name in response.headers}
            return Response(response.status, url, found, response.read())
    except (OSError, HTTPException) as e:
        raise Unavailable(f"{method} {url}: {e}") from e


def get(url: str, **options: Any) -> Response:
    return request("GET", url, **options)


def post(url: str, **options: Any) -> Response:
    return request("POST", url, **options)


def put(url: str, **options: Any) -> Response:
    return request("PUT", url, **options)


def patch(url: str, **options: Any) -> Response:
    return request("PATCH", url, **options)


def delete(url: str, **options: Any) -> Response:
    return request("DELETE", url, **options)
