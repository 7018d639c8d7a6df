package main

import (
	"cmp"
	"strings"
)

// life is the program that TestLives deploys with a provider from the first creation of its resources to the last deletion, with an
// update, a replacement, and an import of the resource "it" into another stack.
type life struct {
	// service is the name of a service in fakeservice.Services, postgresql for a server of PostgreSQL, dns for a name server, or empty
	// if the provider needs none. Its host, port, and password replace HOST, PORT, and PASSWORD in the texts.
	service string
	// grants, config, and resources are YAML.
	grants, config, resources string
	// update and replace are a text in resources, and its replacement in the next step. update is empty if the provider updates none of
	// its resources.
	update, replace [2]string
	// id is the import's ID if it differs from the ID of the resource, which replaces ID in it.
	id string
	// noImport says that the provider imports none of its resources.
	noImport bool
	// anyID says that an import succeeds even if the object does not exist.
	anyID bool
}

// String returns the text of the table's last column.
func (l life) String() string {
	var lacks []string
	if l.update[0] == "" {
		lacks = append(lacks, "update")
	}
	if l.noImport {
		lacks = append(lacks, "import")
	}
	text := "whole"
	if len(lacks) > 0 {
		text = "all but " + strings.Join(lacks, " and ")
	}
	switch l.service {
	case "":
		return text
	case "postgresql":
		return text + ", PostgreSQL"
	}
	return text + ", fake"
}

// http are the grants for a service that speaks HTTP.
const http = `{http: ["http://HOST:PORT"]}`

// publicKey and otherKey are public keys of SSH whose private keys nobody has.
const (
	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGl1dPHq6zZ5wZ0x1tqY2m0d0ZJ9aZk0y8xFzvI0bq3T"
	otherKey  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOqVb5Qb3kqQKzq0m5r2oC9wJmGxkz2V1nXc4m0yqv1f"
)

// lives has the lives of providers, by their names in registries.
var lives = map[string]life{
	"hashicorp/random": {
		resources: `it: {type: random:RandomInteger, properties: {min: 7, max: 7}}`,
		replace:   [2]string{"max: 7", "max: 7, keepers: {a: b}"}, id: "7,7,7", anyID: true,
	},
	"hashicorp/time": {
		resources: `it: {type: time:Offset, properties: {baseRfc3339: "2026-01-01T00:00:00Z", offsetDays: 7, triggers: {a: b}}}`,
		update:    [2]string{"offsetDays: 7", "offsetDays: 8"}, replace: [2]string{"a: b", "a: c"},
		id: "2026-01-01T00:00:00Z,0,0,8,0,0,0", anyID: true,
	},
	"hashicorp/tls": {
		resources: `
  it: {type: tls:PrivateKey, properties: {algorithm: ECDSA, ecdsaCurve: P256}}
  cert:
    type: tls:SelfSignedCert
    properties: {privateKeyPem: "${it.privateKeyPem}", validityPeriodHours: 24, earlyRenewalHours: 1, allowedUses: [server_auth], subject: {commonName: a.example}}`,
		update: [2]string{"earlyRenewalHours: 1", "earlyRenewalHours: 2"}, replace: [2]string{"P256", "P384"}, noImport: true,
	},
	"hashicorp/null": {
		resources: `it: {type: null:Resource, properties: {triggers: {a: b}}}`,
		replace:   [2]string{"a: b", "a: c"}, noImport: true,
	},
	"hashicorp/local": {
		grants:    `{fs: [{path: files, mode: rw}]}`,
		resources: `it: {type: local:File, properties: {filename: files/a.txt, content: hello}}`,
		replace:   [2]string{"content: hello", "content: goodbye"}, noImport: true,
	},
	"hashicorp/archive": {
		grants:    `{fs: [{path: files, mode: rw}]}`,
		resources: `it: {type: archive:File, properties: {type: zip, outputPath: files/a.zip, sourceContent: hello, sourceContentFilename: a.txt}}`,
		replace:   [2]string{"sourceContent: hello", "sourceContent: goodbye"}, noImport: true,
	},
	"hashicorp/cloudinit": {
		resources: `it: {type: cloudinit:Config, properties: {gzip: false, base64Encode: false, parts: [{content: "echo hello", contentType: text/x-shellscript}]}}`,
		replace:   [2]string{"echo hello", "echo goodbye"}, noImport: true,
	},
	"cyrilgdn/postgresql": {
		service: "postgresql", grants: `{tcp: ["HOST:PORT"]}`,
		config: `{postgresql:host: HOST, postgresql:port: PORT, postgresql:username: postgres, postgresql:password: {value: "PASSWORD", secret: true}, postgresql:sslmode: disable}`,
		resources: `
  it: {type: postgresql:Role, properties: {name: clerk, login: true, connectionLimit: 3}}
  database: {type: postgresql:Database, properties: {name: shop, owner: "${it.name}", template: template0, encoding: UTF8, lcCollate: C, lcCtype: C}}`,
		update: [2]string{"connectionLimit: 3", "connectionLimit: 4"}, replace: [2]string{"encoding: UTF8", "encoding: LATIN1"},
	},
	"cyrilgdn/rabbitmq": {
		service: "broker", grants: http,
		config: `{rabbitmq:endpoint: "http://HOST:PORT", rabbitmq:username: admin, rabbitmq:password: {value: "PASSWORD", secret: true}}`,
		resources: `
  vhost: {type: rabbitmq:Vhost, properties: {name: shop}}
  user: {type: rabbitmq:User, properties: {name: clerk, password: pass-of-clerk, tags: [monitoring]}}
  it: {type: rabbitmq:Exchange, properties: {name: orders, vhost: "${vhost.name}", settings: {type: fanout, durable: true}}}`,
		update: [2]string{"tags: [monitoring]", "tags: [management]"}, replace: [2]string{"type: fanout", "type: topic"},
	},
	"pan-net/powerdns": {
		service: "powerdns", grants: http,
		config: `{powerdns:serverUrl: "http://HOST:PORT", powerdns:apiKey: {value: "PASSWORD", secret: true}}`,
		resources: `
  it: {type: powerdns:Zone, properties: {name: shop.example., kind: Native, nameservers: [ns.shop.example.]}}
  record: {type: powerdns:Record, properties: {zone: "${it.name}", name: www.shop.example., type: A, ttl: 300, records: [192.0.2.1]}}`,
		update: [2]string{"kind: Native", "kind: Master"}, replace: [2]string{"192.0.2.1", "192.0.2.2"},
	},
	"hashicorp/consul": {
		service: "consul", grants: http,
		config:    `{consul:address: "HOST:PORT", consul:token: {value: "PASSWORD", secret: true}}`,
		resources: `it: {type: consul:KeyPrefix, properties: {pathPrefix: shop/, subkeys: {orders: "1", "bills/old": "2"}}}`,
		update:    [2]string{`orders: "1"`, `invoices: "1"`}, replace: [2]string{"pathPrefix: shop/", "pathPrefix: store/"}, anyID: true,
	},
	"hashicorp/nomad": {
		service: "nomad", grants: http,
		config:    `{nomad:address: "http://HOST:PORT", nomad:secretId: {value: "PASSWORD", secret: true}}`,
		resources: `it: {type: nomad:Namespace, properties: {name: shop, description: orders}}`,
		update:    [2]string{"description: orders", "description: bills"}, replace: [2]string{"name: shop", "name: store"},
	},
	"hetznercloud/hcloud": {
		service: "hcloud", grants: http,
		config:    `{hcloud:endpoint: "http://HOST:PORT/v1", hcloud:token: {value: "` + strings.Repeat("0", 53) + `PASSWORD", secret: true}}`,
		resources: `it: {type: hcloud:SshKey, properties: {name: clerk, publicKey: ` + publicKey + `, labels: {team: shop}}}`,
		update:    [2]string{"team: shop", "team: store"}, replace: [2]string{publicKey, otherKey},
	},
	"integrations/github": {
		service: "github", grants: http,
		config:    `{github:baseUrl: "http://HOST:PORT/", github:owner: acme, github:token: {value: "PASSWORD", secret: true}}`,
		resources: `it: {type: github:IssueLabel, properties: {repository: shop, name: urgent, color: ff0000}}`,
		update:    [2]string{"ff0000", "ff8800"}, replace: [2]string{"repository: shop", "repository: store"},
	},
	"digitalocean/digitalocean": {
		service: "digitalocean", grants: http,
		config:    `{digitalocean:apiEndpoint: "http://HOST:PORT", digitalocean:token: {value: "PASSWORD", secret: true}}`,
		resources: `it: {type: digitalocean:SshKey, properties: {name: clerk, publicKey: ` + publicKey + `}}`,
		update:    [2]string{"name: clerk", "name: cashier"}, replace: [2]string{publicKey, otherKey},
	},
	"keycloak/keycloak": {
		service: "keycloak", grants: http,
		config:    `{keycloak:url: "http://HOST:PORT", keycloak:clientId: admin-cli, keycloak:accessToken: {value: "PASSWORD", secret: true}}`,
		resources: `it: {type: keycloak:openid:ClientScope, properties: {realmId: shop, name: orders, description: orders of customers}}`,
		update:    [2]string{"orders of customers", "orders and bills"}, replace: [2]string{"realmId: shop", "realmId: store"}, id: "store/ID",
	},
	"PagerDuty/pagerduty": {
		service: "pagerduty", grants: http,
		config: `{pagerduty:apiUrlOverride: "http://HOST:PORT", pagerduty:token: {value: "PASSWORD", secret: true}, pagerduty:skipCredentialsValidation: true}`,
		resources: `
  it: {type: pagerduty:Team, properties: {name: clerks, description: orders}}
  tag: {type: pagerduty:Tag, properties: {label: shop}}`,
		update: [2]string{"description: orders", "description: bills"}, replace: [2]string{"label: shop", "label: store"},
	},
	"hashicorp/dns": {
		service: "dns", grants: `{tcp: ["HOST:PORT"]}`,
		config:    `{dns:updates: [{server: HOST, port: PORT, transport: tcp}]}`,
		resources: `it: {type: dns:ARecordSet, properties: {zone: shop.example., name: www, addresses: [192.0.2.1], ttl: 300}}`,
		update:    [2]string{"192.0.2.1", "192.0.2.2"}, replace: [2]string{"name: www", "name: store"},
	},
	"go-gitea/gitea": {
		service: "gitea", grants: http,
		config:    `{gitea:baseUrl: "http://HOST:PORT", gitea:token: {value: "PASSWORD", secret: true}}`,
		resources: `it: {type: gitea:Org, properties: {name: shop, description: orders}}`,
		update:    [2]string{"description: orders", "description: bills"}, replace: [2]string{"name: shop", "name: store"},
	},
}

// program returns a project with a provider, in the file provider.wasm, and the resources.
func (l life) program(name string) string {
	return `name: life
runtime: yaml
plugins:
  providers:
    - {name: ` + name + `, path: provider.wasm, grants: ` + cmp.Or(l.grants, "{}") + `}
config: ` + cmp.Or(l.config, "{}") + `
resources:
  ` + strings.TrimSpace(l.resources) + "\n"
}
