"""Stands in for the engine of a module, so that tests ask the SDK on any Python: python3 process.py MODULE answers requests, a line of JSON each.

Properties are {"cbor": BASE64} in lines, and a value {"one": BASE64} of an object with it. Requests of HTTP need no host here.
"""

import base64
import importlib
import json
import math
import struct
import sys

sys.modules["_husk"] = sys.modules[__name__]
main_module = sys.argv[1]
served = []


class Error(Exception):
    pass


def main(serve, tagged, untagged):
    served[:] = serve, tagged, untagged


def call(name, params=None):
    if name == "httpSend":
        import husk_provider.http

        headers = {h["name"]: h["value"].decode() for h in params["headers"]}
        try:
            r = husk_provider.http._natively(params["method"], params["url"], headers, params["body"], params["timeoutMs"] / 1000)
        except husk_provider.HuskError as e:
            raise Error({"kind": e.kind, "origin": "remote", "message": str(e), "path": ""}) from None
        return {"status": r.status, "headers": [{"name": k, "value": v.encode()} for k, v in r.headers.items()], "body": r.body}
    if name.startswith("monitor"):
        print(json.dumps({"call": name, "params": sent(params)}), flush=True)
        told = json.loads(sys.stdin.readline(), object_hook=arrived)
        if "error" in told:
            raise Error(told["error"])
        return told["answer"]
    return False


# CBOR, as wit/property.cddl has it.


def read(data):
    value, at = item(data, 0)
    if at != len(data):
        raise ValueError("trailing")
    return value


def item(data, at, plain=True):
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7 and info > 24:
        form, size = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}[info]
        value = struct.unpack_from(form, data, at)[0]
        if number(value) != data[at - 1:at + size]:
            raise ValueError("not shortest")
        return value, at + size
    if major == 7:
        return {20: False, 21: True, 22: None}[info], at
    n = info
    if info > 23:
        size = 1 << info - 24
        n = int.from_bytes(data[at:at + size], "big")
        at += size
    if major == 0 and not plain:
        return n, at
    if major == 3:
        return str(data[at:at + n], "utf-8"), at + n
    if major == 4:
        elements = []
        for _ in range(n):
            value, at = item(data, at, plain)
            elements.append(value)
        return elements, at
    if major == 5:
        entries = {}
        for _ in range(n):
            key, at = item(data, at)
            entries[key], at = item(data, at, plain)
        return entries, at
    if major == 6:
        value, at = item(data, at, n not in (48503, 48504))
        return served[1](n, value), at
    raise ValueError(f"major type {major}")


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    size = 1 if n < 1 << 8 else 2 if n < 1 << 16 else 4
    return bytes([major << 5 | {1: 24, 2: 25, 4: 26}[size]]) + n.to_bytes(size, "big")


def number(f):
    if math.isnan(f):
        return b"\xf9\x7e\x00"
    for first, form in ((b"\xf9", ">e"), (b"\xfa", ">f")):
        try:
            packed = struct.pack(form, f)
        except OverflowError:
            continue
        if struct.unpack(form, packed)[0] == f:
            return first + packed
    return b"\xfb" + struct.pack(">d", f)


def write(v, integers=False):
    if v is None:
        return b"\xf6"
    if isinstance(v, bool):
        return b"\xf5" if v else b"\xf4"
    if isinstance(v, (int, float)):
        return head(0, v) if integers else number(float(v))
    if isinstance(v, str):
        text = v.encode()
        return head(3, len(text)) + text
    if isinstance(v, (list, tuple)):
        return head(4, len(v)) + b"".join([write(x, integers) for x in v])
    if isinstance(v, dict):
        entries = sorted((write(k), write(x)) for k, x in v.items())
        return head(5, len(v)) + b"".join([k + x for k, x in entries])
    tag, inner = served[2](v)
    return head(6, tag) + write(inner, tag in (48503, 48504))


def arrived(o):
    if list(o) == ["cbor"]:
        return read(base64.b64decode(o["cbor"]))
    if list(o) == ["one"]:
        return read(base64.b64decode(o["one"]))["one"]
    return {k: base64.b64decode(v) if k == "randomSeed" else v for k, v in o.items()}


PROPERTIES = ("inputs", "state", "result", "outputs", "properties", "args")


def sent(answer):
    return {k: one(k, v) for k, v in (answer or {}).items()}


def one(k, v):
    if k in PROPERTIES and v is not None:
        return {"cbor": base64.b64encode(write(v)).decode()}
    if k == "replacementTrigger" and v is not None:
        return {"one": base64.b64encode(write({"one": v})).decode()}
    return sent(v) if isinstance(v, dict) else v


if __name__ == "__main__":
    importlib.import_module("husk_provider._start")
    for line in sys.stdin:
        frame = json.loads(line, object_hook=arrived)
        try:
            answer = {"answer": sent(served[0](frame["method"], frame["request"]))}
        except Error as e:
            answer = {"error": sent(e.args[0])}
        print(json.dumps(answer), flush=True)
