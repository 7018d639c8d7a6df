const pulumi = require('@pulumi/pulumi');
const sc = require('@pulumi/pulumi/runtime/closure/serializeClosure');
const fs = require('fs');
const out = process.argv[2];
class Base { constructor(p) { this.prefix = p; } get shown() { return this.prefix + '!'; } }
class Named extends Base { constructor(p) { super(p); } name(s) { return `${this.prefix}:${s}:1`; } static make(p) { return new Named(p); } }
const life = {
  async configure(req) { this.color = req.config.get('color'); },
  async check(olds, news) { return { inputs: { ...news, size: news.size ?? 7 }, failures: news.size < 0 ? [{ property: 'size', reason: 'it must not be negative' }] : [] }; },
  async diff(id, olds, news) { return { changes: olds.size !== news.size || olds.kind !== news.kind, replaces: olds.kind !== news.kind ? ['kind'] : [], stables: ['name'], deleteBeforeReplace: true }; },
  async create(inputs) { return { id: 'id-' + inputs.kind, outs: { ...inputs, name: Named.make('n').name(inputs.kind), color: this.color } }; },
  async read(id, props) { return props.size === 99 ? {} : { id, props: { ...props, read: true } }; },
  async update(id, olds, news) { return { outs: { ...news, was: olds.size } }; },
  async delete(id, props) { if (props.kind === 'stuck') throw new Error('it is stuck'); console.log('deleted ' + id); },
};
// run calls the function that its input names, and returns what it returns.
const assert = require('assert'), util = require('util'), path = require('path'), crypto = require('crypto'), url = require('url');
const cases = {
  async language() {
    async function* count() { for (let i = 0; i < 3; i++) { await null; yield i; } }
    const seen = [];
    for await (const i of count()) seen.push(i);
    const o = {}; const r = new WeakRef(o);
    return { seen, same: r.deref() === o, big: String(2n ** 70n), named: new Named('p').name('x'), shown: new Base('b').shown, at: [1, 2, 3].at(-1), group: 'a1b2'.replace(/(?<l>[a-z])/g, '<$<l>>'), grouped: Object.groupBy([1, 2, 3], n => n % 2 ? 'odd' : 'even').odd.length };
  },
  async timers() {
    const seen = [];
    const stop = setInterval(() => seen.push('tick'), 1);
    await new Promise(done => setTimeout(done, 20));
    clearInterval(stop);
    await new Promise(done => setImmediate(done));
    const cancelled = setTimeout(() => seen.push('never'), 1); clearTimeout(cancelled);
    process.nextTick(() => seen.push('next')); await new Promise(done => setTimeout(done, 3));
    return { ticked: seen.includes('tick'), never: seen.includes('never'), last: seen.at(-1) };
  },
  async bytes() {
    const b = Buffer.from('grüße €😀');
    return { hex: b.toString('hex'), base64: b.toString('base64'), back: Buffer.from(b.toString('base64url'), 'base64url').toString(), n: Buffer.concat([b, Buffer.alloc(2)]).length, text: new TextDecoder().decode(new TextEncoder().encode('ä')), bad: new TextDecoder().decode(Uint8Array.of(0xff, 65)), part: b.subarray(0, 2).toString(), is: Buffer.isBuffer(b.slice(1)), n32: Buffer.from([1, 2, 3, 4]).readUInt32BE(0), atob: atob(btoa('hi')), latin: Buffer.from('é', 'latin1').length };
  },
  async urls() {
    const u = new URL('../b/c?x=1&y=a%20b#top', 'https://User:pw@Example.org:443/a/z/');
    u.searchParams.append('z', 'ä &');
    const v = new URL('http://h:8080'); v.pathname = 'p'; v.hash = 'f';
    let bad; try { new URL('nothing'); } catch (e) { bad = e.code; }
    return { href: u.href, host: u.host, port: u.port, y: u.searchParams.get('y'), origin: u.origin, v: String(v), bad, params: new URLSearchParams({ a: '1 2', b: '&' }).toString(), parsed: url.parse('http://h:1/p?q=1').path };
  },
  async modules() {
    assert.deepStrictEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] });
    let message; try { assert.strictEqual(1, 2, 'not the same'); } catch (e) { message = e.name + ' ' + e.message; }
    const uuid = crypto.randomUUID(), random = crypto.getRandomValues(new Uint8Array(8));
    const clone = structuredClone({ d: new Date(0), m: new Map([[1, { x: [1] }]]), s: new Set([1]) });
    return { message, join: path.join('/a', '../b', 'c.txt'), ext: path.extname('x.tar.gz'), format: util.format('%s=%d %j', 'a', 1, { b: 2 }), inspect: util.inspect({ a: 1, b: [1, 'x'] }), sha: crypto.createHash('sha256').update('a').update('b').digest('hex'), hmac: crypto.createHmac('sha1', 'k').update('d').digest('base64'), uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4/.test(uuid), random: random.length, date: clone.d.getTime(), map: clone.m.get(1).x[0] };
  },
  async loop() { for (;;) ; },
  async recursion() { const f = n => 1 + f(n + 1); return { n: f(0) }; },
  async memory() { const l = []; for (;;) l.push(new Uint8Array(1 << 20)); },
  async bigString() { let s = 'x'; for (;;) s += s; },
  async never() { await new Promise(() => {}); },
  async thrown() { const e = new RangeError('out of things'); throw e; },
  async thrownText() { throw 'just text'; },
  async unhandled() { Promise.reject(new Error('nobody cares')); await new Promise(done => setTimeout(done, 5)); return {}; },
  async inTimer() { setTimeout(() => { throw new Error('in a timer'); }, 1); await new Promise(done => setTimeout(done, 50)); return {}; },
  async partial() { const e = new Error('half done'); e.id = 'p1'; e.properties = { made: true }; e.reasons = ['it is not ready']; throw e; },
  async child() { require('child_process').execSync('true'); },
  async files() { require('node:fs').readFileSync('/etc/passwd'); },
  async native() { require('thing.node'); },
  async unknownPackage() { require('left-pad'); },
  async func() { return { f() {} }; },
  async nan() { return { n: 0 / 0 }; },
  async cycle() { const o = {}; o.o = o; return { o }; },
  async exits() { process.exit(3); },
  async fetches(inputs) {
    const r = await fetch(inputs.url, { method: 'PUT', headers: { 'X-Thing': 'a' }, body: JSON.stringify({ a: 1 }) });
    const missing = await fetch(new URL('missing', inputs.url));
    let refused; try { await fetch('http://127.0.0.1:1/'); } catch (e) { refused = e.name; }
    return { ok: r.ok, type: r.headers.get('content-type'), body: await r.json(), status: missing.status, text: await missing.text(), refused };
  },
};
const run = { async create(inputs) { return { id: 'x', outs: await cases[inputs.case](inputs) }; } };
const token = pulumi.secret('hush-hush');
const withSecret = { async create(inputs) { return { id: 'x', outs: { length: token.get().length, upper: token.get().toUpperCase() } }; } };
(async () => {
  for (const [name, p] of Object.entries({ life, run, secret: withSecret })) {
    const f = await sc.serializeFunction(() => p, { allowSecrets: true });
    fs.writeFileSync(`${out}/${name}.js.txt`, f.text);
    console.log(name, f.containsSecrets, f.text.length);
  }
})();
