// Command programs deploys public programs of Pulumi as they are, by the name of Pulumi's command, and prints a table of what became of
// each: a row as soon as it is known. programs.txt lists them with the result that each must have. It runs in the root of a checkout.
//
//	go run -C bench ./reach/programs -husk FILE -in DIR -modules DIR [-only TEXT]
//
// The directory of -in has a checkout of each repository, by its name, and what programs import: node_modules with Pulumi's SDK,
// typescript and ts-node 10, and a virtual environment venv of Python. The directory of -modules has NAME.wasm for each provider. Programs in Go fetch
// their modules, and need the network.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed programs.txt
var programs string

// program is a line of programs.txt.
type program struct {
	// dir is the directory of the program. If a part of it is between brackets, as in [repository/example]/program, all of that part is
	// copied.
	dir, copied string
	// providers are the modules that its project file lists in addition.
	providers []string
	// config are its settings: KEY=VALUE, with path: or secret: before a key.
	config []string
	// shows is the table's second column.
	shows string
	// refusal is a text of the error that refuses the program, empty if the program runs.
	refusal string
}

var (
	bracketed  = regexp.MustCompile(`^\[(.*)\](.*)$`)
	virtualenv = regexp.MustCompile(`(?m)^ *virtualenv: *(\S+)`)
)

func parse(text string) (all []program, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "|")
		if len(columns) != 5 {
			return nil, fmt.Errorf("%q does not have five columns", line)
		}
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		p := program{dir: columns[0], copied: columns[0], providers: strings.Fields(columns[1]), shows: columns[3]}
		if parts := bracketed.FindStringSubmatch(p.dir); parts != nil {
			p.copied, p.dir = parts[1], parts[1]+parts[2]
		}
		for _, setting := range strings.Split(columns[2], ";") {
			if setting = strings.TrimSpace(setting); setting != "" {
				p.config = append(p.config, setting)
			}
		}
		if columns[4] != "runs" {
			var is bool
			if p.refusal, is = strings.CutPrefix(columns[4], "refused: "); !is {
				return nil, fmt.Errorf("%q is neither \"runs\" nor \"refused: TEXT\"", columns[4])
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// place is where programs run.
type place struct{ husk, in, modules string }

func main() {
	at := place{}
	flag.StringVar(&at.husk, "husk", "", "the program husk")
	flag.StringVar(&at.in, "in", "", "directory of the checkouts, node_modules, and venv")
	flag.StringVar(&at.modules, "modules", "", "directory of the providers' modules")
	only := flag.String("only", "", "deploy the programs whose directory has this in it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, at, *only); err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, at place, only string) error {
	all, err := parse(programs)
	if err != nil {
		return err
	}
	for _, path := range []*string{&at.husk, &at.in, &at.modules} {
		if *path == "" {
			return errors.New("-husk, -in, and -modules are needed")
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp(at.in, "deployed-") // below the packages of Node.js
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.Symlink(at.husk, filepath.Join(work, "pulumi")); err != nil {
		return err
	}
	fmt.Println("| program | shows | result |\n| --- | --- | --- |")
	var ran, refused, wrong int
	for i, p := range all {
		if !strings.Contains(p.dir, only) {
			continue
		}
		err := at.deploy(ctx, p, work, filepath.Join(work, fmt.Sprint(i)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		result := "runs"
		switch {
		case err == nil && p.refusal == "":
			ran++
		case err != nil && p.refusal != "" && strings.Contains(err.Error(), p.refusal):
			refused++
			result = "refused: " + p.refusal
		case err == nil:
			wrong++
			result = "**runs**"
		default:
			wrong++
			result = "**fails**"
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.dir, err)
		}
		fmt.Printf("| `%s` | %s | %s |\n", p.dir, p.shows, result)
	}
	fmt.Printf("\n%d run, and %d are refused.\n", ran, refused)
	if wrong > 0 {
		return fmt.Errorf("%d programs are not as programs.txt says", wrong)
	}
	return nil
}

// deploy deploys a program, deploys it again, which must change nothing, and destroys what it made.
func (at place) deploy(ctx context.Context, p program, bin, root string) error {
	if err := os.CopyFS(root, os.DirFS(filepath.Join(at.in, p.copied))); err != nil {
		return err
	}
	dir := filepath.Join(root, strings.TrimPrefix(p.dir, p.copied))
	if err := at.complete(p, dir); err != nil {
		return err
	}
	command := func(name string, args ...string) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+filepath.Join(at.in, "venv", "bin")+":"+os.Getenv("PATH"), "PULUMI_CONFIG_PASSPHRASE=passphrase",
			"PULUMI_NODEJS_TRANSPILE_ONLY=true", "GOFLAGS=-mod=mod")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, bytes.TrimSpace(out))
		}
		return nil
	}
	pulumi := func(args ...string) error {
		return command(filepath.Join(bin, "pulumi"), append(args, "--non-interactive")...)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil && bytes.Contains(text, []byte(`"build": "tsc"`)) {
		if err := command(filepath.Join(at.in, "node_modules", ".bin", "tsc"), "--skipLibCheck"); err != nil {
			return err
		}
	}
	if err := pulumi("stack", "init", "dev"); err != nil {
		return err
	}
	for _, setting := range p.config {
		key, value, _ := strings.Cut(setting, "=")
		args := []string{"config", "set"}
		for _, kind := range []string{"path", "secret"} {
			if rest, is := strings.CutPrefix(key, kind+":"); is {
				args, key = append(args, "--"+kind), rest
			}
		}
		if err := pulumi(append(args, key, value)...); err != nil {
			return err
		}
	}
	err := pulumi("up", "--yes", "--skip-preview")
	if err == nil {
		err = pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")
	}
	return errors.Join(err, pulumi("destroy", "--yes", "--skip-preview"))
}

// complete prepares the directory as a user does before the first command: it fills in a template, lists the providers, and links the
// virtual environment that the project file names, .venv if it names none.
func (at place) complete(p program, dir string) error {
	for _, name := range []string{"Pulumi.yaml", "package.json", "go.mod", "pyproject.toml"} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		filled := strings.NewReplacer("${PROJECT}", "reached", "${DESCRIPTION}", "A program").Replace(string(text))
		if name == "Pulumi.yaml" && len(p.providers) > 0 {
			filled += "\nplugins:\n  providers:\n"
			for _, provider := range p.providers {
				filled += fmt.Sprintf("    - {name: %s, path: %q}\n", provider, filepath.Join(at.modules, provider+".wasm"))
			}
		}
		if err := os.WriteFile(path, []byte(filled), 0o644); err != nil {
			return err
		}
		if name != "Pulumi.yaml" {
			continue
		}
		environment := ".venv"
		if named := virtualenv.FindStringSubmatch(filled); named != nil {
			environment = named[1]
		}
		if err := os.Symlink(filepath.Join(at.in, "venv"), filepath.Join(dir, environment)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}
