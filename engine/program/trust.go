package program

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// Trust names the signers that the modules of each source must have. The loader of modules interprets the texts.
type Trust struct {
	// Roots are files with trusted roots, which say who an identity is.
	Roots []string
	Rules []TrustRule
	// Native allows plugins of Pulumi that run without a sandbox.
	Native bool
	// File is where it is written.
	File *source.File
	// Position is where it begins.
	Position source.Position

	read func(name string) ([]byte, error)
}

// ReadFile reads a file that the policy names: a root, or a key. Names are relative to the file of the policy. Those in a
// project file are opened as the project's.
func (t *Trust) ReadFile(name string) ([]byte, error) { return t.read(name) }

// TrustRule is about the sources that match a pattern. The first that matches decides.
type TrustRule struct {
	Source   string
	Signers  []TrustedSigner
	Unsigned bool
	Position source.Position
}

// TrustedSigner is a key, or an identity with its issuer.
type TrustedSigner struct {
	// Key is the text of a key, or the path of a file that has it.
	Key              string
	Identity, Issuer string
	Position         source.Position
}

// LoadTrust reads a file that has a trust policy. The error may be [source.Diagnostics].
func LoadTrust(path string) (*Trust, error) {
	text, err := source.Read(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the trust policy: %w", err)
	}
	file := source.NewFile(path, text)
	root, err := source.Parse(file, text)
	if err != nil {
		return nil, err
	}
	beside := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(filepath.Dir(path), name)
	}
	d := trustDecoder{
		Report: &source.Report{File: file}, path: beside,
		mayName: func(*yaml.Node, string, string) bool { return true },
		read:    func(name string) ([]byte, error) { return source.Read(beside(name)) },
	}
	t := d.trust(root, "the trust policy")
	if ds := d.Diagnostics(); ds.HasErrors() {
		return nil, ds
	}
	return t, nil
}

type trustDecoder struct {
	*source.Report
	// path returns the path of a file that is named beside the policy, and read reads it.
	path func(name string) string
	read func(name string) ([]byte, error)
	// mayName reports whether the policy may name a file, and refuses it otherwise.
	mayName func(n *yaml.Node, name, what string) bool
}

func (d trustDecoder) trust(n *yaml.Node, what string) *Trust {
	t := &Trust{File: d.File, Position: source.Of(n), read: d.read}
	d.Read(n, what,
		source.On("roots", func(f source.Field) (ok bool) {
			ok = true
			for _, e := range d.Elements(f.Value, "roots") {
				name, fine := d.Text(e, "a trusted root")
				fine = fine && d.mayName(e, name, "a trusted root")
				t.Roots, ok = append(t.Roots, d.path(name)), fine && ok
			}
			return ok
		}),
		source.On("native", func(f source.Field) (ok bool) {
			t.Native, ok = d.Bool(f.Value, "native")
			return ok
		}),
		source.On("rules", func(f source.Field) bool {
			for _, e := range d.Elements(f.Value, "rules") {
				t.Rules = append(t.Rules, d.rule(e))
			}
			return true
		}),
	)
	if len(t.Rules) == 0 {
		d.Add(d.File.Errorf(source.Of(n), "%s has no rules, so it would refuse all modules", what).
			With("add a rule such as {source: \"oci://registry.example.com/acme/*\", signers: [{key: acme.pub}]}"))
	}
	return t
}

func (d trustDecoder) rule(n *yaml.Node) TrustRule {
	r := TrustRule{Position: source.Of(n)}
	given := false
	ok := d.Read(n, "a rule",
		d.TextKey("source", &r.Source, "a rule's source"),
		source.On("signers", func(f source.Field) bool {
			given = true
			for _, e := range d.Elements(f.Value, "signers") {
				r.Signers = append(r.Signers, d.signer(e))
			}
			return true
		}),
		source.On("unsigned", func(f source.Field) (ok bool) {
			given = true
			r.Unsigned, ok = d.Bool(f.Value, "unsigned")
			return ok
		}),
	)
	switch {
	case !ok:
	case r.Source == "":
		d.Errorf(n, "a rule has no source, which is a pattern such as oci://registry.example.com/acme/*")
	case !given:
		d.Errorf(n, "the rule for %q has neither signers nor unsigned", r.Source)
	case r.Unsigned && len(r.Signers) > 0:
		d.Errorf(n, "the rule for %q has signers, and allows modules that nobody signed: leave one of them out", r.Source)
	}
	return r
}

func (d trustDecoder) signer(n *yaml.Node) TrustedSigner {
	s := TrustedSigner{Position: source.Of(n)}
	ok := d.Read(n, "a signer",
		d.TextKey("key", &s.Key, "a key"),
		d.TextKey("identity", &s.Identity, "an identity"),
		d.TextKey("issuer", &s.Issuer, "an issuer"),
	)
	switch {
	case !ok:
	case (s.Key != "") == (s.Identity != "" || s.Issuer != ""):
		d.Errorf(n, "a signer has a key, or an identity with its issuer")
	case s.KeyInFile():
		d.mayName(n, s.Key, "a key")
	case s.Key == "" && (s.Identity == "" || s.Issuer == ""):
		d.Errorf(n, "a signer has an identity and its issuer, such as {identity: \"https://github.com/acme/**@refs/heads/main\", issuer: \"https://token.actions.githubusercontent.com\"}")
	}
	return s
}

// KeyInFile reports whether the key is the path of a file, and not written out.
func (s TrustedSigner) KeyInFile() bool {
	return s.Key != "" && !strings.HasPrefix(s.Key, "ed25519:") && !strings.HasPrefix(s.Key, "-----BEGIN")
}

// trust returns the key trust of a project's plugins.
func (d *decoder) trust() source.Key {
	return source.On("trust", func(f source.Field) bool {
		t := trustDecoder{d.Report, d.project.Path, d.project.readFile, d.mayName}.trust(f.Value, "plugins.trust")
		named := slices.ContainsFunc(t.Rules, func(r TrustRule) bool {
			return slices.ContainsFunc(r.Signers, func(s TrustedSigner) bool { return s.Identity != "" })
		})
		if named && len(t.Roots) == 0 {
			d.Add(d.File.Errorf(source.Of(f.Key), "plugins.trust names identities, and has no roots to verify them with").
				With("list a trusted root of sigstore under plugins.trust.roots, a file such as \"gh attestation trusted-root\" and \"cosign trusted-root create\" write"))
		}
		d.project.Trust = t
		return true
	})
}
