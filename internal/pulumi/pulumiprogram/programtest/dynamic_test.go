package programtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// newDynamic returns a project with a program whose dynamic resources may send requests to the service.
func newDynamic(t *testing.T, service, program string) *project {
	t.Helper()
	p := newNode(t, program)
	text, err := os.ReadFile(filepath.Join(p.dir, "Pulumi.yaml"))
	require.NoError(t, err)
	entry := "    - name: pulumi-nodejs\n      path: " + testmodule.File(t, "../../../../examples/providers/pulumi-nodejs") + "\n"
	if service != "" {
		entry += "      grants:\n        http: [\"" + service + "\"]\n"
	}
	p.write("Pulumi.yaml", string(text)+entry)
	return p
}

// things is a service with things, which records what is asked of it.
type things struct {
	mu    sync.Mutex
	asked []string
}

func (s *things) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+body.String())
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		_, _ = w.Write([]byte(`{"id": "thing-1", "version": 1}`))
		return
	}
	_, _ = w.Write([]byte(`{"id": "thing-1", "version": 2}`))
}

// The whole life of a dynamic resource: its functions are serialized by the published SDK, capture a secret and a
// function of another file, and call a service.
func TestADynamicResourceLives(t *testing.T) {
	service := &things{}
	server := httptest.NewServer(service)
	defer server.Close()
	program := func(name, size string) string {
		return `
const {slug, Namer} = require('./naming');
const token = new pulumi.Config().requireSecret('token');
const url = '` + server.URL + `/things';
const crypto = require('crypto');
const provider = {
	async configure(req) { this.color = req.config.require('color'); },
	async check(olds, news) {
		const failures = news.size < 0 ? [{property: 'size', reason: 'it must not be negative'}] : [];
		return {inputs: {...news, title: slug(news.title)}, failures};
	},
	async diff(id, olds, news) {
		const replaces = olds.title === news.title ? [] : ['title'];
		return {changes: replaces.length > 0 || olds.size !== news.size, replaces, deleteBeforeReplace: true};
	},
	async create(inputs) {
		async function* parts() { yield 'a'; await new Promise(r => setTimeout(r, 2)); yield 'b'; }
		let joined = '';
		for await (const part of parts()) joined += part;
		const r = await fetch(url, {method: 'POST', body: JSON.stringify({title: inputs.title}), headers: {Authorization: 'Bearer ' + token.get()}});
		const thing = await r.json();
		console.log('created ' + thing.id);
		return {id: thing.id, outs: {...inputs, version: thing.version, joined, color: this.color, name: new Namer('n').name(inputs.title), sum: crypto.createHash('sha256').update('x').digest('hex')}};
	},
	async read(id, props) {
		const thing = await (await fetch(url + '/' + id)).json();
		return {id, props: {...props, version: thing.version}};
	},
	async update(id, olds, news) {
		return {outs: {...olds, ...news, version: olds.version + 1}};
	},
	async delete(id, props) { await fetch(url + '/' + id, {method: 'DELETE'}); },
};
class Thing extends pulumi.dynamic.Resource {
	constructor(name, props, opts) { super(provider, name, {version: undefined, joined: undefined, name: undefined, sum: undefined, color: undefined, ...props}, opts); }
}
const thing = new Thing('thing', {title: '` + name + `', size: ` + size + `});
exports.id = thing.id;
exports.version = pulumi.interpolate` + "`v${thing.version}`" + `;
exports.joined = thing.joined;
exports.color = thing.color;
exports.name = thing.name;
exports.sum = thing.sum;
`
	}
	p := newDynamic(t, server.URL, program("My Thing", "1"))
	p.write("naming.js", "exports.slug = s => s.toLowerCase().replace(/ /g, '-');\nclass Base { constructor(prefix) { this.prefix = prefix; } }\nexports.Namer = class Namer extends Base { constructor(prefix) { super(prefix); } name(s) { return this.prefix + ':' + s; } };\n")
	require.NoError(t, p.stack().SetConfig(t.Context(), "shop:token", "hush-hush", true))
	result, err := p.preview()
	require.NoError(t, err, p.text.String())
	require.Equal(t, 2, result.Changes.Create) // with the stack
	require.Empty(t, service.asked)

	require.Equal(t, 2, p.up().Create, p.text.String())
	require.Equal(t, []string{`POST /things Bearer hush-hush {"title":"my-thing"}`}, service.asked)
	require.Contains(t, p.text.String(), "created thing-1")
	require.NotContains(t, p.text.String(), "hush-hush")
	for name, value := range map[string]string{"id": "thing-1", "version": "v1", "joined": "ab", "color": "red", "name": "n:my-thing",
		"sum": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"} {
		require.Equal(t, value, p.output(name), name)
	}
	require.NoError(t, filepath.WalkDir(filepath.Join(p.dir, ".husk"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), "hush-hush", path)
		return err
	}))

	require.Zero(t, p.up().Total(), p.text.String())
	_, err = p.run(engine.Refresh{}) // the service has another version now, which diff ignores
	require.NoError(t, err, p.text.String())

	p.program(program("My Thing", "2"))
	require.Equal(t, 1, p.up().Update, p.text.String())
	require.Equal(t, "v3", p.output("version"))

	p.program(program("Other", "2"))
	service.asked = nil
	require.Equal(t, 1, p.up().Replace, p.text.String())
	require.Equal(t, []string{"DELETE /things/thing-1  ", `POST /things Bearer hush-hush {"title":"other"}`}, service.asked)

	p.program(program("Other", "-1"))
	_, err = p.run(engine.Up{})
	require.Error(t, err)
	require.Contains(t, p.text.String(), "it must not be negative")
	p.destroy(2)
}

// Functions that capture no secret are recorded as they are, and those of the state delete what is not in the program any more.
func TestADynamicResourceWithoutSecrets(t *testing.T) {
	program := func(title, size string) string {
		return `
const prefix = 'made-';
const provider = {
	async diff(id, olds, news) {
		return {changes: olds.title !== news.title || olds.size !== news.size, replaces: olds.title === news.title ? [] : ['title'], stables: ['title']};
	},
	async create(inputs) { console.log('creates ' + inputs.title); return {id: prefix + inputs.title, outs: {...inputs, version: 1}}; },
	async update(id, olds, news) { console.log('updates ' + id); return {outs: {...news, version: olds.version + 1}}; },
	async delete(id, props) { console.log('deletes ' + id + ' of version ' + props.version); },
};
class Thing extends pulumi.dynamic.Resource {
	constructor(name, props, opts) { super(provider, name, {version: undefined, ...props}, opts); }
}
const thing = new Thing('thing', {title: '` + title + `', size: ` + size + `});
exports.id = thing.id;
exports.version = pulumi.interpolate` + "`v${thing.version}`" + `;
`
	}
	p := newDynamic(t, "", program("a", "1"))
	var said []string
	p.said = func(d engine.Diagnostic) {
		if strings.HasPrefix(d.Message, "creates ") || strings.HasPrefix(d.Message, "updates ") || strings.HasPrefix(d.Message, "deletes ") {
			said = append(said, d.Message)
		}
	}
	require.Equal(t, 2, p.up().Create, p.text.String())
	require.Equal(t, "made-a v1", p.output("id")+" "+p.output("version"))
	for name, m := range map[string]property.Map{"inputs": p.recorded("thing").Inputs, "outputs": p.recorded("thing").Outputs} {
		code, isText := m.Get("__provider").AsString()
		require.True(t, isText, "the code in the %s is no secret: %v", name, m)
		require.Contains(t, code, "exports.handler", name)
	}

	require.Equal(t, engine.Changes{Same: 2}, p.up(), p.text.String())
	p.program(program("a", "2"))
	require.Equal(t, engine.Changes{Same: 1, Update: 1}, p.up(), p.text.String())
	require.Equal(t, "made-a v2", p.output("id")+" "+p.output("version"))
	p.program(program("b", "2"))
	require.Equal(t, 1, p.up().Replace, p.text.String())
	require.Equal(t, "made-b v1", p.output("id")+" "+p.output("version"))
	p.program("")
	require.Equal(t, 1, p.up().Delete, p.text.String())
	require.Equal(t, []string{"creates a", "updates made-a", "creates b", "deletes made-a of version 2", "deletes made-b of version 1"}, said)
}

// What a closure cannot do is an error that says so, and leaves the state whole.
func TestDynamicResourcesThatFail(t *testing.T) {
	cases := []struct{ create, want string }{
		{"throw new TypeError('no more things')", "TypeError: no more things"},
		{"require('child_process').execSync('true')", "needs the module child_process of Node.js, which does not work in the sandbox"},
		{"require('@grpc/grpc-js')", "needs the package @grpc/grpc-js"},
		{"await fetch('http://127.0.0.1:9/x')", "http://127.0.0.1:9"},
		{"const f = n => 1 + f(n + 1); f(0)", "Maximum call stack size exceeded"},
		{"const l = []; for (;;) l.push(new Uint8Array(1 << 20))", "out of memory"},
	}
	var program strings.Builder
	for i, c := range cases {
		fmt.Fprintf(&program, "new pulumi.dynamic.Resource({async create() { %s; return {id: 'x', outs: {}}; }}, 'r%d', {});\n", c.create, i)
	}
	p := newDynamic(t, "", program.String())
	_, err := p.run(engine.Up{ContinueOnError: true})
	require.Error(t, err)
	for _, c := range cases {
		require.Contains(t, p.text.String(), c.want)
	}
	p.program("")
	require.Zero(t, p.up().Total(), p.text.String())
}

// The limits of the host end functions that do not end by themselves.
func TestADynamicResourceThatDoesNotEnd(t *testing.T) {
	p := newDynamic(t, "", "new pulumi.dynamic.Resource({async create() { for (;;); }}, 'r', {});")
	text, err := os.ReadFile(filepath.Join(p.dir, "Pulumi.yaml"))
	require.NoError(t, err)
	p.write("Pulumi.yaml", string(text)+"      limits: {fuel: 200000000000}\n")
	_, err = p.run(engine.Up{})
	require.Error(t, err)
	require.Contains(t, p.text.String(), "it used more than the 200000000000 units of fuel that it may use")
}

// Without its provider, a dynamic resource is an error that says what to add to the project.
func TestADynamicResourceNeedsItsProvider(t *testing.T) {
	p := newNode(t, "new pulumi.dynamic.Resource({async create() { return {id: 'x', outs: {}}; }}, 'r', {});")
	_, err := p.run(engine.Up{})
	require.Error(t, err)
	require.Contains(t, p.text.String(), "- name: pulumi-nodejs")
}

// The dynamic resources of Python are refused, because their code runs nowhere but in Python.
func TestDynamicResourcesOfPythonAreRefused(t *testing.T) {
	p := newPython(t)
	p.write("__main__.py", `
from pulumi.dynamic import CreateResult, Resource, ResourceProvider

class Provider(ResourceProvider):
    def create(self, props):
        return CreateResult("x", {})

class Thing(Resource):
    pass

Thing(Provider(), "r", {})
`)
	_, err := p.run(engine.Up{})
	require.Error(t, err)
	require.Contains(t, p.text.String(), "a dynamic resource of Pulumi's SDK for Python, and husk does not run these")
	require.Contains(t, p.text.String(), "husk new provider --language python")
}

// What people's dynamic providers use, in one program: a package of npm, modules of Node.js, files, import(), and a service that wants a
// signature. What connects by itself is refused by a sentence.
func TestDynamicResourcesOfPublishedKinds(t *testing.T) {
	service := &things{}
	server := httptest.NewServer(service)
	defer server.Close()
	program := func(more string) string {
		return `
const crypto = require('crypto');
const http = require('http');
class Signed {
	constructor(key) { this.key = key; }
	async create(inputs) {
		const { shout } = require('shouting');
		const { gzipSync, gunzipSync } = await import('node:zlib');
		const text = require('fs').readFileSync(inputs.file, 'utf8');
		pulumi.log.info('signs ' + inputs.file);
		const body = shout(gunzipSync(gzipSync(text)).toString());
		const answer = await new Promise((resolve, reject) => {
			const r = http.request(inputs.url, {method: 'POST', headers: {Authorization: crypto.createHmac('sha256', this.key).update(body).digest('hex').slice(0, 8)}}, res => {
				let s = '';
				res.on('data', c => s += c).on('end', () => resolve(JSON.parse(s)));
			});
			r.on('error', reject);
			r.end(body);
		});
		` + more + `
		return {id: answer.id, outs: {...inputs, body, when: new Date(0).toLocaleDateString('en-US', {timeZone: 'UTC'})}};
	}
}
class Thing extends pulumi.dynamic.Resource {
	constructor(name, props) { super(new Signed('key'), name, {body: undefined, when: undefined, ...props}); }
}
const thing = new Thing('thing', {file: 'texts/a.txt', url: '` + server.URL + `/things'});
exports.body = thing.body;
exports.when = thing.when;
`
	}
	p := newDynamic(t, server.URL, program(""))
	t.Setenv("NODE_PATH", filepath.Join(p.dir, "packages"))
	for name, text := range map[string]string{
		"packages/shouting/package.json": `{"name": "shouting", "exports": {"require": "./main.cjs", "default": "./main.mjs"}}`,
		"packages/shouting/main.cjs":     "exports.shout = s => s.toUpperCase() + require('./mark');",
		"packages/shouting/mark.js":      "module.exports = '!';",
		"texts/a.txt":                    "a text",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(p.dir, name)), 0o755))
		p.write(name, text)
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "Pulumi.yaml"))
	require.NoError(t, err)

	_, err = p.run(engine.Up{})
	require.Error(t, err)
	require.Contains(t, p.text.String(), "needs the package shouting, whose files are not in the sandbox: grant the provider pulumi-nodejs the directory")

	p.write("Pulumi.yaml", string(text)+"        fs: ["+filepath.Join(p.dir, "packages")+", texts]\n        env: [NODE_PATH]\n")
	require.Equal(t, 1, p.up().Create, p.text.String())
	require.Contains(t, p.text.String(), "signs texts/a.txt")
	require.Equal(t, "A TEXT!", p.output("body"))
	require.Equal(t, "1/1/1970", p.output("when"))
	require.Equal(t, []string{"POST /things 51caf2f8 A TEXT!"}, service.asked)

	p.program(strings.ReplaceAll(program("await new Promise((_, failed) => require('net').connect(5432, 'db').on('error', failed));"), "'thing', {", "'other', {"))
	_, err = p.run(engine.Up{})
	require.Error(t, err)
	require.Contains(t, p.text.String(), "needs the module net of Node.js, which does not work in the sandbox: a provider reaches other machines over HTTP only")
}
