package program

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/projectroot"
)

// stackFile returns the configuration of the stack dev, read from text.
func stackFile(t *testing.T, text string) *StackConfig {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.dev.yaml"), []byte(text), 0o600))
	p, err := ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte("name: shop\n"))
	require.NoError(t, err)
	c, err := p.StackConfig("dev")
	require.NoError(t, err)
	return c
}

func saved(t *testing.T, c *StackConfig) string {
	t.Helper()
	require.NoError(t, c.Save())
	text, err := os.ReadFile(c.Path)
	require.NoError(t, err)
	return string(text)
}

func TestStackConfigKeepsCommentsAndOrder(t *testing.T) {
	c := stackFile(t, `# The development stack.

config:
  # in Europe
  aws:region: eu-west-1 # Ireland
  shop:replicas: 2
  shop:password:
    secure: v1:abc
`)
	c.Set("aws:region", "eu-central-1", false)
	c.Set("shop:replicas", "true", false)
	c.Set("shop:token", "v1:def", true)
	require.True(t, c.Remove("shop:password"))
	require.False(t, c.Remove("shop:password"))
	c.SetEncryptionSalt("v1:salt")
	require.Equal(t, `# The development stack.

encryptionsalt: v1:salt
config:
  # in Europe
  aws:region: eu-central-1 # Ireland
  shop:replicas: "true"
  shop:token:
    secure: v1:def
`, saved(t, c))
	info, err := os.Stat(c.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "the mode stays")
	files, err := os.ReadDir(filepath.Dir(c.Path))
	require.NoError(t, err)
	require.Len(t, files, 1, "no temporary file stays behind")
}

func TestStackConfigOfCommentsOnly(t *testing.T) {
	c := stackFile(t, "# one\n\n# two\n")
	c.Set("shop:a", "b", false)
	require.Equal(t, "# one\n# two\n\nconfig:\n  shop:a: b\n", saved(t, c))
}

// An environment has values that the program would lack.
func TestEnvironmentsAreRefused(t *testing.T) {
	p := project(t, "name: shop\n")
	_, err := p.parseStackConfig("/work/Husk.dev.yaml", []byte("environment: [prod]\n"))
	require.ErrorContains(t, err, "Husk.dev.yaml:1:1: environments are not supported, so their values would be missing: set them under config")
	_, err = p.parseStackConfig("/work/Husk.dev.yaml", []byte("environment: []\n"))
	require.NoError(t, err)
}

func TestStackConfigValues(t *testing.T) {
	c := stackFile(t, `config:
  shop:version: 1.10
  enabled: true
  shop:config:old: x
  shop:empty:
  shop:list: [1, a, {secure: v1:s}]
`)
	require.Equal(t, []string{"shop:empty", "shop:enabled", "shop:list", "shop:old", "shop:version"}, c.Keys())
	decrypt := func(ciphertext string) (string, error) {
		if plain, ok := strings.CutPrefix(ciphertext, "v1:"); ok {
			return strings.ToUpper(plain), nil
		}
		return "", errors.New("incorrect passphrase")
	}
	for key, want := range map[string]string{
		"shop:version": "1.10", "shop:enabled": "true", "shop:old": "x", "shop:empty": "", "shop:list": `[1,"a","S"]`,
	} {
		text, secret, err := c.Text(key, decrypt)
		require.NoError(t, err)
		require.Equal(t, want, text)
		require.Equal(t, key == "shop:list", secret)
	}
	v, ok := c.Get("shop:list")
	require.True(t, ok)
	elements, _ := v.AsArray()
	require.Equal(t, property.Secret(property.String("v1:s")), elements[2])
	_, ok = c.Get("shop:none")
	require.False(t, ok)

	c.Set("shop:enabled", "x9", true)
	require.Contains(t, saved(t, c), "  enabled:\n    secure: x9\n", "the key stays as it is written")
	_, _, err := c.Text("shop:enabled", decrypt)
	require.EqualError(t, err, `cannot decrypt the configuration key "shop:enabled" of Husk.dev.yaml: incorrect passphrase`)
}

func TestStackConfigFile(t *testing.T) {
	dir := t.TempDir()
	p, err := ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Pulumi.yaml", []byte("name: shop\nstackConfigDir: stacks\n"))
	require.NoError(t, err)

	c, err := p.StackConfig("dev")
	require.NoError(t, err)
	require.Empty(t, c.Keys())
	require.NoError(t, c.Save())
	require.NoFileExists(t, c.Path, "nothing was changed")
	c.Set("shop:a", "b", false)
	require.Equal(t, "config:\n  shop:a: b\n", saved(t, c))
	require.Equal(t, filepath.Join(dir, "stacks", "Pulumi.dev.yaml"), c.Path, "named after the project file")

	c, err = p.StackConfig("dev")
	require.NoError(t, err)
	require.Equal(t, []string{"shop:a"}, c.Keys())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "stacks", "Husk.prod.yaml"), []byte("{config: {}}\n"), 0o600))
	c, err = p.StackConfig("prod")
	require.NoError(t, err)
	require.Equal(t, "Husk.prod.yaml", filepath.Base(c.Path))

	for _, name := range []string{"", "../x", "a/b", ".x", "a b"} {
		_, err := p.StackConfig(name)
		require.ErrorContains(t, err, "invalid stack name", name)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "stacks", "Pulumi.bad.yaml"), []byte("confg: {}\nconfig:\n  a b: 1\n"), 0o600))
	_, err = p.StackConfig("bad")
	require.EqualError(t, err, strings.TrimPrefix(`
stacks/Pulumi.bad.yaml:1:1: unknown key "confg" in a stack's configuration; did you mean "config"?
    1 | confg: {}
      | ^
stacks/Pulumi.bad.yaml:3:3: invalid configuration key "a b": it must have the form <key> or <namespace>:<key>
    3 |   a b: 1
      |   ^`, "\n"))
}

func TestConfigEntries(t *testing.T) {
	c := stackFile(t, "config:\n  shop:domain: example.com\n  shop:password: hunter2\n  shop:token: {secure: ct}\n")
	p, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte(`
name: shop
config:
  replicas: {type: integer, default: 2}
  domain: {type: string, default: localhost}
  password: {type: string, secret: true}
  missing: {type: string}
  tags: {type: object, default: {b: 1, a: [x]}}
  aws:region: eu-west-1
`))
	require.NoError(t, err)
	entries, err := p.ConfigEntries(c, func(string) (string, error) { return "plain", nil })
	require.NoError(t, err)
	require.Equal(t, []abi.ConfigEntry{
		{Key: "aws:region", Value: "eu-west-1"},
		{Key: "shop:domain", Value: "example.com"},
		{Key: "shop:password", Value: "hunter2", Secret: true},
		{Key: "shop:replicas", Value: "2"},
		{Key: "shop:tags", Value: `{"a":["x"],"b":1}`},
		{Key: "shop:token", Value: "plain", Secret: true},
	}, entries)
}

// What a stack sets is held against the project's declarations, at its line of the stack's file.
func TestStackConfigIsChecked(t *testing.T) {
	p := project(t, `name: shop
config:
  size: {type: integer}
  label: {type: string}
  zones: {type: array, items: {type: string}}
  flag: {type: boolean, default: true}
`)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "Husk.dev.yaml"), []byte(`config:
  size: many
  shop:label: [a]
  zones: [a, 1]
  flag: {secure: v1:abc}
  lable: x
  other: y
  aws:region: here
`), 0o644))
	c, err := p.StackConfig("dev")
	require.NoError(t, err)
	ds, misfits := c.Check()
	require.Equal(t, []string{"shop:size", "shop:label", "shop:zones"}, misfits)
	require.Equal(t, strings.TrimSpace(`
Husk.dev.yaml:2:9: the value of the configuration key "size" cannot be used: it must be an integer
    2 |   size: many
      |         ^
  it is declared in Husk.yaml:3
Husk.dev.yaml:3:15: the value of the configuration key "label" cannot be used: it must be a string
    3 |   shop:label: [a]
      |               ^
  it is declared in Husk.yaml:4
Husk.dev.yaml:4:10: the value of the configuration key "zones" cannot be used: element 1: it must be a string
    4 |   zones: [a, 1]
      |          ^
  it is declared in Husk.yaml:5
Husk.dev.yaml:6:3: warning: the project declares no configuration key "lable"; did you mean "label"?
    6 |   lable: x
      |   ^
Husk.dev.yaml:7:3: warning: the project declares no configuration key "other"
    7 |   other: y
      |   ^`), ds.Error())
}

// A program in another language gets the configuration with the defaults and secrets that the project declares.
func TestDeclaredConfig(t *testing.T) {
	p := project(t, `name: shop
runtime: python
config:
  size: {type: integer}
  token: {type: string, secret: true}
  flag: {type: boolean, default: true}
`)
	run := abi.RunContext{Project: "shop", Config: []abi.ConfigEntry{
		{Key: "aws:region", Value: "here"}, {Key: "shop:size", Value: "3"}, {Key: "shop:token", Value: "t"},
	}}
	config, err := p.DeclaredConfig(run)
	require.NoError(t, err)
	require.Equal(t, []abi.ConfigEntry{
		{Key: "aws:region", Value: "here"}, {Key: "shop:size", Value: "3"}, {Key: "shop:token", Value: "t", Secret: true},
		{Key: "shop:flag", Value: "true"},
	}, config)
	run.Config = []abi.ConfigEntry{{Key: "shop:size", Value: "many"}}
	_, err = p.DeclaredConfig(run)
	require.EqualError(t, err, strings.TrimPrefix(`
Husk.yaml:4:3: the value of the configuration key "size" cannot be used: it must be an integer
    4 |   size: {type: integer}
      |   ^
  set another with: husk config set size <value>
Husk.yaml:5:3: the configuration key "token" has no value
  set one with: husk config set --secret token <value>`, "\n"))
}

// Commands that change the configuration of one stack at once keep the changes of each other.
func TestStackConfigChangedByOthers(t *testing.T) {
	dir := t.TempDir()
	read := func() *StackConfig {
		t.Helper()
		p, err := ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", []byte("name: shop\nstackConfigDir: stacks\n"))
		require.NoError(t, err)
		c, err := p.StackConfig("dev")
		require.NoError(t, err)
		return c
	}
	var all sync.WaitGroup
	var failed [32]error
	for i := range failed {
		c := read()
		if runtime.GOOS == "windows" { // no directory can be locked there
			c = read()
			c.Set("shop:key"+strconv.Itoa(i), "value", false)
			failed[i] = c.Save()
			continue
		}
		all.Go(func() {
			c.Set("shop:key"+strconv.Itoa(i), "value", false)
			failed[i] = c.Save()
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(failed[:]...))
	require.Len(t, read().Keys(), len(failed))

	a, b := read(), read()
	require.True(t, a.Remove("shop:key0"))
	require.True(t, a.Remove("shop:key1"))
	require.NoError(t, a.SetAt("shop:list", property.Path{property.Index(0)}, "a", false))
	require.NoError(t, a.Save())
	require.True(t, b.Remove("shop:key0"), "which the other has removed meanwhile")
	require.False(t, b.Remove("shop:other"))
	require.NoError(t, b.SetAt("shop:map", property.Path{property.Key("k")}, "2", false))
	require.NoError(t, b.Save())
	keys := read().Keys()
	require.Len(t, keys, len(failed))
	require.Subset(t, keys, []string{"shop:list", "shop:map"})
	require.NotContains(t, keys, "shop:key1")

	a, b = read(), read()
	a.Set("shop:list", "no list any more", false)
	require.NoError(t, a.Save())
	require.NoError(t, b.SetAt("shop:list", property.Path{property.Index(1)}, "b", false))
	before := fileText(t, b.Path)
	require.ErrorContains(t, b.Save(), "shop:list[1] cannot be set")
	require.Equal(t, before, fileText(t, b.Path))

	// A change that failed is none.
	a, b = read(), read()
	require.Error(t, b.SetAt("shop:list", property.Path{property.Index(1)}, "b", false))
	b.Set("shop:after", "failure", false)
	a.Set("shop:before", "failure", false)
	require.NoError(t, a.Save())
	require.NoError(t, b.Save())
	require.Subset(t, read().Keys(), []string{"shop:before", "shop:after"})

	// A secret is of the key that the file named as it was encrypted.
	a, b = read(), read()
	c := read()
	for _, one := range []*StackConfig{a, b} {
		one.SetEncryptionSalt("v1:salt")
		one.Set("shop:secret", "ciphertext", true)
		require.NoError(t, one.Save())
	}
	c.SetEncryptionSalt("v1:other")
	require.ErrorContains(t, c.Save(), "another command has changed what encrypts the secrets of Husk.dev.yaml: run this one again")
	a, b = read(), read()
	require.NoError(t, a.Encrypt(func(string) (string, error) { return "of the next key", nil }))
	a.SetEncryptionSalt("v1:next")
	require.NoError(t, a.Save())
	b.Set("shop:secret2", "of the key before", true)
	require.ErrorContains(t, b.Save(), "run this one again")
	c = read()
	require.NotContains(t, c.Keys(), "shop:secret2")
	text, _, err := c.Text("shop:secret", func(s string) (string, error) { return s, nil })
	require.NoError(t, err)
	require.Equal(t, "of the next key", text)
	b = read()
	require.NoError(t, b.Save(), "nothing was changed")
	require.Equal(t, "v1:next", read().EncryptionSalt())
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
