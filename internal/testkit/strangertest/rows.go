package strangertest

import "strings"

// Kind says what a text of a project stands for.
type Kind int

const (
	// Text names nothing outside of the project, or has rules of its own: names, versions, descriptions, values, and names that
	// only a sandboxed provider reads.
	Text Kind = iota
	// Path is the path of a file or directory.
	Path
	// URL is an address. A path can be written as one.
	URL
	// Address is the host of a service, alone or in a URL.
	Address
)

// Row is a place of a text in project files.
type Row struct {
	// Key is the place, as [Texts] has it.
	Key  string
	Kind Kind
	// Project is a project file without its name, with PATH for the path in quotes, PLAIN for the path, and HOST for the host of
	// an Address; empty for a Text.
	Project string
	// Lock is its husk.lock in the same form, empty for none.
	Lock string
	// Loads says that every command that loads the project refuses what it may not name. Else those do that use it.
	Loads bool
}

const (
	uses  = "\nresources: {a: {type: 'x:Y'}}\n"
	looks = "\nresources: {a: {type: 'spy:Look', properties: {paths: [], urls: ['http://HOST/asked'], texts: []}}}\n"
	trust = "plugins: {trust: {rules: [{source: '**', unsigned: true}], roots: [PATH]}}\n"
	keys  = "plugins: {trust: {rules: [{source: '**', signers: [{key: PATH}]}]}}\n"
)

// Rows has a row for each of [Texts], and one more for a text that can name both a path and an address.
var Rows = append(texts(
	"/author", "/license", "/namespace", "/template", "/version", "/website", "/name", "/description", "/runtime", "/runtime/name",
	"/plugins/analyzers", "/plugins/languages", "/plugins/providers/[]", "/plugins/providers/[]/name", "/plugins/providers/[]/version",
	"/plugins/trust/rules/[]/signers/[]/identity", "/plugins/trust/rules/[]/signers/[]/issuer", "/plugins/trust/rules/[]/source",
	"/packages/*/version", "/packages/*/extension/[]", "/packages/*/extension/name", "/packages/*/extension/value",
	"/packages/*/extension/version", "/packages/*/parameters/[]", "/packages/*/parameters/name", "/packages/*/parameters/value",
	"/packages/*/parameters/version", "/components/*/description", "/pulumi/requiredPulumiVersion", "/pulumi/requiredVersion",
	"/requiredPulumiVersion",
	"#action/function", "#action/options/version", "#computed", "#configType", "#declaration", "#declaration/default",
	"#declaration/description", "#declaration/name", "#declaration/value", "#functions/fn::fromBase64", "#functions/fn::length",
	"#functions/fn::pulumiResourceName", "#functions/fn::pulumiResourceType", "#functions/fn::secret", "#functions/fn::sha1",
	"#functions/fn::singleOrNone", "#functions/fn::stringAsset", "#functions/fn::toBase64", "#functions/fn::toJSON",
	"#functions/fn::unsecret", "#grants/http/[]/headers/*/config", "#grants/http/[]/headers/*/prefix", "#grants/http/[]/methods/[]",
	"#invoke/function", "#invoke/options/version", "#invoke/return", "#limits/*", "#options/additionalSecretOutputs/[]",
	"#options/aliases/[]", "#options/aliases/[]/name", "#options/aliases/[]/parentUrn", "#options/aliases/[]/project",
	"#options/aliases/[]/stack", "#options/aliases/[]/type", "#options/customTimeouts/create", "#options/customTimeouts/delete",
	"#options/customTimeouts/read", "#options/customTimeouts/update", "#options/hideDiffs/[]", "#options/ignoreChanges/[]",
	"#options/import", "#options/replaceOnChanges/[]", "#options/replacementTrigger", "#options/version", "#reference",
	"#resource/name", "#resource/type", "#value",
	// Variables of the environment: a project that is not trusted is granted none.
	"#grants/env/[]", "#grants/http/[]/headers/*/env",
),
	Row{Key: "/backend/url", Kind: Address, Project: "backend: {url: 'http://HOST'}\n"},
	Row{Key: "/backend/url", Kind: Address, Project: "backend: {url: 'postgres://HOST/x?passfile=/etc/passwd'}\n"},
	Row{Key: "/backend/url", Kind: Address, Project: "backend: {url: 's3://x?endpoint=http://HOST&region=x'}\n"},
	Row{Key: "/plugins/registries/[]", Kind: Address, Project: "plugins: {registries: ['oci://HOST/x'], providers: [{name: x, source: x/x, version: '1.0.0'}]}" + uses, Lock: locked("x/x' \n    from: 'oci://HOST/x")},
	Row{Key: "/plugins/providers/[]/source", Kind: Address, Project: "plugins: {providers: [{name: x, source: 'oci://HOST/x', version: '1.0.0'}]}" + uses, Lock: locked("oci://HOST/x")},
	Row{Key: "/plugins/providers/[]/source", Kind: Address, Project: "plugins: {providers: [{name: x, source: 'git+http://HOST/x.git', version: '1.0.0'}]}" + uses},
	Row{Key: "/packages/*/source", Kind: Address, Project: "packages: {x: {source: 'http://HOST/x.git'}}" + uses},
	Row{Key: "/packages/*", Kind: Address, Project: "packages: {x: 'http://HOST/x.git'}" + uses},
	Row{Key: "#functions/fn::remoteAsset", Kind: Address, Project: "resources: {a: {type: 'pulumi:Stash', properties: {input: {fn::remoteAsset: 'http://HOST/x'}}}}\n"},
	Row{Key: "#functions/fn::remoteArchive", Kind: Address, Project: "resources: {a: {type: 'pulumi:Stash', properties: {input: {fn::remoteArchive: 'http://HOST/x.zip'}}}}\n"},
	// A module of the stranger's, spy.wasm, reports its grants.
	Row{Key: "#grants/http/[]", Kind: Address, Project: "plugins: {providers: [{name: spy, path: spy.wasm, grants: {kv: true, http: ['http://HOST']}}]}" + looks},
	Row{Key: "#grants/http/[]/url", Kind: Address, Project: "plugins: {providers: [{name: spy, path: spy.wasm, grants: {kv: true, http: [{url: 'http://HOST', methods: [GET]}]}}]}" + looks},
	Row{Key: "#grants/tcp/[]", Kind: Address, Project: "plugins: {providers: [{name: spy, path: spy.wasm, grants: {kv: true, tcp: ['HOST']}}]}" + looks},
	// Nothing is downloaded by the URL of a plugin: providers are those of plugins.providers.
	Row{Key: "#options/pluginDownloadURL", Kind: Address, Project: "resources: {a: {type: 'x:Y', options: {pluginDownloadURL: 'http://HOST'}}}\n"},
	Row{Key: "#invoke/options/pluginDownloadURL", Kind: Address, Project: "outputs: {a: {fn::invoke: {function: 'x:y', options: {pluginDownloadURL: 'http://HOST'}}}}\n"},
	Row{Key: "#action/options/pluginDownloadURL", Kind: Address, Project: "actions: {a: {function: 'x:y', options: {pluginDownloadURL: 'http://HOST'}}}\n"},
	Row{Key: "/main", Kind: Path, Project: "main: PATH\n", Loads: true},
	Row{Key: "/stackConfigDir", Kind: Path, Project: "stackConfigDir: PATH\n", Loads: true},
	Row{Key: "/backend/url", Kind: URL, Project: "backend: {url: 'file://PLAIN'}\n"},
	Row{Key: "/plugins/vendor", Kind: Path, Project: "plugins: {vendor: PATH, providers: [{name: x, source: 'oci://registry.invalid/x'}]}" + uses, Lock: locked("oci://registry.invalid/x"), Loads: true},
	Row{Key: "/plugins/providers/[]/path", Kind: Path, Project: "plugins: {providers: [{name: x, path: PATH}]}" + uses, Loads: true},
	Row{Key: "/plugins/providers/[]/source", Kind: URL, Project: "plugins: {providers: [{name: x, source: 'oci-layout:PLAIN'}]}" + uses, Lock: locked("oci-layout:PLAIN")},
	Row{Key: "/plugins/trust/roots/[]", Kind: Path, Project: trust, Loads: true},
	Row{Key: "/plugins/trust/rules/[]/signers/[]/key", Kind: Path, Project: keys, Loads: true},
	Row{Key: "/policies/[]", Kind: Path, Project: "policies: [PATH]\n", Loads: true},
	Row{Key: "/policies/[]/path", Kind: Path, Project: "policies: [{path: PATH}]\n", Loads: true},
	Row{Key: "/packages/*", Kind: Path, Project: "packages: {x: PATH}" + uses, Loads: true},
	Row{Key: "/packages/*/source", Kind: Path, Project: "packages: {x: {source: PATH}}" + uses, Loads: true},
	Row{Key: "#grants/fs/[]", Kind: Path, Project: "plugins: {providers: [{name: x, path: x.wasm, grants: {fs: [PATH]}}]}" + uses, Loads: true},
	Row{Key: "#grants/fs/[]/path", Kind: Path, Project: "plugins: {providers: [{name: x, path: x.wasm, grants: {fs: [{path: PATH, mode: rw}]}}]}" + uses, Loads: true},
	Row{Key: "#functions/fn::readFile", Kind: Path, Project: "outputs: {x: {fn::readFile: PATH}}\n"},
	Row{Key: "#functions/fn::filebase64", Kind: Path, Project: "outputs: {x: {fn::fromBase64: {fn::filebase64: PATH}}}\n"},
	Row{Key: "#functions/fn::filebase64sha256", Kind: Path, Project: "outputs: {x: {fn::filebase64sha256: PATH}}\n"},
	Row{Key: "#functions/fn::fileAsset", Kind: Path, Project: "resources: {a: {type: 'pulumi:Stash', properties: {input: {fn::fileAsset: PATH}}}}\n"},
	Row{Key: "#functions/fn::fileArchive", Kind: Path, Project: "resources: {a: {type: 'pulumi:Stash', properties: {input: {fn::fileArchive: PATH}}}}\n"},
	Row{Key: "#functions/fn::remoteAsset", Kind: URL, Project: "resources: {a: {type: 'pulumi:Stash', properties: {input: {fn::remoteAsset: 'file://PLAIN'}}}}\n"},
	Row{Key: "#functions/fn::remoteArchive", Kind: URL, Project: "resources: {a: {type: 'pulumi:Stash', properties: {input: {fn::remoteArchive: 'file://PLAIN'}}}}\n"},
)

func texts(all ...string) (rows []Row) {
	for _, key := range all {
		rows = append(rows, Row{Key: key})
	}
	return rows
}

// locked is a lock that has the provider x from a source.
func locked(source string) string {
	return "version: 1\nproviders:\n  - name: x\n    source: '" + source + "'\n    version: 1.0.0\n" +
		"    digest: sha256:" + strings.Repeat("0", 64) + "\n    size: 8\n    manifest: sha256:" + strings.Repeat("1", 64) + "\n"
}
