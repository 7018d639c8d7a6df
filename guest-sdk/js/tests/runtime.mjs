// Tests of the globals with a host that has functions for UTF-8: node runtime.mjs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import vm from "node:vm";

// The engine's decoder takes surrogates, and joins them.
const decode = b => Array.from(Buffer.from(b).toString("latin1").matchAll(/\xed([\xa0-\xbf])([\x80-\xbf])|[^]/g), ([all, high, low]) =>
    high ? { unit: 0xd000 | (high.charCodeAt(0) & 63) << 6 | low.charCodeAt(0) & 63 } : { byte: all.charCodeAt(0) })
    .reduce((out, { unit, byte }) => out + (unit === undefined ? String.fromCharCode(byte) : String.fromCharCode(unit)), "");
const context = vm.createContext({ __host: Object.assign(() => "", { encode: s => new Uint8Array(Buffer.from(s)), decode }) });
vm.runInContext(readFileSync(new URL("../runtime.js", import.meta.url), "utf8"), context);

// Surrogates are no UTF-8, also where two of them would be a character.
const decoded = (bytes, fatal) => vm.runInContext(`new TextDecoder("utf-8", { fatal: ${fatal} }).decode(new Uint8Array([${bytes}]))`, context);
assert.equal(decoded([0x61, 0x62], true), "ab");
for (const bytes of [[0xed, 0xa0, 0xbd], [0x61, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]]) {
    assert.equal(decoded(bytes, false), new TextDecoder().decode(new Uint8Array(bytes)));
    assert.throws(() => decoded(bytes, true), /not valid/);
}
