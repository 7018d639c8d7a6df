package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/registry"
)

// A trust policy says who must have signed a module. The project has one, and the operator of this machine, whose policy projects
// cannot weaken. The host asks about each module by its digest before it compiles it, and gets a yes only for admitted modules,
// so no way to a module leads past the policies.

// policyVariable names a file with the policy of whoever runs husk here.
const policyVariable = "HUSK_TRUST_POLICY"

// The sources of modules that were not fetched, as patterns of rules see them.
const (
	sourcePath  = "path:"
	sourceState = "state:"
)

// anySource is the pattern of a rule that all sources match.
const anySource = "**"

// SignatureSuffix ends the name of the file beside a module that has its signatures.
const SignatureSuffix = ".sigstore.json"

// admission has the policies that a module must satisfy; nil for none.
type admission struct {
	policies []namedPolicy

	mu       sync.Mutex
	admitted map[string]bool // by digest
}

type namedPolicy struct {
	// name says where the policy is written, for people.
	name string
	// native allows plugins that run without a sandbox.
	native bool
	// own says that it is the project's, which its own vendored directory satisfies.
	own bool
	*trust.Policy
}

// openAdmission reads the policies; nil if there are none.
func openAdmission(project *program.Project) (*admission, error) {
	a := &admission{admitted: make(map[string]bool)}
	if path := os.Getenv(policyVariable); path != "" {
		t, err := program.LoadTrust(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", policyVariable, err)
		}
		if err := a.add(t, path, false); err != nil {
			return nil, err
		}
	}
	if project != nil && project.Trust != nil {
		if err := a.add(project.Trust, project.File.Name, true); err != nil {
			return nil, err
		}
	}
	if a.policies == nil {
		return nil, nil
	}
	return a, nil
}

// add reads the keys and roots of a policy.
func (a *admission) add(t *program.Trust, name string, own bool) error {
	p := &trust.Policy{}
	if len(t.Roots) > 0 {
		var all []byte
		for _, file := range t.Roots {
			text, err := t.ReadFile(file)
			if err == nil {
				_, err = trust.ParseRoot(text)
			}
			if err != nil {
				return diagnosed(t, t.Position, "the trusted root %s cannot be used: %v", file, err)
			}
			all = append(append(all, text...), '\n')
		}
		root, err := trust.ParseRoot(all)
		if err != nil {
			return diagnosed(t, t.Position, "the trusted roots cannot be used together: %v", err)
		}
		p.Root = root
	}
	for _, r := range t.Rules {
		rule := trust.Rule{Source: r.Source, Unsigned: r.Unsigned}
		for _, s := range r.Signers {
			allowed := trust.Allowed{Identity: s.Identity, Issuer: s.Issuer}
			if s.Key != "" {
				var err error
				if allowed.Key, err = ReadPublicKey(s, t.ReadFile); err != nil {
					return diagnosed(t, s.Position, "the key %s cannot be used: %v", s.Key, err)
				}
			}
			rule.Signers = append(rule.Signers, allowed)
		}
		p.Rules = append(p.Rules, rule)
	}
	if err := p.Valid(); err != nil {
		return diagnosed(t, t.Position, "the trust policy cannot be used: %v", err)
	}
	a.policies = append(a.policies, namedPolicy{name, t.Native, own, p})
	return nil
}

func diagnosed(t *program.Trust, at source.Position, format string, args ...any) error {
	return source.Diagnostics{t.File.Errorf(at, format, args...)}
}

// ReadPublicKey reads the public key of a signer, with read if it is in a file.
func ReadPublicKey(s program.TrustedSigner, read func(name string) ([]byte, error)) (trust.PublicKey, error) {
	if !s.KeyInFile() {
		return trust.ParsePublicKey(s.Key)
	}
	content, err := read(s.Key)
	if err != nil {
		return trust.PublicKey{}, err
	}
	return trust.ParsePublicKey(string(content))
}

// errNotAdmitted is a fault of this package: a module is loaded that was not asked about.
var errNotAdmitted = errors.New("the trust policy was not asked about this module")

// known answers the host.
func (a *admission) known(_, digest string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.admitted[digest] {
		return errNotAdmitted
	}
	return nil
}

// origin is where a module comes from.
type origin struct {
	// source is the text that rules are about.
	source string
	// from and manifest are set for a module that was fetched, and path for one in a file.
	from     *registry.Source
	manifest string
	path     string
	// witnessed says that this process has just built it from there.
	witnessed bool
	// anySigner accepts the signers of all rules: the state that names a module does not say where it came from.
	anySigner bool
}

// pathOrigin is the origin of a file or directory.
func (p *Plugins) pathOrigin(path string) origin {
	shown := filepath.ToSlash(path)
	if p.project != nil {
		if dir, err := filepath.Abs(p.project.Dir); err == nil {
			if whole, err := filepath.Abs(path); err == nil {
				if inside, err := filepath.Rel(dir, whole); err == nil && filepath.IsLocal(inside) {
					shown = "./" + filepath.ToSlash(inside)
				}
			}
		}
	}
	return origin{source: sourcePath + shown, path: path}
}

// admit has the host load a module if the policies allow it, and returns who has signed it, the zero value if no policy
// wants to know.
func (p *Plugins) admit(ctx context.Context, o origin, digest string) (signer trust.Signer, err error) {
	if p.admission == nil {
		return signer, nil
	}
	for _, policy := range p.admission.policies {
		by, err := p.check(ctx, policy, o, digest)
		if err != nil {
			return signer, err
		}
		if signer.IsZero() {
			signer = by
		}
	}
	p.admission.mu.Lock()
	defer p.admission.mu.Unlock()
	p.admission.admitted[digest] = true
	return signer, nil
}

// warnOnce reports a warning, unless one with the key was reported before.
func (p *Plugins) warnOnce(key, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.warned[key] {
		p.warned[key] = true
		p.options.Events(engine.Diagnostic{Severity: severity(slog.LevelWarn), Message: message})
	}
}

// check asks one policy. It uses kept signatures first, then vendored ones: both need no network.
func (p *Plugins) check(ctx context.Context, policy namedPolicy, o origin, digest string) (trust.Signer, error) {
	client, err := p.registry()
	if err != nil {
		return trust.Signer{}, err
	}
	rules := policy.Policy
	if o.anySigner {
		rules = forState(rules, o.source)
	}
	if was := rules.Formerly(o.source); was != nil && rules.Rule(o.source) != nil {
		p.warnOnce("trust:"+was.Source, was.Changed(o.source)+"; the trust policy is in "+policy.name)
	}
	if !rules.Wants(o.source) {
		signer, err := rules.Check(o.source, nil)
		if err == nil && o.from != nil && !o.witnessed && believes(rules, o.source) {
			err = client.Confirm(ctx, *o.from, registry.Release{Digest: digest, Manifest: o.manifest}, policy.own)
		}
		return signer, refusedBy(policy.name, err)
	}
	kept, err := client.KeptSignatures(digest)
	if err != nil {
		return trust.Signer{}, err
	}
	var known [][]byte
	for _, raw := range kept.Bundles {
		known = append(known, raw)
	}
	if o.path != "" && o.from == nil {
		beside, err := registry.ReadSignatures(p.rootOf(o.path), o.path+SignatureSuffix)
		if err != nil {
			return trust.Signer{}, err
		}
		known = append(known, beside...)
	}
	module := trust.Artifact{Digest: digest, Content: func() ([]byte, error) { return p.contentOf(o, digest) }}
	signer, err := CheckBundles(rules, o.source, known, artifactsOf(module, kept, digest))
	if err == nil || o.from == nil {
		return signer, refusedBy(policy.name, err)
	}
	release := registry.Release{Digest: digest, Manifest: o.manifest}
	fetched := registry.Kept{}
	if o.manifest != "" {
		if fetched.Manifest, err = client.ManifestOf(ctx, *o.from, o.manifest); err != nil {
			return signer, fmt.Errorf("the signatures of %s cannot be had: %w", o.source, err)
		}
		if fetched.ManifestOf(digest) == "" { // signatures of the manifest would stand for another module
			return signer, fmt.Errorf("the manifest %s of %s does not belong to the module %s: husk.lock was changed\nrestore the file, or remove the entry and run husk install",
				o.manifest, o.source, digest)
		}
	}
	var all [][]byte
	for _, ask := range []func(context.Context, registry.Source, registry.Release) ([][]byte, error){client.VendoredSignatures, client.PublishedSignatures} {
		found, failed := ask(ctx, *o.from, release)
		if failed != nil {
			return signer, fmt.Errorf("the signatures of %s cannot be had: %w", o.source, failed)
		}
		all = append(all, found...)
		if signer, err = CheckBundles(rules, o.source, all, artifactsOf(module, fetched, digest)); err == nil {
			for _, raw := range all {
				fetched.Bundles = append(fetched.Bundles, raw)
			}
			return signer, client.KeepSignatures(digest, fetched)
		}
	}
	return signer, refusedBy(policy.name, err)
}

// believes reports whether a policy takes a module for where it comes from alone. A rule for all sources does not: it takes any.
func believes(rules *trust.Policy, source string) bool {
	r := rules.Rule(source)
	return r != nil && r.Unsigned && r.Source != anySource
}

// artifactsOf returns the artifacts that signatures of a module may be about: the module, and the manifest that it came with, if
// that is the manifest of this module.
func artifactsOf(module trust.Artifact, kept registry.Kept, digest string) []trust.Artifact {
	all := []trust.Artifact{module}
	if manifest := kept.ManifestOf(digest); manifest != "" {
		all = append(all, trust.Artifact{Digest: manifest, Content: func() ([]byte, error) { return kept.Manifest, nil }})
	}
	return all
}

// CheckBundles asks a policy about a module with bundles. It ignores bundles that cannot be read: anybody may have added them.
func CheckBundles(rules *trust.Policy, source string, raw [][]byte, artifacts []trust.Artifact) (trust.Signer, error) {
	var bundles []*trust.Bundle
	var unreadable []error
	for _, text := range raw {
		b, err := trust.ParseBundle(text)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		bundles = append(bundles, b)
	}
	signer, err := rules.Check(source, bundles, artifacts...)
	if refused, ok := errors.AsType[*trust.RefusedError](err); ok {
		refused.Reasons = append(refused.Reasons, unreadable...)
	}
	return signer, err
}

// forState returns the rules as they are for a module that a state names: all signers of all rules count, unless a rule is
// about such modules.
func forState(policy *trust.Policy, source string) *trust.Policy {
	if r := policy.Rule(source); r != nil && (r.Unsigned || strings.HasPrefix(r.Source, sourceState)) {
		return policy
	}
	any := trust.Rule{Source: source}
	for _, r := range policy.Rules {
		any.Signers = append(any.Signers, r.Signers...)
	}
	return &trust.Policy{Rules: []trust.Rule{any}, Root: policy.Root}
}

// refusedBy adds whose policy it is that refuses.
func refusedBy(name string, err error) error {
	if refused, ok := errors.AsType[*trust.RefusedError](err); ok {
		return fmt.Errorf("%w\nthe trust policy is in %s", refused, name)
	}
	if unknown, ok := errors.AsType[*registry.UnknownOriginError](err); ok {
		return fmt.Errorf("%s is not trusted: %w\nthe trust policy in %s accepts unsigned modules there", unknown.Source, unknown, name)
	}
	return err
}

// HasTrustPolicy reports whether there is a policy to verify modules by.
func (p *Plugins) HasTrustPolicy() bool { return p.admission != nil }

// AdmitModule is [Plugins.Admit] for a file, or for a module of a source if file is empty.
func (p *Plugins) AdmitModule(ctx context.Context, file string, from registry.Source, r registry.Release) (trust.Signer, error) {
	if file != "" {
		return p.admit(ctx, p.pathOrigin(file), r.Digest)
	}
	return p.admit(ctx, origin{source: from.String(), from: &from, manifest: r.Manifest}, r.Digest)
}

// Digest returns the digest of the module in a file.
func (p *Plugins) Digest(file string) (string, error) { return p.host.Digest(file) }

// contentOf returns the bytes of a module.
func (p *Plugins) contentOf(o origin, digest string) ([]byte, error) {
	if o.path == "" {
		return nil, fmt.Errorf("there is no file of the module %s", digest)
	}
	return p.rootOf(o.path).ReadFile(o.path, int64(p.config.ModuleSize()))
}

// admitFile is admit for a file. Source in a directory is asked about when it was built.
func (p *Plugins) admitFile(ctx context.Context, path, digest string, from origin) error {
	if p.admission == nil {
		return nil
	}
	root := p.rootOf(path)
	if info, err := root.Stat(path); err != nil || !info.Mode().IsRegular() {
		return err // only files and directories are loaded
	}
	is, err := p.digestOf(root, path)
	if err != nil {
		return p.config.Refused(path, err)
	}
	if digest != "" && is != digest {
		return changedError(path, is)
	}
	_, err = p.admit(ctx, from, is)
	return err
}

// digestOf returns the digest of a module in a file, which the host remembers if nobody else can replace the file.
func (p *Plugins) digestOf(root *projectroot.Root, path string) (string, error) {
	if root.Trusted() {
		return p.host.Digest(path)
	}
	content, err := root.ReadFile(path, int64(p.config.ModuleSize()))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return DigestPrefix + hex.EncodeToString(sum[:]), nil
}

// admitBuilt is admit for a module in memory that was built from source or read by a command. One that was admitted from
// where it comes from is not asked about again.
func (p *Plugins) admitBuilt(ctx context.Context, from origin, wasm []byte) error {
	if p.admission == nil {
		return nil
	}
	sum := sha256.Sum256(wasm)
	digest := DigestPrefix + hex.EncodeToString(sum[:])
	if p.admission.known("", digest) == nil {
		return nil
	}
	from.path = "" // its signatures, if there are any, belong to the file there
	_, err := p.admit(ctx, from, digest)
	return err
}

// permitSource returns an error if a policy refuses source of an origin, before it is fetched or built. Built modules have no
// signatures.
func (p *Plugins) permitSource(from origin) error {
	if p.admission == nil {
		return nil
	}
	for _, policy := range p.admission.policies {
		if _, err := policy.Check(from.source, nil); err != nil {
			return refusedBy(policy.name, err)
		}
	}
	return nil
}
