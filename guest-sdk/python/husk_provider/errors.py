"""Errors by which the engine and people act."""

from __future__ import annotations

from typing import Any, Literal, Mapping, Sequence

ErrorKind = Literal["invalid-argument", "not-found", "unimplemented", "unavailable", "cancelled", "init-failed", "denied", "internal", "crashed"]


class HuskError(Exception):
    """An error of a kind of the contract, with the path of the property that it is about."""

    def __init__(self, kind: ErrorKind, message: str, path: str = "", origin: str = "guest") -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.path = path
        self.origin = origin
        self.missing_keys: list[dict[str, str]] = []
        self.init_failure: dict[str, Any] | None = None


def refusal(failures: Sequence[Mapping[str, str]]) -> HuskError:
    """Returns the error that says why inputs or arguments are refused."""
    if len(failures) == 1:
        return HuskError("invalid-argument", failures[0]["reason"], failures[0]["path"])
    return HuskError("invalid-argument", "\n".join((f"{f['path']}: " if f["path"] else "") + f["reason"] for f in failures))


class NotFound(HuskError):
    """Says in read and delete that the object does not exist; nothing else says that."""

    def __init__(self, message: str = "the object does not exist") -> None:
        super().__init__("not-found", message)


class InvalidArgument(HuskError):
    """Refuses an input at a path, such as tags.owner. What needs the inputs alone belongs in check."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__("invalid-argument", message, path)


class Unavailable(HuskError):
    """Says that the service cannot be reached now."""

    def __init__(self, message: str) -> None:
        super().__init__("unavailable", message, origin="remote")


class InitFailed(HuskError):
    """Says that the object exists and is not healthy: its ID and state are recorded, and the next deployment updates it."""

    def __init__(self, *, state: Any, id: str = "", reasons: Sequence[str] | str = ()) -> None:
        super().__init__("init-failed", "the resource exists but is not healthy")
        self.id = id
        self.state = state
        self.reasons = [reasons] if isinstance(reasons, str) else list(reasons or ())
