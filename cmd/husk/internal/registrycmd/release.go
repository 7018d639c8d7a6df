package registrycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/providercmd"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/base/versionrange"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/plugins/install"
	"github.com/husk-dev/husk/internal/plugins/schemachange"
	"github.com/husk-dev/husk/internal/registry"
	"github.com/husk-dev/husk/internal/registry/provenance"
)

// The names of the checks before a module is published.
const (
	checkVersion      = "version"
	checkSchema       = "schema"
	checkGrants       = "grants"
	checkLicence      = "licence"
	checkReproducible = "reproducible"
	checkConformance  = "conformance"
)

var checkNames = []string{checkVersion, checkSchema, checkGrants, checkLicence, checkReproducible, checkConformance}

// checked is the result of a check.
type checked struct {
	Check string `json:"check"`
	// Status is ok, failed, allowed (it failed, and --allow has its name), or skipped.
	Status  string   `json:"status"`
	Message string   `json:"message,omitempty"`
	Details []string `json:"details,omitempty"`
}

func (c checked) fail(format string, args ...any) checked {
	c.Status, c.Message = "failed", fmt.Sprintf(format, args...)
	return c
}

func (c checked) skip(format string, args ...any) checked {
	c.Status, c.Message = "skipped", fmt.Sprintf(format, args...)
	return c
}

// candidate is a module with its schema.
type candidate struct {
	name   string
	wasm   []byte
	module *plugins.Module
	schema *schema.Package
}

// candidateOf reads a module and its schema. name is for messages.
func candidateOf(ctx context.Context, p *plugins.Plugins, name string, wasm []byte) (*candidate, error) {
	m, text, err := p.Check(ctx, name, wasm)
	if err != nil {
		return nil, err
	}
	described, err := schemajson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s cannot be read: %w", name, err)
	}
	return &candidate{name, wasm, m, described}, nil
}

// published returns the newest release of a source that is older than a version, nil for none.
func (a commands) published(ctx context.Context, p *plugins.Plugins, from registry.Source, version semver.Version) (*candidate, []string, error) {
	client, err := p.Registry(a.progress())
	if err != nil {
		return nil, nil, err
	}
	versions, err := client.Versions(ctx, from)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, v := range versions { // the newest first
		known := semver.MustParse(v)
		if known.GE(version) {
			continue
		}
		release, err := client.Find(ctx, registry.Reference{Source: from, Tag: registry.Tag(v)})
		if err != nil {
			return nil, versions, err
		}
		path, err := client.Fetch(ctx, from, release)
		if err != nil {
			return nil, versions, err
		}
		if _, err := p.AdmitModule(ctx, "", from, release); err != nil {
			return nil, versions, err
		}
		wasm, err := os.ReadFile(path)
		if err != nil {
			return nil, versions, err
		}
		c, err := candidateOf(ctx, p, from.String()+" "+v, wasm)
		return c, versions, err
	}
	return nil, versions, nil
}

type publishFlags struct {
	key         string
	allow       []string
	dryRun      bool
	conformance providercmd.Conformance
}

func (a commands) publish() *cobra.Command {
	f := &publishFlags{}
	cmd := &cobra.Command{
		Use: "publish FILE|DIR REFERENCE", Short: "Check a provider, and publish it in a registry",
		Long: "Check a provider, a module or a directory of source, then publish it in an OCI registry as husk provider\n" +
			"push does, and sign it. Nothing is published unless these hold:\n\n" +
			"  version       it is newer than the published ones\n" +
			"  schema        the changes since the version before fit the version: a breaking change needs a new\n" +
			"                major version, and an addition a new minor one (before 1.0.0: a minor one, and a patch)\n" +
			"  grants        it asks for no more than the version before, or the version is more than a patch\n" +
			"  licence       the schema names a licence\n" +
			"  reproducible  source, built twice in different directories, makes the same module\n" +
			"  conformance   the provider passes husk provider test, with the grants and cases that are given\n\n" +
			"In the CI of GitHub or GitLab, a key also signs where and from which commit the module was built.",
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := registry.ParseReference(args[1])
			if err != nil {
				return cli.Usage(err)
			}
			if to.Tag != "" {
				return cli.Usagef("%s has a tag: leave it out, because the tag is the module's version", args[1])
			}
			for _, name := range f.allow {
				if !slices.Contains(checkNames, name) {
					return cli.Usagef("--allow %s: there is no such check: %s", name, strings.Join(checkNames, ", "))
				}
			}
			if err := f.conformance.Need(a.App); err != nil {
				return err
			}
			return a.WithPlugins(cmd.Context(), nil, func(p *plugins.Plugins) error { return a.publishModule(cmd.Context(), p, args[0], to, f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "sign with the private key in this file")
	flags.Var(cli.Repeated(&f.allow), "allow", "publish although this check fails; can be repeated")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check, and publish nothing")
	f.conformance.AddFlags(flags)
	return cmd
}

func (a commands) publishModule(ctx context.Context, p *plugins.Plugins, from string, to registry.Reference, f *publishFlags) error {
	var key *trust.PrivateKey
	if f.key != "" { // which fails before anything takes long
		k, err := readKey(f.key)
		if err != nil {
			return err
		}
		key = &k
	}
	wasm, err := read(ctx, p, from)
	if err != nil {
		return err
	}
	labels, err := labelsOf(ctx, p, from, wasm)
	if err != nil {
		return err
	}
	c, err := candidateOf(ctx, p, from, wasm)
	if err != nil {
		return err
	}
	to.Tag = registry.Tag(labels.Version)
	all, err := a.checkRelease(ctx, p, c, labels, to, f)
	if err != nil {
		return err
	}
	failed := 0
	for i := range all {
		if all[i].Status == "failed" && slices.Contains(f.allow, all[i].Check) {
			all[i].Status = "allowed"
		}
		if all[i].Status == "failed" {
			failed++
		}
	}
	if err := a.showChecks(all); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s failed, and nothing was published: fix the module, or add --allow NAME", cli.Plural(failed, "check"))
	}
	if f.dryRun {
		return nil
	}
	client, err := p.Registry(a.progress())
	if err != nil {
		return err
	}
	var sign func(registry.Release) error
	if key != nil {
		sign = func(release registry.Release) error { return signRelease(ctx, client, *key, to, release) }
	}
	release, err := client.Push(ctx, to, wasm, labels, false, sign)
	if moved := (*registry.MovedError)(nil); errors.As(err, &moved) {
		return fmt.Errorf("%w\ngive the module another version", err)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return nil // the checks are the result
	}
	return a.showPublished(publishedAt(to, release))
}

// signRelease signs a module that was pushed, and in CI where it was built.
func signRelease(ctx context.Context, client *registry.Client, key trust.PrivateKey, to registry.Reference, release registry.Release) error {
	s := subject{reference: to, release: release}
	statements := map[string]any{trust.PredicateSign: struct{}{}}
	if built := provenance.FromEnvironment(os.Getenv); built != nil {
		statements[trust.PredicateProvenance] = built
	}
	for _, predicate := range slices.Sorted(maps.Keys(statements)) {
		raw, err := s.signedBy(key, predicate, statements[predicate])
		if err != nil {
			return err
		}
		bundle, err := trust.ParseBundle(raw)
		if err != nil {
			return err
		}
		if _, err := client.Attach(ctx, registry.Reference{Source: to.Source, Tag: release.Manifest}, bundle); err != nil {
			return err
		}
	}
	return nil
}

func (a commands) showChecks(all []checked) error {
	if a.JSON {
		return a.WriteJSON(all)
	}
	for _, c := range all {
		if err := a.Printf("%-8s %-12s  %s\n", c.Status, c.Check, c.Message); err != nil {
			return err
		}
		for _, d := range c.Details {
			if err := a.Printf("           %s\n", d); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRelease makes all checks.
func (a commands) checkRelease(ctx context.Context, p *plugins.Plugins, c *candidate, labels registry.Labels, to registry.Reference, f *publishFlags) ([]checked, error) {
	version, err := semver.Parse(labels.Version)
	if err != nil {
		return nil, err
	}
	before, versions, err := a.published(ctx, p, to.Source, version)
	if err != nil {
		return nil, err
	}
	all := []checked{checkTheVersion(version, versions)}
	var was semver.Version
	if before != nil {
		if was, err = semver.ParseTolerant(before.module.Version); err != nil {
			return nil, err
		}
	}
	all = append(all, checkTheSchema(c, version, before, was), checkTheGrants(c, version, before, was))
	licence := checked{Check: checkLicence, Status: "ok", Message: labels.Licenses}
	if labels.Licenses == "" {
		licence = licence.fail("the schema names no licence: set License of the provider")
	}
	all = append(all, licence)
	reproducible := checked{Check: checkReproducible, Status: "ok", Message: "two builds make the same module"}
	if !isDir(c.name) {
		reproducible = reproducible.skip("it is a module, not source")
	} else if same, err := p.BuildsTheSame(ctx, c.name, c.wasm); err != nil {
		reproducible = reproducible.fail("it cannot be built a second time: %v", err)
	} else if !same {
		reproducible = reproducible.fail("built in another directory, it is another module")
	}
	all = append(all, reproducible)
	conforms := checked{Check: checkConformance, Status: "ok"}
	conforms.Message, conforms.Details, err = f.conformance.Run(ctx, a.App, p, c.module)
	switch {
	case err != nil:
		conforms = conforms.fail("%v", err)
	case len(conforms.Details) > 0:
		conforms.Status = "failed"
		conforms.Details = append(conforms.Details, "husk provider test "+c.name+" shows more")
	}
	return append(all, conforms), nil
}

func checkTheVersion(version semver.Version, versions []string) checked {
	c := checked{Check: checkVersion, Status: "ok"}
	if len(versions) == 0 {
		c.Message = fmt.Sprintf("%s is the first", version)
		return c
	}
	newest := semver.MustParse(versions[0])
	switch {
	case slices.Contains(versions, version.String()):
		return c.fail("%s is published already", version)
	case version.LT(newest):
		return c.fail("%s is older than %s, which is published", version, newest)
	}
	c.Message = fmt.Sprintf("%s, after %s", version, newest)
	return c
}

func checkTheSchema(now *candidate, version semver.Version, before *candidate, was semver.Version) checked {
	c := checked{Check: checkSchema, Status: "ok"}
	if before == nil {
		return c.skip("there is no version before")
	}
	changes := schemachange.Between(before.schema, now.schema)
	c.Message = fmt.Sprintf("%s since %s", cli.Plural(len(changes), "change"), was)
	c.Details = changeLines(changes)
	if !schemachange.Allows(was, version, changes) {
		least := schemachange.Least(was, changes)
		return c.fail("the changes since %s need the version %s or a later one", was, least)
	}
	return c
}

func changeLines(changes []schemachange.Change) (lines []string) {
	for _, change := range changes {
		if change.Breaking {
			lines = append(lines, "breaking: "+change.String())
		} else {
			lines = append(lines, change.String())
		}
	}
	return lines
}

func checkTheGrants(now *candidate, version semver.Version, before *candidate, was semver.Version) checked {
	c := checked{Check: checkGrants, Status: "ok", Message: "it asks for " + strings.Join(install.RequestLines(now.module.Requests), ", ")}
	if before == nil {
		return c
	}
	wider := install.Wider(before.module.Requests, now.module.Requests)
	if len(wider) == 0 {
		return c
	}
	c.Message = "it asks for more than " + was.String()
	for _, line := range install.RequestLines(wider) {
		c.Details = append(c.Details, "+ "+line)
	}
	if version.Major == was.Major && version.Minor == was.Minor {
		return c.fail("it asks for more than %s, which users must agree to: that needs more than a patch", was)
	}
	return c
}

func (a commands) changes() *cobra.Command {
	return &cobra.Command{
		Use: "changes OLD NEW", Aliases: []string{"schema-diff"}, Short: "Show what differs between the schemas of two versions of a provider",
		Long: "Show the differences between the schemas of two versions of a provider, and which of them break\n" +
			"programs. Each is a module, a directory of source, or a reference such as ghcr.io/acme/random:1.2.0.\n" +
			"Without a tag, it is the newest version.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withPlugins(cmd.Context(), func(p *plugins.Plugins) error {
				var both [2]*candidate
				for i, text := range args {
					wasm, err := a.readAny(cmd.Context(), p, text)
					if err != nil {
						return err
					}
					if both[i], err = candidateOf(cmd.Context(), p, text, wasm); err != nil {
						return err
					}
				}
				changes := schemachange.Between(both[0].schema, both[1].schema)
				if a.JSON {
					if changes == nil {
						changes = []schemachange.Change{}
					}
					return a.WriteJSON(changes)
				}
				for _, line := range changeLines(changes) {
					if err := a.Printf("%s\n", line); err != nil {
						return err
					}
				}
				was, err := semver.ParseTolerant(both[0].module.Version)
				if err != nil {
					return err
				}
				a.Say("%s since %s, so the next version is at least %s.", cli.Plural(len(changes), "change"), was, schemachange.Least(was, changes))
				return nil
			})
		},
	}
}

// readAny reads a module from a file, a directory, or a registry.
func (a commands) readAny(ctx context.Context, p *plugins.Plugins, text string) ([]byte, error) {
	if _, err := os.Stat(text); err == nil || strings.HasSuffix(text, ".wasm") {
		return read(ctx, p, text)
	}
	from, err := registry.ParseReference(text)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("%w; there is no such file either", err))
	}
	client, err := p.Registry(a.progress())
	if err != nil {
		return nil, err
	}
	_, release, err := find(ctx, client, from, versionrange.Range{})
	if err != nil {
		return nil, err
	}
	path, err := client.Fetch(ctx, from.Source, release)
	if err != nil {
		return nil, err
	}
	if _, err := p.AdmitModule(ctx, "", from.Source, release); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// find returns the release that a reference names: without a tag, the newest version in a range.
func find(ctx context.Context, client *registry.Client, from registry.Reference, asked versionrange.Range) (registry.Reference, registry.Release, error) {
	if from.Tag != "" {
		release, err := client.Find(ctx, from)
		return from, release, err
	}
	release, err := client.Resolve(ctx, from.Source, asked)
	from.Tag = cmp.Or(from.Tag, registry.Tag(release.Version))
	return from, release, err
}
