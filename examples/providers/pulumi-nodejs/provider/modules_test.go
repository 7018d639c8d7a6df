package provider_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/examples/providers/pulumi-nodejs/provider"
)

// answered returns what a function of that body answers, as text.
func answered(t *testing.T, p abi.Provider, body string) (string, error) {
	t.Helper()
	created, err := p.Create(t.Context(), abi.CreateRequest{URN: resource, Type: token, Inputs: written(body+`; return { id: "x", outs: { out: typeof out === "string" ? out : JSON.stringify(out) } }`, nil)})
	text, _ := created.State.Get("out").AsString()
	return text, err
}

// encrypted is a private key of Ed25519 whose passphrase is pass, as Node.js wrote it.
const encrypted = "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAi6LYA+zU/SWQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEH9zWZcuOJEoCKJZrySLkaQEQNTVxlNXrtmevBZnbb4fBBZ6gxbkHPQDTjWMbh0yl/+MR06vf5Hs18M5Es4ewpt/T6kb88lP0bkTNdO47+KPINU="

// The results are those of Node.js.
func TestModulesOfNode(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		if r.URL.Path == "/form" {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			file, head, err := r.FormFile("file")
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			text, _ := io.ReadAll(file)
			_, _ = io.WriteString(w, r.FormValue("name")+" "+head.Filename+" "+string(text))
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("X-Thing")+" "+r.Header.Get("Authorization")+" "+string(body))
	}))
	defer server.Close()
	cases := map[string]struct{ body, want string }{
		"compression":                    {`const z = require("zlib"); let out = z.inflateSync(Buffer.from("eJwrSa0oUSiBEQApogWQ", "base64")) + "," + z.unzipSync(Buffer.from("H4sIAAAAAAAAAytJrSgBAMenizsEAAAA", "base64")) + "," + z.gunzipSync(z.gzipSync("x".repeat(9000))).length + "," + z.inflateRawSync(z.deflateRawSync("raw")) + "," + z.crc32("text")`, "text text text,text,9000,raw,999008199"},
		"compression later":              {`const z = require("zlib"), u = require("util"); let out = String(await u.promisify(z.gunzip)(await u.promisify(z.gzip)("later"))); try { z.gunzipSync("no") } catch (e) { out += " " + e.code }`, "later Z_DATA_ERROR"},
		"streams":                        {`const s = require("stream"), z = require("node:zlib"); let out = ""; const up = new s.Transform({ transform(c, e, done) { done(null, String(c).toUpperCase()) } }); await s.promises.pipeline(s.Readable.from(["one ", "two"], { objectMode: false }), z.createGzip(), z.createGunzip(), up, new s.Writable({ write(c, e, done) { out += c; done() } }))`, "ONE TWO"},
		"a stream that is read":          {`const s = require("stream"); const r = new s.PassThrough(); r.write("a€".slice(0, 2)); r.end("z"); r.setEncoding("utf8"); let out = ""; for await (const c of r) out += c`, "a€z"},
		"old buffers":                    {`let out = [Buffer("a"), new Buffer("YQ==", "base64"), new Buffer([98]), Buffer(2).length, Buffer("ab").slice(1) instanceof Buffer, Buffer.from("a").constructor === Buffer].join()`, "a,a,b,2,true,true"},
		"a stream that is not destroyed": {`const s = require("stream"); const r = new s.Readable({ autoDestroy: false, highWaterMark: 0, read() { this.push(this.n ? null : "x"); this.n = 1 } }); let out = ""; for await (const c of r) out += c; out += r.destroyed`, "xfalse"},
		"old classes":                    {`const s = require("stream"), u = require("util"), E = require("events"); function Old() { s.Writable.call(this); E.call(this) } u.inherits(Old, s.Writable); Old.prototype._write = function (c, e, done) { this.got = (this.got || "") + c; done() }; const o = new Old(); o.write("x"); o.end("y"); await E.once(o, "finish"); let out = o.got + (o instanceof E)`, "xytrue"},
		"a failing stream":               {`const s = require("stream"); let out; try { await s.promises.pipeline(s.Readable.from([1]), new s.Transform({ objectMode: true, transform(c, e, done) { done(new Error("bad " + c)) } }), new s.PassThrough({ objectMode: true })) } catch (e) { out = e.message }`, "bad 1"},
		"http":                           {`const http = require("http"); let out = await new Promise((done, failed) => { const r = http.request(URL + "/p?q=1", { method: "PUT", headers: { "X-Thing": "a", "Content-Length": 4 }, auth: "u:p" }, m => { let s = m.statusCode + " "; m.on("data", c => s += c).on("end", () => done(s + " " + m.headers["set-cookie"])) }); r.on("error", failed); r.write("te"); r.end("xt") })`, "202 PUT /p?q=1 a Basic dTpw text a=1,b=2"},
		"http that fails":                {`let out = await new Promise(done => require("https").get("http://127.0.0.1:1/", () => {}).on("error", e => done(e.code)))`, "ECONNREFUSED"},
		"a form":                         {`const f = new FormData(); f.append("name", "n"); f.append("file", new Blob(["contents"], { type: "text/plain" }), "f.txt"); let out = await (await fetch(URL + "/form", { method: "POST", body: f })).text()`, "n f.txt contents"},
		"derived keys":                   {`const c = require("crypto"); let out = c.pbkdf2Sync("password", "salt", 2, 24, "sha512").toString("hex") + " " + Buffer.from(c.hkdfSync("sha256", "key", "salt", "info", 16)).toString("hex")`, "e1d9c16aa681708a45f5c7c4e215ceb66e011a2e9f004071 9ca0d662557439e3b83365f2da4626d3"},
		"AES in CBC":                     {`const c = require("crypto"), k = Buffer.alloc(32, 1), iv = Buffer.alloc(16, 2), e = c.createCipheriv("aes-256-cbc", k, iv), h = e.update("text of 17 bytes!", "utf8", "hex") + e.final("hex"), d = c.createDecipheriv("aes-256-cbc", k, iv); let out = h + " " + d.update(h, "hex", "utf8") + d.final("utf8")`, "55a383e95f088efb3d73f6fb4ac7abd8814e4fe433c3bf47eecb18307cc59934 text of 17 bytes!"},
		"AES in GCM":                     {`const c = require("crypto"), k = Buffer.alloc(16, 1), iv = Buffer.alloc(12, 2), e = c.createCipheriv("aes-128-gcm", k, iv); e.setAAD(Buffer.from("more")); const h = e.update("text", "utf8", "hex") + e.final("hex"), open = tag => { const d = c.createDecipheriv("aes-128-gcm", k, iv); d.setAAD(Buffer.from("more")); d.setAuthTag(tag); return d.update(h, "hex", "utf8") + d.final("utf8") }; let out = h + " " + e.getAuthTag().toString("hex") + " " + open(e.getAuthTag()); try { open(Buffer.alloc(16)) } catch (x) { out += " " + x.message.slice(0, 17) }`, "27816817 1690ce32855df4dda8fb99fc3a84530a text Unsupported state"},
		"AES in CTR":                     {`const e = require("crypto").createCipheriv("aes-192-ctr", Buffer.alloc(24, 1), Buffer.alloc(16, 2)); let out = e.update("text", "utf8", "hex") + e.final("hex")`, "9fe96f44"},
		"an unknown cipher":              {`let out; try { require("crypto").createCipheriv("des-cbc", "", "") } catch (e) { out = e.code }`, "ERR_CRYPTO_UNKNOWN_CIPHER"},
		"Ed25519":                        {`const c = require("crypto"), k = c.createPrivateKey({ key: { kty: "OKP", crv: "Ed25519", d: "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc", x: "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw" }, format: "jwk" }), s = c.sign(null, "text", k); let out = s.toString("base64") + " " + c.verify(null, "text", c.createPublicKey(k), s) + c.verify(null, "other", k, s)`, "PBMMs3ABQqOzb5JMlR0K8NYoevZCiMt8R244AVTAQkMMIU9x+LCtjdFalKyGCmdpsoM1whelvwpHUdbYjuAIBA== truefalse"},
		"an encrypted key":               {`const c = require("crypto"), q = { key: Buffer.from("` + encrypted + `", "base64"), format: "der", type: "pkcs8" }; let out = c.createPrivateKey({ ...q, passphrase: "pass" }).export({ format: "jwk" }).x; try { c.createPrivateKey({ ...q, passphrase: "word" }) } catch (e) { out += " " + e.message }`, "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw the passphrase of the key is wrong"},
		"RSA":                            {`const c = require("crypto"), u = require("util"), { publicKey, privateKey } = await u.promisify(c.generateKeyPair)("rsa", { modulusLength: 1024, publicKeyEncoding: { type: "spki", format: "pem" }, privateKeyEncoding: { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "pass" } }), k = { key: privateKey, passphrase: "pass" }, s = c.createSign("RSA-SHA256").update("te").update("xt").sign(k, "base64"); let out = [c.createVerify("SHA256").update("text").verify(publicKey, s, "base64"), c.createVerify("SHA256").update("tex").verify(publicKey, s, "base64"), String(c.privateDecrypt(k, c.publicEncrypt(publicKey, Buffer.from("short")))), privateKey.split("\n")[0], c.createPublicKey(publicKey).asymmetricKeyDetails.modulusLength].join()`, "true,false,short,-----BEGIN ENCRYPTED PRIVATE KEY-----,1024"},
		"ECDSA":                          {`const c = require("crypto"), { publicKey, privateKey } = c.generateKeyPairSync("ec", { namedCurve: "P-256" }), s = c.sign("sha256", "text", { key: privateKey, dsaEncoding: "ieee-p1363" }); let out = s.length + " " + c.verify("sha256", "text", { key: publicKey, dsaEncoding: "ieee-p1363" }, s) + " " + privateKey.export({ type: "sec1", format: "pem" }).split("\n")[0]`, "64 true -----BEGIN EC PRIVATE KEY-----"},
		"a signature of another size":    {`const c = require("crypto"), { publicKey, privateKey } = c.generateKeyPairSync("ec", { namedCurve: "P-256" }), s = c.sign("sha256", "text", { key: privateKey, dsaEncoding: "ieee-p1363" }), zero = Buffer.alloc(1); let out = c.verify("sha256", "text", { key: publicKey, dsaEncoding: "ieee-p1363" }, Buffer.concat([zero, s.subarray(0, 32), zero, s.subarray(32)]))`, "false"},
		"X25519":                         {`const c = require("crypto"), { publicKey, privateKey } = c.generateKeyPairSync("x25519"); let out = privateKey.asymmetricKeyType + c.createPublicKey(privateKey).equals(publicKey)`, "x25519true"},
		"a token":                        {`const c = require("crypto"), b = o => Buffer.from(JSON.stringify(o)).toString("base64url"), head = b({ alg: "HS256" }) + "." + b({ sub: "a" }); let out = head + "." + c.createHmac("sha256", c.createSecretKey("key", "utf8")).update(head).digest("base64url")`, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.s1mC5JEn7aIunB7VBvqDeWc4TqMwJKsf21AHPIaXGjQ"},
		"imports":                        {`const { createHash } = await import("node:crypto"), path = await import("path"); let out = createHash("md5").update("a import(b)").digest("hex").length + path.default.basename("a/b") + "import('x')"`, "32bimport('x')"},
		"a require of its own":           {`let out = require("module").createRequire("/dir/file.js")("node:path").basename("a/b")`, "b"},
		"numbers and dates":              {`let out = [(1234567.891).toLocaleString("en-US"), new Intl.NumberFormat("en", { style: "currency", currency: "EUR" }).format(1234.5), new Date(Date.UTC(2024, 1, 3, 15, 4, 5)).toLocaleString("en-US", { timeZone: "UTC" }).replace("\u202f", " "), new Intl.DateTimeFormat("en", { dateStyle: "full" }).format(0), ["b", "ä", "A", "a"].sort((a, b) => a.localeCompare(b)).join(""), new Intl.PluralRules("en").select(2)].join("|")`, "1,234,567.891|€1,234.50|2/3/2024, 3:04:05 PM|Thursday, January 1, 1970|aAäb|other"},
		"decoded text":                   {`const d = new (require("string_decoder").StringDecoder)("utf8"); let out = d.write(Buffer.from([0xe2, 0x82])) + d.write(Buffer.from([0xac])) + d.end()`, "€"},
		"local storage":                  {`const s = new (require("async_hooks").AsyncLocalStorage)(); let out = s.run(1, () => s.getStore()) + String(s.getStore())`, "1undefined"},
	}
	p := provider.New()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			out, err := answered(t, p, strings.ReplaceAll(cases[name].body, "URL +", `"`+server.URL+`" +`))
			require.NoError(t, err)
			require.Equal(t, cases[name].want, out)
		})
	}
}

// Functions read and write the files of directories, as Node.js does.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for body, want := range map[string]string{
		`fs.mkdirSync("d/e", { recursive: true }); fs.writeFileSync("d/e/f.txt", "one"); fs.appendFileSync("d/e/f.txt", "+two"); let out = await fs.promises.readFile("d/e/f.txt", "utf8") + fs.statSync("d/e/f.txt").size + fs.statSync("d").isDirectory()`: "one+two7true",
		`let out; try { fs.readFileSync("none") } catch (e) { out = e.code + "|" + e.message }`:                                                                        "ENOENT|ENOENT: no such file or directory, open 'none'",
		`let out; try { fs.writeFileSync("x", "1"); fs.writeFileSync("x", "2", { flag: "wx" }) } catch (e) { out = e.code + fs.existsSync("x") + fs.existsSync("y") }`: "EEXISTtruefalse",
		`fs.mkdirSync("l/m", { recursive: true }); fs.writeFileSync("l/a", ""); let out = fs.readdirSync("l").concat(fs.readdirSync("l", { withFileTypes: true }).filter(e => e.isDirectory()).map(e => e.name + "/"), fs.readdirSync("l", { recursive: true }).length).join(); fs.rmSync("l", { recursive: true })`:                                                                                                                                                                                "a,m,m/,2",
		`const w = fs.createWriteStream("s"); w.write("stre"); w.end("am"); await require("events").once(w, "finish"); let out = ""; for await (const c of fs.createReadStream("s", { encoding: "utf8", start: 1 })) out += c`:                                                                                                                                                                                                                                                                      "tream",
		`fs.mkdirSync("empty"); fs.mkdirSync("outer/inner", { recursive: true }); fs.writeFileSync("full", "1"); fs.writeFileSync("small", "2"); let out = ""; for (const f of [() => fs.rmdirSync("full"), () => fs.unlinkSync("empty"), () => fs.rmSync("empty"), () => fs.rmdirSync("outer"), () => fs.copyFileSync("small", "full", fs.constants.COPYFILE_EXCL)]) try { f() } catch (e) { out += e.code + " " } fs.rmdirSync("empty"); out += fs.readFileSync("full") + fs.existsSync("empty")`: "ENOTDIR EISDIR EISDIR ENOTEMPTY EEXIST 1false",
		`let out = await new Promise(done => fs.readFile("none", (e, v) => done(e.code + v)))`:                                                                                                                                "ENOENTundefined",
		`fs.writeFileSync("from", "m"); fs.renameSync("from", "to"); fs.copyFileSync("to", "copy"); fs.unlinkSync("to"); let out = fs.readFileSync("copy") + String(fs.existsSync("to")) + fs.readFileSync("copy", "base64")`: "mfalsebQ==",
	} {
		out, err := answered(t, provider.New(), `const fs = require("fs"); `+body)
		require.NoError(t, err, body)
		require.Equal(t, want, out, body)
	}
}

// The packages of a directory node_modules that the provider can read work, if they are for CommonJS.
func TestPackages(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"plain/package.json":                          `{"name": "plain", "main": "lib"}`,
		"plain/lib/index.js":                          `const { twice } = require("../twice"); exports.run = s => twice(s) + require("./data.json").mark + __filename; exports.self = require("./cycle")`,
		"plain/lib/data.json":                         `{"mark": "!"}`,
		"plain/lib/cycle.js":                          `exports.done = typeof require("./index").run`,
		"plain/twice.js":                              `#!/usr/bin/env node` + "\n" + `"use strict"; exports.twice = s => s + s`,
		"@scope/exports/package.json":                 `{"name": "@scope/exports", "exports": {".": {"import": "./index.mjs", "require": "./index.cjs"}, "./feature/*": "./f/*.js", "./hidden": null}, "imports": {"#inner": "./f/inner.js"}}`,
		"@scope/exports/index.mjs":                    `export default 1`,
		"@scope/exports/index.cjs":                    `module.exports = function () { return require("#inner") + require("nested").name }; module.exports.late = async () => (await import("plain")).run("b")`,
		"@scope/exports/f/inner.js":                   `module.exports = "inner"`,
		"@scope/exports/f/a.js":                       `module.exports = "feature a"`,
		"@scope/exports/node_modules/nested/index.js": `exports.name = "nested"`,
		"nested/index.js":                             `exports.name = "wrong"`,
		"modern/package.json":                         `{"name": "modern", "type": "module", "exports": "./index.js"}`,
		"modern/index.js":                             `export default 1`,
		"loads/index.js":                              `const { spawn } = require("child_process"), net = require("net"); class Socket extends net.Socket {} exports.ok = typeof spawn + typeof Socket; exports.run = () => spawn("true")`,
		"binding/index.js":                            `module.exports = require("./build/binding.node")`,
		"binding/build/binding.node":                  "",
	} {
		file := filepath.Join("node_modules", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	p := provider.New()
	for body, want := range map[string]string{
		`let out = require("plain").run("a") + require("plain").self.done`:             "aa!node_modules/plain/lib/index.jsfunction",
		`let out = require("@scope/exports")() + require("@scope/exports/feature/a")`:  "innernestedfeature a",
		`let out = await require("@scope/exports").late()`:                             "bb!node_modules/plain/lib/index.js",
		`let out = typeof (await import("plain")).default.run`:                         "function",
		`let out = require("plain/twice.js").twice("c") + require("loads").ok`:         "ccfunctionfunction",
		`let out = require.resolve("plain") + (require("plain") === require("plain"))`: "node_modules/plain/lib/index.jstrue",
	} {
		out, err := answered(t, p, body)
		require.NoError(t, err, body)
		require.Equal(t, want, out, body)
	}
	for body, want := range map[string]string{
		`let out = require("modern")`:      "node_modules/modern/index.js, an ES module, which the sandbox does not load: use a version of the package modern for CommonJS",
		`let out = require("loads").run()`: "needs the module child_process of Node.js, which does not work in the sandbox: a sandboxed provider starts no processes",
		`let out = require("binding")`:     "needs the native module node_modules/binding/build/binding.node, which cannot run in the sandbox",
		`let out = require("absent")`:      "needs the package absent, whose files are not in the sandbox: grant the provider pulumi-nodejs the directory that npm install has made, fs: [node_modules]",
	} {
		_, err := answered(t, p, body)
		require.ErrorContains(t, err, want)
	}
}

// What serves, starts, or connects is refused by a sentence that says what to do.
func TestModulesThatAreRefused(t *testing.T) {
	p := provider.New()
	for body, want := range map[string]string{
		`require("child_process").exec("true")`:       "a sandboxed provider starts no processes; do this outside the program, or use a provider made for it",
		`require("node:net").connect(1)`:              "needs the module net of Node.js, which does not work in the sandbox: a provider reaches other machines over HTTP only",
		`new (require("worker_threads").Worker)("x")`: "a sandboxed provider has one thread",
		`require("vm").runInNewContext("1")`:          "do this in the program, outside the functions of the dynamic provider",
		`require("http").createServer()`:              "http.createServer does not work in the sandbox of a provider, which serves nothing",
		`require("crypto").scryptSync("a", "b", 1)`:   "crypto.scryptSync does not work in the sandbox of a dynamic provider: use pbkdf2",
		`const c = require("crypto"), { publicKey, privateKey } = c.generateKeyPairSync("rsa", { modulusLength: 1024 }); c.publicEncrypt({ key: publicKey, padding: c.constants.RSA_NO_PADDING }, Buffer.alloc(128))`: "does not do this with the padding 3 of RSA, but with [1 4]",
		`const c = require("crypto"), { publicKey, privateKey } = c.generateKeyPairSync("rsa", { modulusLength: 1024 }); c.sign("sha256", "text", { key: privateKey, padding: c.constants.RSA_PKCS1_OAEP_PADDING })`:  "does not do this with the padding 4 of RSA, but with [1 6]",
		`const c = require("crypto"), { publicKey, privateKey } = c.generateKeyPairSync("rsa", { modulusLength: 1024 }); c.verify("sha256", "text", { key: publicKey, padding: 3 }, "")`:                              "does not do this with the padding 3 of RSA, but with [1 6]",
		`const c = require("crypto"), { publicKey, privateKey } = c.generateKeyPairSync("rsa", { modulusLength: 1024 }); c.sign("sha256", "text", { key: privateKey, padding: 6, saltLength: 0 })`:                    "has no PSS with a saltLength of 0",
		`require("crypto").generateKeyPairSync("rsa-pss", { modulusLength: 1024 })`:                                  "makes keys of rsa, ec, ed25519, and x25519, and not of \"rsa-pss\"",
		`require("crypto").createCipheriv("aes-128-gcm", Buffer.alloc(16), Buffer.alloc(12), { authTagLength: 12 })`: "has GCM with an authTagLength of 16 alone",
		`require("zlib").brotliCompressSync("a")`:                                                                    "the sandbox of a dynamic provider has no Brotli: use gzip",
		`new Intl.DateTimeFormat("en", { timeZone: "Europe/Zurich" })`:                                               "the time zone Europe/Zurich is not known in the sandbox of a provider, which has UTC",
	} {
		_, err := answered(t, p, `let out = "done"; `+body)
		require.ErrorContains(t, err, want, body)
	}
}
