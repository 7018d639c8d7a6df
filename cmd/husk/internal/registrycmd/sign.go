package registrycmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/registry"
)

// passphraseVariable has the passphrase of a private key.
const passphraseVariable = "HUSK_KEY_PASSPHRASE"

func (a commands) keygen() *cobra.Command {
	return &cobra.Command{
		Use: "keygen FILE", Short: "Make a key that signs modules",
		Long: "Make a key of Ed25519 that signs modules: FILE is the private key, and FILE.pub the public one. The\n" +
			"private key is encrypted with the passphrase in HUSK_KEY_PASSPHRASE, if that is set. Files that exist\n" +
			"are not replaced. Any Ed25519 or ECDSA key works that OpenSSL has written as PKCS #8 in PEM.",
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := trust.GenerateKey()
			if err != nil {
				return err
			}
			passphrase := os.Getenv(passphraseVariable)
			private, err := key.PEM([]byte(passphrase))
			if err != nil {
				return err
			}
			public := args[0] + ".pub"
			for _, path := range []string{args[0], public} {
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("%s exists already, and a key is not replaced: name another file", path)
				}
			}
			if err := atomicfile.Write(args[0], private, 0o600); err != nil {
				return err
			}
			if err := atomicfile.Write(public, key.Public().PEM(), 0o644); err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(map[string]any{"private": args[0], "public": public, "key": key.Public().String(), "encrypted": passphrase != ""})
			}
			if passphrase == "" {
				a.Say("The private key is not encrypted: set %s to encrypt it.", passphraseVariable)
			}
			a.Say("Wrote %s, which you keep to yourself, and %s. Users trust the key as:", args[0], public)
			return a.Printf("%s\n", key.Public())
		},
	}
}

// readKey reads a private key from a file.
func readKey(path string) (trust.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return trust.PrivateKey{}, fmt.Errorf("reading the private key: %w", err)
	}
	key, err := trust.ParsePrivateKey(text, []byte(os.Getenv(passphraseVariable)))
	if errors.Is(err, trust.ErrPassphrase) {
		return key, fmt.Errorf("%s: %w\nset %s", path, err, passphraseVariable)
	}
	if err != nil {
		return key, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// subject is a module to sign or to verify: one in a registry, or a file.
type subject struct {
	// file is empty for a module in a registry.
	file      string
	reference registry.Reference
	release   registry.Release
}

// subjectOf finds a module.
func (a commands) subjectOf(ctx context.Context, p *plugins.Plugins, text string) (s subject, err error) {
	if info, failed := os.Stat(text); failed == nil && info.Mode().IsRegular() || strings.HasSuffix(text, ".wasm") {
		digest, err := p.Digest(text)
		return subject{file: text, release: registry.Release{Digest: digest}}, err
	}
	if s.reference, err = registry.ParseReference(text); err != nil {
		return s, cli.Usage(fmt.Errorf("%w; a file has a name that ends with .wasm", err))
	}
	if s.reference.Tag == "" {
		return s, cli.Usagef("%s has neither a tag nor a digest: say which version, such as %s:1.2.0", text, text)
	}
	client, err := p.Registry(nil)
	if err != nil {
		return s, err
	}
	s.release, err = client.Find(ctx, s.reference)
	return s, err
}

// String returns the subject for people.
func (s subject) String() string { return cmp.Or(s.file, s.reference.String()) }

// artifacts returns the artifacts that a signature of the subject may be about.
func (s subject) artifacts(ctx context.Context, p *plugins.Plugins) ([]trust.Artifact, error) {
	if s.file != "" {
		return []trust.Artifact{{Digest: s.release.Digest, Content: func() ([]byte, error) { return os.ReadFile(s.file) }}}, nil
	}
	client, err := p.Registry(nil)
	if err != nil {
		return nil, err
	}
	return []trust.Artifact{
		{Digest: s.release.Digest, Content: func() ([]byte, error) {
			path, err := client.Fetch(ctx, s.reference.Source, s.release)
			if err != nil {
				return nil, err
			}
			return os.ReadFile(path)
		}},
		{Digest: s.release.Manifest, Content: func() ([]byte, error) {
			return client.ManifestOf(ctx, s.reference.Source, s.release.Manifest)
		}},
	}, nil
}

// add adds a signature to the subject, and returns where it is.
func (s subject) add(ctx context.Context, p *plugins.Plugins, bundle *trust.Bundle) (where string, err error) {
	if s.file == "" {
		client, err := p.Registry(nil)
		if err != nil {
			return "", err
		}
		_, err = client.Attach(ctx, registry.Reference{Source: s.reference.Source, Tag: s.release.Manifest}, bundle)
		return s.reference.String(), err
	}
	where = s.file + plugins.SignatureSuffix
	all, err := registry.ReadSignatures(projectroot.New(".", projectroot.Trusted), where)
	if err != nil {
		return where, err
	}
	return where, writeSignatures(where, append(all, bundle.Raw()))
}

// writeSignatures writes bundles to a file, a line each.
func writeSignatures(path string, all [][]byte) error {
	var text bytes.Buffer
	for _, one := range all {
		if err := json.Compact(&text, one); err != nil {
			return fmt.Errorf("a signature is not JSON: %w", err)
		}
		text.WriteByte('\n')
	}
	return atomicfile.Write(path, text.Bytes(), 0o644)
}

func (a commands) sign() *cobra.Command {
	var keyFile, bundleFile string
	cmd := &cobra.Command{
		Use: "sign REFERENCE|FILE", Short: "Sign a module in a registry or file",
		Long: "Sign a module: one in a registry, such as ghcr.io/acme/random:1.2.0, to which the signature is added as a\n" +
			"sigstore bundle, or one in a file, beside which it is written. --key names a private key, such as\n" +
			"husk provider keygen makes. --bundle adds a bundle that another tool has made, such as cosign with the\n" +
			"identity of a workflow.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (keyFile == "") == (bundleFile == "") {
				return cli.Usagef("give --key or --bundle, and one of them only")
			}
			return a.withPlugins(cmd.Context(), func(p *plugins.Plugins) error {
				s, err := a.subjectOf(cmd.Context(), p, args[0])
				if err != nil {
					return err
				}
				var raw []byte
				var by string
				if keyFile != "" {
					key, err := readKey(keyFile)
					if err != nil {
						return err
					}
					if raw, err = s.signedBy(key, trust.PredicateSign, struct{}{}); err != nil {
						return err
					}
					by = "the key " + key.Public().String()
				} else if raw, err = os.ReadFile(bundleFile); err != nil {
					return fmt.Errorf("reading the bundle: %w", err)
				}
				bundle, err := trust.ParseBundle(bytes.TrimSpace(raw))
				if err != nil {
					return err
				}
				artifacts, err := s.artifacts(cmd.Context(), p)
				if err != nil {
					return err
				}
				if err := bundle.About(artifacts...); err != nil {
					return err
				}
				where, err := s.add(cmd.Context(), p, bundle)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.WriteJSON(map[string]any{"subject": s.String(), "digest": s.release.Digest, "signer": by, "signature": where})
				}
				return a.Printf("%s is signed by %s\nits digest is %s\n", s, cmp.Or(by, "whoever made the bundle"), s.release.Digest)
			})
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "the file of the private key")
	cmd.Flags().StringVar(&bundleFile, "bundle", "", "the sigstore bundle in this file, which another tool has made")
	return cmd
}

// signedBy returns a bundle in which a key signs a statement about the subject.
func (s subject) signedBy(key trust.PrivateKey, predicateType string, predicate any) ([]byte, error) {
	names := map[string]string{}
	if s.file != "" {
		names[filepath.Base(s.file)] = s.release.Digest
	} else {
		names[s.reference.Repository] = s.release.Manifest
		names[filepath.Base(s.reference.Repository)+".wasm"] = s.release.Digest
	}
	statement, err := trust.NewStatement(predicateType, predicate, names)
	if err != nil {
		return nil, err
	}
	return trust.Sign(key, statement)
}

// signerFlags say whose signature counts.
type signerFlags struct {
	keys, roots      []string
	identity, issuer string
}

func (f *signerFlags) add(flags *pflag.FlagSet) {
	flags.Var(cli.Repeated(&f.keys), "key", "a public `KEY`, or a file that has it; can be repeated")
	flags.StringVar(&f.identity, "identity", "", "the pattern of an identity, such as https://github.com/acme/**@refs/heads/main")
	flags.StringVar(&f.issuer, "issuer", "", "who vouches for the identity, such as https://token.actions.githubusercontent.com")
	flags.Var(cli.Repeated(&f.roots), "root", "a file with a trusted root, with which identities are verified; can be repeated")
}

// policy returns the policy that the flags stand for, nil if there are none.
func (f *signerFlags) policy() (*trust.Policy, error) {
	rule := trust.Rule{Source: "**"}
	for _, text := range f.keys {
		key, err := plugins.ReadPublicKey(program.TrustedSigner{Key: text}, os.ReadFile)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--key %s: %w", text, err))
		}
		rule.Signers = append(rule.Signers, trust.Allowed{Key: key})
	}
	if f.identity != "" || f.issuer != "" {
		rule.Signers = append(rule.Signers, trust.Allowed{Identity: f.identity, Issuer: f.issuer})
	}
	if rule.Signers == nil {
		if f.roots != nil {
			return nil, cli.Usagef("--root is used with --identity and --issuer")
		}
		return nil, nil
	}
	policy := &trust.Policy{Rules: []trust.Rule{rule}}
	var roots []byte
	for _, file := range f.roots {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the trusted root: %w", err)
		}
		roots = append(append(roots, text...), '\n')
	}
	if roots != nil {
		root, err := trust.ParseRoot(roots)
		if err != nil {
			return nil, err
		}
		policy.Root = root
	}
	if err := policy.Valid(); err != nil {
		return nil, cli.Usage(fmt.Errorf("%w: --identity goes with --issuer and --root", err))
	}
	return policy, nil
}

func (a commands) verify() *cobra.Command {
	f := &signerFlags{}
	cmd := &cobra.Command{
		Use: "verify REFERENCE|FILE", Short: "Verify who has signed a module",
		Long: "Verify the signatures of a module: one in a registry, such as ghcr.io/acme/random:1.2.0, or one in a\n" +
			"file. It fails unless a signer that --key or --identity names has signed the module. Without these\n" +
			"flags, the trust policies of the project and in HUSK_TRUST_POLICY decide. No service is asked:\n" +
			"identities are verified with a trusted root, such as \"cosign trusted-root create\" and \"gh attestation\n" +
			"trusted-root\" write.",
		RunE: func(cmd *cobra.Command, args []string) error {
			policy, err := f.policy()
			if err != nil {
				return err
			}
			do := func(project *program.Project, p *plugins.Plugins) error {
				return a.verified(cmd.Context(), p, policy, args[0])
			}
			if policy != nil {
				return a.withPlugins(cmd.Context(), func(p *plugins.Plugins) error { return do(nil, p) })
			}
			_, err = a.Project(cmd.Context())
			if err != nil && os.Getenv("HUSK_TRUST_POLICY") != "" {
				return a.withPlugins(cmd.Context(), func(p *plugins.Plugins) error { return do(nil, p) })
			}
			if _, none := errors.AsType[*program.NoProjectError](err); none {
				return errNoSigner()
			}
			return a.withProject(cmd.Context(), false, do)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func errNoSigner() error {
	return cli.Usagef("say whose signature counts: --key, or --identity with --issuer and --root, or a trust policy in the project (plugins.trust) or in HUSK_TRUST_POLICY")
}

// verified shows who has signed a module. Without a policy, the plugins' policy decides.
func (a commands) verified(ctx context.Context, p *plugins.Plugins, policy *trust.Policy, text string) error {
	s, err := a.subjectOf(ctx, p, text)
	if err != nil {
		return err
	}
	var signer trust.Signer
	if policy == nil {
		if !p.HasTrustPolicy() {
			return errNoSigner()
		}
		signer, err = p.AdmitModule(ctx, s.file, s.reference.Source, s.release)
	} else {
		var raw [][]byte
		if raw, err = s.signatures(ctx, p); err != nil {
			return err
		}
		var artifacts []trust.Artifact
		if artifacts, err = s.artifacts(ctx, p); err != nil {
			return err
		}
		signer, err = plugins.CheckBundles(policy, s.String(), raw, artifacts)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(struct {
			Subject  string     `json:"subject"`
			Digest   string     `json:"digest"`
			Key      string     `json:"key,omitempty"`
			Identity string     `json:"identity,omitempty"`
			Issuer   string     `json:"issuer,omitempty"`
			Logged   bool       `json:"logged"`
			Time     *time.Time `json:"time,omitempty"`
		}{s.String(), s.release.Digest, signer.Key, signer.Identity, signer.Issuer, signer.Logged, timeOf(signer)})
	}
	if signer.IsZero() {
		return a.Printf("%s may be used, and the trust policy wants no signature of it\n", s)
	}
	var rows cli.Rows
	rows.Add("module", s.String())
	rows.Add("digest", s.release.Digest)
	rows.Add("signed by", signer.String())
	if t := timeOf(signer); t != nil {
		rows.Add("signed at", t.Format(time.RFC3339))
	}
	if signer.Logged {
		rows.Add("in a log", "yes")
	}
	return a.Table(rows)
}

func timeOf(s trust.Signer) *time.Time {
	if s.Time.IsZero() {
		return nil
	}
	t := s.Time.UTC()
	return &t
}

// signatures returns the bundles of the subject.
func (s subject) signatures(ctx context.Context, p *plugins.Plugins) ([][]byte, error) {
	if s.file != "" {
		return registry.ReadSignatures(projectroot.New(".", projectroot.Trusted), s.file+plugins.SignatureSuffix)
	}
	client, err := p.Registry(nil)
	if err != nil {
		return nil, err
	}
	return client.Signatures(ctx, s.reference.Source, s.release)
}
