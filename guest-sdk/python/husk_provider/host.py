"""What the host offers. On a Python outside of a module, messages go to the standard error, and the rest is missing."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any, Literal, NamedTuple

from .errors import HuskError
from .values import Archive, Asset

engine: Any = None
"""The module _husk, which the engine has."""
try:
    engine = importlib.import_module("_husk")
except ImportError:
    pass


class _Current:
    urn = ""
    deadline = 0.0


_current = _Current()


def begin(urn: str, timeout: float) -> None:
    """Has messages be about a resource, and requests end after a timeout in seconds, 0 for none."""
    _current.urn = urn
    _current.deadline = time.monotonic() + min(timeout, 1e9) if timeout > 0 else 0.0


def remaining() -> float:
    """Returns the seconds that are left of the user's timeout, 0 without one."""
    if not _current.deadline:
        return 0.0
    left = _current.deadline - time.monotonic()
    if left <= 0:
        raise HuskError("cancelled", "the timeout of the operation has passed")
    return left


def call(name: str, params: Any = None) -> Any:
    """Calls a function of the host by its name in the contract, such as kvGet. What it fails with is an error of the contract."""
    if engine is None:
        raise HuskError("unavailable", f"{name} works in a module only")
    try:
        return engine.call(name, params)
    except engine.Error as e:
        told = e.args[0]
        error = HuskError(told["kind"], told["message"], told["path"], told["origin"])
        raise error from None


class Log:
    """The log of the run, about the resource that is being handled."""

    def _write(self, severity: str, message: object, ephemeral: bool = False) -> None:
        text = str(message).encode("utf-8", "replace").decode()
        if engine is None:
            print(f"{severity}: {text}", file=sys.stderr)
        else:
            call("logWrite", {"severity": severity, "message": text, "urn": _current.urn, "ephemeral": ephemeral})

    def debug(self, message: object) -> None:
        self._write("debug", message)

    def info(self, message: object) -> None:
        self._write("info", message)

    def warning(self, message: object) -> None:
        self._write("warning", message)

    def error(self, message: object) -> None:
        self._write("error", message)

    def status(self, message: object) -> None:
        """Writes a message that the next one replaces."""
        self._write("info", message, True)


log = Log()


class Item(NamedTuple):
    """The value of a key, if it has one, and its revision."""

    value: bytes | None
    revision: int


class KV:
    """Values that are kept from one deployment of the stack to the next. It needs the grant kv."""

    def get(self, key: str) -> Item:
        found = call("kvGet", key)
        return Item(found["value"], found["revision"])

    def put(self, key: str, value: bytes | None, revision: int = 0) -> int:
        """Writes a value, or deletes the key without one, if the key still has the revision. Returns the new one."""
        return int(call("kvPut", {"key": key, "value": value, "revision": revision}))

    def keys(self, prefix: str = "", after: str = "", limit: int = 1000) -> list[str]:
        return list(call("kvKeys", {"prefix": prefix, "after": after, "limit": limit}))


kv = KV()


class Assets:
    """The contents of assets and archives of the inputs, during the call that has them."""

    def read(self, asset: Asset | Archive, form: Literal["blob", "entries", "tar", "tar-gzip", "zip"] = "blob") -> bytes:
        if asset.source == "none":
            raise HuskError("invalid-argument", "the contents of an asset that is no input of the call are not known, only their hash")
        if asset.source == "text" and isinstance(asset.origin, str):
            return asset.origin.encode()
        contents = call("assetsOpen", {"hash": asset.hash, "form": form})
        whole = bytearray()
        try:
            while part := call("assetsRead", {"contents": contents, "max": 1 << 20}):
                whole += part
        finally:
            call("assetsClose", contents)
        return bytes(whole)


assets = Assets()


def cancelled() -> bool:
    """Reports whether the user has cancelled the call. What waits or loops for long asks, and raises or returns."""
    return engine is not None and bool(call("controlCancelled"))
