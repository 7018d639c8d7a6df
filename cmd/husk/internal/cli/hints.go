package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/abi/schema"
)

// commandHints says what commands of Pulumi and Terraform are here.
var commandHints = map[string]string{
	"husk diff":            `"husk preview --diff" shows what differs`,
	"husk apply":           `"husk up" makes the changes`,
	"husk deploy":          `"husk up" makes the changes`,
	"husk init":            `"husk new" begins a project, "husk stack init NAME" creates a stack, and "husk install" fetches the providers`,
	"husk get":             `"husk install" fetches the providers that Husk.yaml names`,
	"husk plugin":          `"husk install" fetches the providers that Husk.yaml names, and "husk provider" builds and tests them`,
	"husk plugins":         `"husk install" fetches the providers that Husk.yaml names, and "husk provider" builds and tests them`,
	"husk output":          `"husk stack output" shows the outputs`,
	"husk show":            `"husk stack" shows the resources, and "husk state show URN" one of them`,
	"husk taint":           `"husk state taint URN" marks a resource for replacement`,
	"husk untaint":         `"husk state untaint URN" removes the mark`,
	"husk workspace":       `"husk stack" manages stacks, as Terraform calls workspaces`,
	"husk env":             `"husk stack" manages stacks; "husk config" their configuration`,
	"husk force-unlock":    `"husk cancel" releases the lock of a stuck run`,
	"husk providers":       `"husk provider audit" lists the providers of the project, with what they may do`,
	"husk rm":              `"husk destroy" deletes the resources, and then "husk stack rm" the stack`,
	"husk history":         `"husk stack history" lists the changes of the stack`,
	"husk export":          `"husk stack export" writes the state`,
	"husk ls":              `"husk stack ls" lists the stacks, and "husk state ls" the resources`,
	"husk build":           `"husk provider build DIR -o FILE" builds a provider`,
	"husk test":            `"husk provider test FILE" tests a provider`,
	"husk schema":          `"husk provider schema NAME" shows a schema`,
	"husk policy":          `"husk up --policy-pack FILE" checks with a policy pack; "husk provider build DIR -o FILE" builds one`,
	"husk about":           `"husk version" shows the version, and "husk doctor" checks this machine`,
	"husk state list":      `"husk state ls" lists the resources`,
	"husk state mv":        `"husk state rename URN NAME" or "husk state move URN --to STACK"`,
	"husk state pull":      `"husk stack export" writes the state`,
	"husk state push":      `"husk stack import" reads a state`,
	"husk state upgrade":   `states need no upgrade`,
	"husk stack new":       `"husk stack init NAME" creates a stack`,
	"husk stack create":    `"husk stack init NAME" creates a stack`,
	"husk stack list":      `"husk stack ls" lists the stacks`,
	"husk stack delete":    `"husk stack rm NAME" removes a stack without resources`,
	"husk stack remove":    `"husk stack rm NAME" removes a stack without resources`,
	"husk stack graph":     `"husk graph" draws the stack`,
	"husk stack unselect":  `"husk stack select NAME" selects another stack`,
	"husk config list":     `"husk config" lists the configuration`,
	"husk config ls":       `"husk config" lists the configuration`,
	"husk config delete":   `"husk config rm KEY" removes a key`,
	"husk config remove":   `"husk config rm KEY" removes a key`,
	"husk config unset":    `"husk config rm KEY" removes a key`,
	"husk config refresh":  `the configuration is in Husk.STACK.yaml, and in no other place`,
	"husk provider new":    `"husk new provider DIR" begins a provider`,
	"husk provider init":   `"husk new provider DIR" begins a provider`,
	"husk create":          `"husk new" begins a project`,
	"husk convert":         `programs in Pulumi YAML run as they are; "husk import" takes over what exists`,
	"husk rollback":        `"husk up" with the earlier program makes the earlier state`,
	"husk delete":          `"husk destroy" deletes the resources`,
	"husk package info":    `"husk provider show NAME" shows the types of a provider`,
	"husk stack tag":       `write pulumi first: husk pulumi stack tag`,
	"husk policy new":      `"husk new policy DIR" begins a policy pack`,
	"husk pulumi":          `write pulumi first: husk pulumi version`,
	"husk list":            `"husk stack" shows the resources, and "husk stack ls" lists the stacks`,
	"husk status":          `"husk stack" shows the resources`,
	"husk stack status":    `"husk stack" shows the resources`,
	"husk drift":           `"husk refresh --preview-only" shows what has drifted`,
	"husk remove":          `"husk destroy" deletes the resources, and then "husk stack rm" the stack`,
	"husk run":             `"husk up" makes the changes`,
	"husk start":           `"husk up" makes the changes`,
	"husk lint":            `"husk validate" checks the project and its program`,
	"husk upgrade":         `"husk update" pins newer versions of the providers`,
	"husk add":             `"husk install SOURCE" adds a provider to the project`,
	"husk search":          `"husk provider search TEXT" searches registries`,
	"husk registry":        `"husk provider search TEXT" searches registries, and "husk provider publish" publishes in one`,
	"husk logs":            `"husk remote log RUN" shows the log of a run of a server`,
	"husk deployment":      `"husk up --remote" has a worker of a server make the changes`,
	"husk org":             `"husk server" keeps the stacks of teams`,
	"husk template":        `"husk new --list" lists the templates`,
	"husk gen-completion":  `"husk completion SHELL" writes the script of a shell`,
	"husk modules":         `components are modules here: "husk new component DIR" begins one`,
	"husk metadata":        `"husk provider show NAME" shows the functions of a provider`,
	"husk config env":      `the configuration is in Husk.STACK.yaml, and in no other place`,
	"husk config cp":       `copy the file Husk.STACK.yaml of the other stack`,
	"husk package ls":      `"husk provider audit" lists the providers of the project, and packages in Husk.yaml the packages`,
	"husk package delete":  `a registry deletes what it has: see its own commands`,
	"husk provider ls":     `"husk provider audit" lists the providers of the project`,
	"husk provider get":    `"husk provider pull" fetches a module into a file, and "husk install" fetches the providers that Husk.yaml names`,
	"husk provider add":    `"husk install SOURCE" adds a provider to the project`,
	"husk provider lint":   `"husk provider test FILE" tests whether a provider keeps to the contract`,
	"husk package publish": `"husk provider publish" checks a provider and pushes it to a registry`,

	"husk package get-schema":  `"husk provider schema NAME" shows a schema`,
	"husk package get-mapping": `"husk provider mapping NAME" shows how a provider maps names of others`,
	"husk provider install":    `"husk install" fetches the providers that Husk.yaml names, and "husk install SOURCE" adds one`,
	"husk provider upgrade":    `"husk update" pins newer versions of the providers`,
}

// flagHints says what flags of Pulumi and Terraform are here.
var flagHints = map[string]string{
	"auto-approve":       "--yes proceeds without confirmation",
	"y":                  "--yes proceeds without confirmation",
	"yes":                "--yes proceeds without confirmation",
	"force":              "--yes proceeds without confirmation",
	"input":              "--non-interactive asks nothing",
	"parallelism":        "--parallel bounds the resources that are deployed at once",
	"state":              "HUSK_BACKEND_URL says where the state is",
	"raw":                `"husk stack output NAME" shows the plain value`,
	"upgrade":            `"husk update" pins newer versions of the providers`,
	"j":                  "--json writes JSON",
	"d":                  "--log-level debug shows messages of every severity",
	"debug":              "--log-level debug shows messages of every severity",
	"logtostderr":        "--log-level debug shows messages of every severity",
	"tracing":            "--trace FILE writes a trace",
	"suppress-outputs":   "--json writes events, and a script reads the ones it needs",
	"suppress-progress":  "a pipe or file gets no live lines",
	"shell":              `"husk stack output --shell" writes the outputs as variables of a shell`,
	"version":            `"husk stack restore --list" lists earlier states`,
	"generate-only":      "husk new writes files, and nothing else",
	"m":                  "--message, with --remote, says what a run is for; husk stack history shows who changed what, and when",
	"config":             `set configuration before, with "husk config set KEY VALUE"`,
	"c":                  `set configuration before, with "husk config set KEY VALUE"; -C names the project's directory`,
	"config-file":        "the configuration of a stack is in Husk.STACK.yaml beside the project file",
	"var":                `set configuration before, with "husk config set KEY VALUE"`,
	"var-file":           "the configuration of a stack is in Husk.STACK.yaml beside the project file",
	"remove":             `"husk destroy --remove" removes the stack, too`,
	"chdir":              "-C DIR names the project's directory",
	"out":                "husk preview --save-plan FILE saves a plan",
	"refresh-only":       `"husk refresh" records the actual state`,
	"destroy":            `"husk destroy" deletes everything, and with --preview-only shows what it would delete`,
	"lock-timeout":       `a locked stack is not waited for; "husk cancel" releases the lock of a stuck run`,
	"lock":               `a stack is always locked while it is changed; "husk cancel" releases the lock of a stuck run`,
	"secrets-provider":   "secrets are encrypted with HUSK_CONFIG_PASSPHRASE, or with a key that is made at first use",
	"no-color":           "--color=never shows no colours, as does the environment variable NO_COLOR",
	"disable-protection": "--ignore-protect deletes protected resources as well",
	"dry-run":            `"husk preview" shows what would change`,
	"r":                  "--refresh refreshes the resources first",
	"f":                  "--yes proceeds without confirmation",
	"event-log":          "--json writes each event as a line",
	"show-reads":         "--json shows every step",
	"show-sames":         "--json shows every step",
	"copy-config-from":   "copy the file Husk.STACK.yaml of the other stack",

	"skip-pending-creates":   "pending creations stay, unless --clear-pending-creates or --adopt-pending-creates is given",
	"import-pending-creates": "--adopt-pending-creates URN=ID takes over what was created",
}

// flagHint returns the counterpart of another tool's flag, or the nearest flag of a command.
func flagHint(cmd *cobra.Command, name string) string {
	if cmd.Flag(name) != nil {
		return fmt.Sprintf("; did you mean --%s?", name)
	}
	if hint := flagHints[name]; hint != "" {
		named, _, _ := strings.Cut(strings.TrimPrefix(hint, "--"), " ")
		named, _, _ = strings.Cut(strings.TrimSuffix(named, ","), "=")
		switch {
		case !strings.HasPrefix(hint, "--") || cmd.Flag(named) != nil:
			return "; " + hint
		case named == "yes":
			return "; " + cmd.CommandPath() + " asks nothing"
		}
		return "" // another command has the flag
	}
	var known []string
	add := func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" { // nobody who writes shell means help
			known = append(known, f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if near := schema.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}

// checkDashes refuses a long flag with one dash, as Terraform writes it. The parser takes -target=x for -t with the value arget=x.
func checkDashes(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	isArgument := func(arg string) bool { return !strings.HasPrefix(arg, "-") }
	if err != nil || cmd.DisableFlagParsing || cmd.HasSubCommands() && slices.ContainsFunc(rest, isArgument) {
		return nil // such as an unknown command, which the parser names
	}
	cmd.InitDefaultHelpFlag()
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		isLong := !isArgument(arg) && len(name) > 1 && isArgument(name)
		if isLong && (cmd.Flag(name) != nil || flagHints[name] != "") {
			return unknownFlag(cmd, fmt.Errorf("unknown flag: -%s", name), name)
		}
	}
	return nil
}

// FlagError returns the error of a flag in the words of its user. The parser's error names functions of Go.
func FlagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0]) // whose flags are not known either
	}
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, err, missing.GetSpecifiedName())
	}
	_, notParsed := errors.AsType[*strconv.NumError](err)
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag, why := wrong.GetFlag(), errors.New("must be a whole number")
		_, isChoice := flag.Value.(Words)
		switch {
		case isChoice:
			why = wrong.Unwrap()
		case !notParsed:
			return seeHelp(cmd, err)
		case flag.Value.Type() == "bool":
			why = errors.New("must be true or false")
		}
		err = fmt.Errorf("--%s %s: %w", flag.Name, wrong.GetValue(), why)
	}
	return seeHelp(cmd, err)
}

func unknownFlag(cmd *cobra.Command, err error, name string) error {
	return seeHelp(cmd, fmt.Errorf("%w%s", err, flagHint(cmd, name)))
}

func seeHelp(cmd *cobra.Command, err error) error {
	return Usagef("%w: see \"%s --help\"", err, cmd.CommandPath())
}

func unknownCommand(cmd *cobra.Command, name string) error {
	path := cmd.CommandPath()
	if hint := commandHints[path+" "+name]; hint != "" {
		return Usagef("unknown command %q for %q: %s", name, path, hint)
	}
	near := ""
	names := slices.DeleteFunc(cmd.SuggestionsFor(name), func(s string) bool { // Cobra suggests lsp for upp
		return !strings.HasPrefix(s, name) && schema.Nearest(name, []string{s}) == ""
	})
	if len(names) > 0 {
		near = ", did you mean \"" + strings.Join(names, "\" or \"") + "\"?"
	}
	return Usagef("unknown command %q for %q%s: see \"%s --help\"", name, path, near, path)
}

// RemarkOnVariables tells the user of environment variables of Pulumi that are set and not read.
func (a *App) RemarkOnVariables() {
	for _, v := range []struct{ name, hint string }{
		{"PULUMI_BACKEND_URL", "HUSK_BACKEND_URL says where the state is"},
		{"PULUMI_SKIP_CONFIRMATIONS", "--yes proceeds without confirmation"},
		{"PULUMI_PARALLEL", "--parallel bounds the resources that are deployed at once"},
	} {
		read := a.Pulumi != nil && v.name == "PULUMI_BACKEND_URL"
		if os.Getenv(v.name) != "" && !read && !a.JSON && !a.Continues {
			a.Say("The environment variable %s is not read: %s.", v.name, v.hint)
		}
	}
}
