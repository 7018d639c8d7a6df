// Command generate writes the mappings of well-known providers, and what tests compare ports with, from repositories of packages that
// Pulumi publishes. It runs in the root of a checkout, and takes the directories of repositories, bare or not:
//
//	go run ./internal/port/mapping/generate ../pulumi-vault ../pulumi-keycloak
//
// It reads bridge-metadata.json, which has tokens, names, and shapes; the SDK for Node.js, which has what is secret and required; and the Go
// source of the package, which has the names that it makes up.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/internal/port/known"
	"github.com/husk-dev/husk/internal/port/mapping"
	"github.com/husk-dev/husk/internal/port/mapping/facts"
)

// plainSize is the size up to which a mapping is text.
const plainSize = 90_000

func main() {
	var failed error
	for _, dir := range os.Args[1:] {
		if err := generate(dir); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", dir, err))
		}
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, "generate:", failed)
		os.Exit(1)
	}
}

func generate(dir string) error {
	at, err := git(dir, nil, "log", "-1", "--format=%h of %cs")
	if err != nil {
		return err
	}
	classes, err := classesOf(dir)
	if err != nil {
		return err
	}
	source, err := bridgeOf(dir)
	if err != nil {
		return err
	}
	b, err := bridged(dir)
	if err != nil {
		return err
	}
	m, of := &mapping.Mapping{Resources: map[string]mapping.Resource{}}, &facts.Package{}
	if b == nil { // the facts have the tokens, and a mapping is written by hand
		for token := range classes {
			of.Name, _, _ = strings.Cut(token, ":")
		}
		if of, err = facts.Read(of.Name); err != nil {
			return fmt.Errorf("the repository has no bridge-metadata.json: %w", err)
		}
	} else {
		m, of = b.Mapping(false), facts.Of(b)
	}
	module := known.Module(of.Name)
	if module == "" {
		return fmt.Errorf("known.txt does not have the package %s", of.Name)
	}
	made := source.naming(of.Resources)
	if made.lost > 0 {
		fmt.Fprintf(os.Stderr, "%s: %d names are of no resource that the source names\n", dir, made.lost)
	}
	complete(m, of, classes, made)
	head := fmt.Sprintf("# Generated from the package %s of Pulumi, %s.\n", of.Name, strings.TrimSpace(string(at)))
	file := filepath.Join("internal", "port", "mapping", "published", filepath.FromSlash(mapping.File(module)))
	if old, err := os.ReadFile(file); err == nil && !strings.HasPrefix(string(old), "# Generated ") {
		fmt.Fprintf(os.Stderr, "%s is written by hand, and stays\n", file)
	} else if err := writeMapping(file, head, m); err != nil {
		return err
	}
	return writeFacts(of, false)
}

// bridged returns the file of Pulumi's bridge in a repository, nil if there is none.
func bridged(dir string) (*mapping.Bridged, error) {
	const name = "bridge-metadata.json"
	listed, err := git(dir, nil, "ls-tree", "-r", "--name-only", "HEAD", "provider/cmd/")
	if err != nil {
		return nil, err
	}
	for _, file := range strings.Fields(string(listed)) {
		if path.Base(file) != name {
			continue
		}
		metadata, err := git(dir, nil, "show", "HEAD:"+file)
		if err != nil { // the clone does not have large files
			return nil, nil
		}
		return mapping.ReadBridged(name, metadata)
	}
	return nil, nil
}

func git(dir string, in io.Reader, args ...string) ([]byte, error) {
	var told bytes.Buffer
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	c.Stdin, c.Stderr = in, &told
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(told.String()))
	}
	return out, nil
}

// complete adds secrets, names that are made up and that programs must give, and required inputs.
func complete(m *mapping.Mapping, of *facts.Package, classes map[string]class, made naming) {
	m.Autoname = made.general
	for name, fact := range of.Resources {
		c, ok := classes[fact.Token]
		if !ok {
			continue
		}
		attributes := map[string]string{}
		for attribute, property := range fact.Properties {
			attributes[property] = attribute
		}
		mapped := m.Resources[name]
		for _, property := range c.secrets {
			attribute := cmp.Or(attributes[property], property)
			if strings.ToLower(attribute) != attribute { // nothing says what a name is that the bridge does not list
				continue
			}
			if mapped.Fields == nil {
				mapped.Fields = map[string]mapping.Field{}
			}
			f := mapped.Fields[attribute]
			f.Secret = new(true)
			mapped.Fields[attribute] = f
		}
		fact.Required, fact.Named = slices.Sorted(slices.Values(c.required)), slices.Sorted(maps.Keys(made.resources[name]))
		mapped.Autoname = maps.Clone(made.resources[name])
		switch _, named := mapped.Autoname["name"]; {
		case named || made.general != nil && made.general.Off:
		case slices.Contains(c.required, "name"):
			if mapped.Autoname == nil {
				mapped.Autoname = map[string]mapping.Autoname{}
			}
			mapped.Autoname["name"] = mapping.Autoname{Off: true}
		case slices.Contains(c.inputs, "name"):
			fact.Named = append(fact.Named, "name")
		}
		if mapped.Name != "" || mapped.Token != "" || mapped.Aliases != nil || mapped.Fields != nil || mapped.Autoname != nil {
			m.Resources[name] = mapped
		}
		if fact.Required == nil {
			fact.Required = []string{}
		}
		of.Resources[name] = fact
	}
}

func writeMapping(file, head string, m *mapping.Mapping) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var document yaml.Node // JSON is YAML
	if err := yaml.Unmarshal(data, &document); err != nil {
		return err
	}
	plain(document.Content[0], 0)
	var text bytes.Buffer
	text.WriteString(head)
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&document), encoder.Close()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	data, former := text.Bytes(), file+".gz"
	if len(data) > plainSize {
		if data, err = pack(data); err != nil {
			return err
		}
		file, former = former, file
	}
	if err := os.Remove(former); err != nil && !errors.Is(err, os.ErrNotExist) { // the plain one would count
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// plain writes a line for each type.
func plain(n *yaml.Node, depth int) {
	n.Style = 0
	if depth >= 2 {
		n.Style = yaml.FlowStyle
	}
	if n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, inner := range n.Content {
		plain(inner, depth+cmp.Compare(len(inner.Content), 0))
	}
}

func pack(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func writeFacts(of *facts.Package, tokensOnly bool) error {
	data, err := json.Marshal(of)
	if err != nil {
		return err
	}
	packed, err := pack(data)
	if err != nil {
		return err
	}
	if len(packed) > plainSize && !tokensOnly { // a file of the repository is small: tokens are enough
		for _, types := range []map[string]facts.Type{of.Resources, of.DataSources} {
			for name, t := range types {
				t.Lists, t.Properties = nil, nil
				types[name] = t
			}
		}
		return writeFacts(of, true)
	}
	return os.WriteFile(filepath.Join("internal", "port", "mapping", "facts", "testdata", of.Name+".json.gz"), packed, 0o644)
}
