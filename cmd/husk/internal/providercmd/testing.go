package providercmd

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/property/propertyliteral"
)

// conformanceTest names the part that husk leaves out. Generated is the default number of generated inputs, a copy of
// conformance.DefaultGenerated, because that package is not linked into husk.
const (
	conformanceTest = "the test of a provider"
	Generated       = 4
)

type providerTestFlags struct {
	askFlags
	cases, rerun, seed, failures string
	generated                    int
	only, untested               []string
	readOnly, all, list, logs    bool
}

func (a commands) providerTest() *cobra.Command {
	var f providerTestFlags
	cmd := &cobra.Command{
		Use: "test [FILE|DIR]", Short: "Test whether a provider keeps to the contract",
		Long: "Test whether a provider, a module or a directory of source, keeps to the contract: for example,\n" +
			"that previews change nothing and that secrets stay secret. Inputs are generated from the provider's\n" +
			"schema, or come from a file of cases.\n\n" +
			"The test creates, changes, and deletes resources, within what --grant allows the provider.\n" +
			"If the provider refuses every input of a type (a generated text is not a PEM file, for example), the type\n" +
			"is untested, and the test fails. Supply better inputs in a file of cases, or skip the type with\n" +
			"--allow-untested TYPE. A file of cases is YAML or JSON:\n\n" +
			"  resources:\n" +
			"    random:RandomInteger:\n" +
			"      - inputs: {min: 1, max: 9}\n" +
			"        updates:\n" +
			"          - {inputs: {min: 1, max: 8}, expect: replace}   # or none, or update\n" +
			"        expect: {outputs: {max: 9}}                       # or refused: [max], or error: not-found\n" +
			"  functions:\n" +
			"    tls:getPublicKey:\n" +
			"      - args: {privateKeyPem: {fn::secret: \"-----BEGIN ...\"}}\n\n" +
			"Assets are {fn::asset: {text: TEXT}}, or path or uri, and archives {fn::archive: {path: PATH}}, or uri\n" +
			"or assets. Paths are relative to the working directory.\n",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.list:
			case f.generated < 0:
				return cli.Usagef("--generated %d: must be at least 1", f.generated)
			case len(args) == 0:
				return cli.Usagef("missing argument FILE|DIR: %s", cmd.UseLine())
			}
			if err := a.WithWhole(conformanceTest); err != nil {
				return err
			}
			if f.list {
				return a.Parts.ListChecks(a.App)
			}
			o, err := f.options()
			if err != nil {
				return err
			}
			return a.Parts.TestProvider(cmd.Context(), a.App, args[0], o)
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.cases, "cases", "", "use the cases in this file in place of generated inputs")
	flags.StringVar(&f.rerun, "case", "", "run only the case in this file, which an earlier test wrote")
	flags.StringVar(&f.seed, "seed", "", "generate the same inputs as the test that reported this seed")
	flags.IntVar(&f.generated, "generated", 0, "number of inputs to generate for each resource type and function (default "+strconv.Itoa(Generated)+")")
	flags.Var(cli.Repeated(&f.only), "only", "run only this check; can be repeated")
	flags.Var(cli.Repeated(&f.untested), "allow-untested", "do not fail if this type, function, package, or configuration refused every input; can be repeated")
	flags.BoolVar(&f.readOnly, "read-only", false, "skip checks that create, change, or delete resources")
	flags.BoolVar(&f.all, "all", false, "also show checks that pass and checks that do not apply")
	flags.BoolVar(&f.logs, "logs", false, "show what the provider logs and prints")
	flags.BoolVar(&f.list, "list", false, "list all checks without running them")
	flags.StringVar(&f.failures, "failures", "husk-provider-test", "write failing cases to this directory")
	return cmd
}

func (f *providerTestFlags) options() (o cli.TestOptions, err error) {
	o = cli.TestOptions{
		Extension: f.extension, Cases: f.cases, Rerun: f.rerun, Seed: f.seed, Failures: f.failures, Generated: f.generated,
		Only: f.only, Untested: f.untested, ReadOnly: f.readOnly, All: f.all, Logs: f.logs, Repeated: f.repeated(),
	}
	o.Grants, o.Config, o.Parameters, err = f.parse()
	return o, err
}

// repeated returns the flags that a rerun needs, too.
func (f *providerTestFlags) repeated() string {
	var b strings.Builder
	for _, flag := range []struct {
		name   string
		values []string
	}{{"grant", f.grants}, {"config", f.config}, {"parameter", f.parameters}, {"allow-untested", f.untested}} {
		for _, v := range flag.values {
			fmt.Fprintf(&b, " --%s %s", flag.name, ShellWord(v))
		}
	}
	if f.extension {
		b.WriteString(" --extension")
	}
	return b.String()
}

// ShellWord quotes a word if a shell would not take it literally.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("=:/._-+,@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// parsePairs reads the NAME=VALUE of a flag. Providers make numbers and booleans of text themselves, as
// they do with a stack's configuration.
func parsePairs(flag string, pairs []string) (property.Map, error) {
	var m property.Map
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return m, cli.Usagef("--%s %s: must be NAME=VALUE", flag, pair)
		}
		value := property.String(text)
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			var err error
			if value, err = propertyliteral.Decode(jsonOf(text)); err != nil {
				return m, cli.Usagef("--%s %s: %w", flag, pair, err)
			}
		}
		m = m.With(name, value)
	}
	return m, nil
}

// jsonOf decodes JSON. Other text stays text.
func jsonOf(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}
