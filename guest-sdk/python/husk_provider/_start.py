"""Begins a provider in a module."""

from __future__ import annotations

import importlib
from typing import Any

from .host import engine as _husk
from .provider import Provider
from .server import Server, error_of
from .values import tagged, untagged


def _serve(method: str, request: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return _server.answer(method, request)
    except BaseException as e:
        raise _husk.Error(error_of(e)) from None


_husk.main(_serve, tagged, untagged)
_provider = getattr(importlib.import_module(_husk.main_module), "provider", None)
if not isinstance(_provider, Provider):
    raise TypeError(f'the module {_husk.main_module} has no variable "provider" with a husk_provider.Provider')
_server = Server(_provider)
