// Command generate writes the mappings of well-known providers, and what tests compare ports with, from repositories of packages that
// Pulumi publishes. It runs in the root of a checkout, and takes the directories of repositories, bare or not:
//
//	go run ./internal/port/mapping/generate ../pulumi-vault ../pulumi-keycloak
//
// It reads bridge-metadata.json, and schema.json if the repository has it: the first has tokens, names, and shapes, the other
// what is secret and required.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
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

// schema is what counts of a package's schema.
type schema struct {
	Resources map[string]*struct {
		Properties map[string]struct {
			Secret bool `json:"secret"`
		} `json:"properties"`
		Inputs   map[string]json.RawMessage `json:"inputProperties"`
		Required []string                   `json:"requiredInputs"`
	} `json:"resources"`
}

func generate(dir string) error {
	at, err := git(dir, "log", "-1", "--format=%h of %cs")
	if err != nil {
		return err
	}
	listed, err := git(dir, "ls-tree", "-r", "--name-only", "HEAD", "provider/cmd/")
	if err != nil {
		return err
	}
	var metadata, described []byte
	for _, file := range strings.Fields(string(listed)) {
		switch path.Base(file) {
		case "bridge-metadata.json":
			if metadata, err = git(dir, "show", "HEAD:"+file); err != nil {
				return err
			}
		case "schema.json":
			if described, err = git(dir, "show", "HEAD:"+file); err != nil {
				fmt.Fprintf(os.Stderr, "%s: without the schema: %v\n", dir, err)
			}
		}
	}
	if metadata == nil {
		return errors.New("the repository has no bridge-metadata.json")
	}
	b, err := mapping.ReadBridged("bridge-metadata.json", metadata)
	if err != nil {
		return err
	}
	module := known.Module(b.Package)
	if module == "" {
		return fmt.Errorf("known.txt does not have the package %s", b.Package)
	}
	m := b.Mapping(false)
	of := facts.Of(b)
	if described != nil {
		var s schema
		if err := json.Unmarshal(described, &s); err != nil {
			return err
		}
		complete(m, of, b, &s)
	}
	head := fmt.Sprintf("# Generated from the package %s of Pulumi, %s.\n", b.Package, strings.TrimSpace(string(at)))
	file := filepath.Join("internal", "port", "mapping", "published", filepath.FromSlash(mapping.File(module)))
	if old, err := os.ReadFile(file); err == nil && !strings.HasPrefix(string(old), "# Generated ") {
		fmt.Fprintf(os.Stderr, "%s is written by hand, and stays\n", file)
	} else if err := writeMapping(file, head, m); err != nil {
		return err
	}
	return writeFacts(of, false)
}

func git(dir string, args ...string) ([]byte, error) {
	var told bytes.Buffer
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	c.Stderr = &told
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(told.String()))
	}
	return out, nil
}

// complete adds what the schema has: secrets, names that programs must give, and required inputs.
func complete(m *mapping.Mapping, of *facts.Package, b *mapping.Bridged, s *schema) {
	tokens := b.Tokens(false)
	for name, token := range tokens {
		r := s.Resources[token]
		if r == nil {
			continue
		}
		mapped := m.Resources[name]
		properties := b.Renames.Properties[token]
		for _, property := range slices.Sorted(maps.Keys(r.Properties)) {
			attribute, renamed := properties[property]
			if !renamed {
				attribute = property
			}
			if strings.ToLower(attribute) != attribute || !r.Properties[property].Secret { // nothing says what a name is that the bridge does not list
				continue
			}
			if mapped.Fields == nil {
				mapped.Fields = map[string]mapping.Field{}
			}
			f := mapped.Fields[attribute]
			f.Secret = new(true)
			mapped.Fields[attribute] = f
		}
		if slices.Contains(r.Required, "name") {
			mapped.Autoname = map[string]mapping.Autoname{"name": {Off: true}}
		}
		if mapped.Fields != nil || mapped.Autoname != nil {
			m.Resources[name] = mapped
		}
		fact := of.Resources[name]
		fact.Required = append([]string{}, r.Required...)
		slices.Sort(fact.Required)
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
