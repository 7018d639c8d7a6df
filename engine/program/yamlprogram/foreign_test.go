package yamlprogram

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/contents"
)

// What the program writes and what its configuration has is the user's own; what comes from a
// resource, a function, another stack, or a file is not, whatever is computed of it.
func TestWhatIsForeign(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "project")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"project/note.txt", "project/10.0.0.1", "shared.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte("note.txt"), 0o600))
	}
	for _, c := range []struct {
		x string
		// foreign is what is told to be foreign, and what the program wrote of it; empty for nothing.
		foreign string
	}{
		{`{fn::fileAsset: ./note.txt}`, ""},
		{`{fn::fileAsset: ../shared.txt}`, ""},
		{`{fn::fileAsset: "${pulumi.cwd}/../shared.txt"}`, ""},
		{`{fn::fileAsset: "${dir}/shared.txt"}`, ""},
		{`{fn::fileAsset: {fn::join: ["/", ["${dir}", shared.txt]]}}`, ""},
		{`{fn::fileArchive: "${dir}"}`, ""},
		{`{fn::readFile: "${dir}/shared.txt"}`, ""},
		{`{fn::remoteAsset: "https://${domain}/a"}`, ""},
		{`{fn::remoteAsset: "file://${dir}/shared.txt"}`, ""},
		{`{fn::remoteAsset: {fn::select: [0, ["https://example.com/a", b]]}}`, ""},
		{`{fn::assetArchive: {a: {fn::fileAsset: note.txt}, b: {fn::stringAsset: "${server.address}"}}}`, ""},

		{`{fn::fileAsset: "${server.address}"}`, "asset(10.0.0.1) "},
		{`{fn::fileArchive: "./${server.address}"}`, "archive(./10.0.0.1) ./"},
		{`{fn::fileAsset: "${server.id}"}`, "asset(server-id) "},
		{`{fn::fileAsset: "${through}"}`, "asset(10.0.0.1) "},
		{`{fn::fileAsset: "${mixed.plain}"}`, "asset(x) "},
		{`{fn::fileAsset: {fn::join: ["", [a, "${server.address}"]]}}`, "asset(a10.0.0.1) "},
		{`{fn::fileAsset: {fn::select: [0, [a, "${server.address}"]]}}`, "asset(a) "},
		{`{fn::fileAsset: {fn::fromBase64: {fn::toBase64: "${server.address}"}}}`, "asset(10.0.0.1) "},
		{`{fn::fileAsset: {fn::invoke: {function: cloud:findImage, arguments: {name: x}, return: id}}}`, "asset(ami-1) "},
		{`{fn::fileAsset: "${image.id}"}`, "asset(ami-1) "},
		{`{fn::fileAsset: {fn::readFile: note.txt}}`, "asset(note.txt) "},
		{`{fn::fileAsset: "${told}"}`, "asset(note.txt) "},
		{`{fn::remoteAsset: "http://${server.address}/a"}`, "asset(http://10.0.0.1/a) http://"},
		{`{fn::remoteAsset: "https://${domain}/${server.address}/a"}`, "asset(https://example.com/10.0.0.1/a) https://example.com/"},
		{`{fn::remoteAsset: "https://${domain}/${greeting}-${server.id}-${domain}"}`, "asset(https://example.com/hello-server-id-example.com) https://example.com/hello-"},
		{`{fn::remoteArchive: "https://example.com/${server.address}.zip"}`, "archive(https://example.com/10.0.0.1.zip) https://example.com/"},
		{`{fn::remoteArchive: {fn::join: ["", ["https://example.com/", "${server.address}"]]}}`, "archive(https://example.com/10.0.0.1) "},
		{`{fn::assetArchive: {a: {fn::fileAsset: "${server.address}"}}}`, "asset(10.0.0.1) "},
	} {
		p := loadIn(t, dir, fmt.Sprintf(foreignSurroundings, c.x))
		monitor := &fakeMonitor{state: map[string]property.Map{"server": entries("address", "10.0.0.1")}}
		monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
			return abi.MonitorInvokeResponse{Result: entries("id", "ami-1")}, nil
		}
		run := runContext(abi.ConfigEntry{Key: "shop:domain", Value: "example.com"}, abi.ConfigEntry{Key: "shop:dir", Value: outside})
		require.NoError(t, p.Run(t.Context(), run, monitor), c.x)
		var want []string
		if c.foreign != "" {
			want = []string{c.foreign}
		}
		require.Equal(t, want, monitor.foreign, c.x)
	}
}

const foreignSurroundings = `
config:
  domain: {type: string}
  dir: {type: string}
variables:
  greeting: hello
  image: {fn::cloud:findImage: {name: x}}
  through: "${indirect[0]}"
  indirect: ["${server.address}"]
  mixed: {plain: x, server: "${server.address}"}
  told: {fn::readFile: note.txt}
resources:
  server:
    type: cloud:Server
    properties: {size: 2}
  probe:
    type: bare:index:Probe
    properties:
      value: %s
`

func TestForeignFilesAreReadWithinBounds(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "project")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"project/note.txt", "secret"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(name), 0o600))
	}
	for path, want := range map[string]string{
		"note.txt":  "",
		"../secret": "Husk.yaml:19:32: fn::readFile: ../secret was not chosen by the program, and it is outside of the directory of the project",
		"none":      "fn::readFile: there is no file none",
	} {
		p := loadIn(t, dir, fmt.Sprintf(foreignSurroundings, `{fn::readFile: "${server.address}"}`))
		monitor := &fakeMonitor{state: map[string]property.Map{"server": entries("address", path)}, source: contents.Source{Dir: dir}}
		monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
			return abi.MonitorInvokeResponse{Result: entries("id", "ami-1")}, nil
		}
		run := runContext(abi.ConfigEntry{Key: "shop:domain", Value: "example.com"}, abi.ConfigEntry{Key: "shop:dir", Value: outside})
		err := p.Run(t.Context(), run, monitor)
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, `<server>"project/note.txt"`, show(monitor.request(t, "probe").Inputs.Get("value")))
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

// What a resource depends on does not make its assets foreign: the evaluator has said which are.
func TestAssetsDependOnResourcesWithoutBeingTheirs(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "note.txt"), nil, 0o600))
	p := loadIn(t, dir, fmt.Sprintf(foreignSurroundings,
		`{a: {fn::assetArchive: {own: {fn::fileAsset: note.txt}, b: {fn::stringAsset: "${server.address}"}}}, plain: "${server.address}"}`))
	monitor := &fakeMonitor{state: map[string]property.Map{"server": entries("address", "10.0.0.1")}}
	monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		return abi.MonitorInvokeResponse{Result: entries("id", "ami-1")}, nil
	}
	run := runContext(abi.ConfigEntry{Key: "shop:domain", Value: "example.com"}, abi.ConfigEntry{Key: "shop:dir", Value: dir})
	require.NoError(t, p.Run(t.Context(), run, monitor))
	require.Empty(t, monitor.foreign)
	request := monitor.request(t, "probe")
	require.Equal(t, `{a: archive{b: asset(10.0.0.1), own: asset(note.txt)}, plain: "10.0.0.1"}`, show(request.Inputs.Get("value")))
	require.Len(t, request.PropertyDependencies, 1)
	require.Equal(t, "value", request.PropertyDependencies[0].Key)
	require.Len(t, request.PropertyDependencies[0].URNs, 1)
	require.Equal(t, "server", request.PropertyDependencies[0].URNs[0].Name())
}
