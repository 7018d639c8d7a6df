// Command programs deploys public programs of Pulumi as they are, by the name of Pulumi's command, and prints a table of what became of
// each: a row as soon as it is known. programs.txt lists them with the result that each must have, and automation.txt the examples of
// Pulumi's Automation API, which run that command themselves. It runs in the root of a checkout.
//
//	go run -C bench ./reach/programs -husk FILE -in DIR -modules DIR [-only TEXT]
//
// The directory of -in has a checkout of each repository, by its name, and what programs import: node_modules with Pulumi's SDK, typescript
// and ts-node 10, and a virtual environment venv of Python. awsx must find the same copy of Pulumi's SDK as the programs. The directory of
// -modules has NAME.wasm for each provider: aws, azure, and azure-native are the stand-ins below this package's directory, and postgresql
// is the one in examples/providers. Programs in Go and Java fetch their modules, and need the network; those with databases need the
// servers of MariaDB and PostgreSQL, and those that deploy from a repository husk-server beside the file of -husk. An example that "runs
// with PROGRAM" is left out unless PATH has the program: temporal has Temporal's server, and pulumi-language-java is Pulumi's language
// host.
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
	"slices"
	"strings"
	"syscall"
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

// rows returns the lines of a table with their columns, without comments.
func rows(text string, columns int) (all [][]string, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(line, "|")
		if len(row) != columns {
			return nil, fmt.Errorf("%q does not have %d columns", line, columns)
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		all = append(all, row)
	}
	return all, nil
}

// copiedAndDir returns the directories of a program as [program] has them.
func copiedAndDir(column string) (copied, dir string) {
	if parts := bracketed.FindStringSubmatch(column); parts != nil {
		return parts[1], parts[1] + parts[2]
	}
	return column, column
}

func parse(text string) (all []program, err error) {
	table, err := rows(text, 5)
	if err != nil {
		return nil, err
	}
	for _, columns := range table {
		p := program{providers: strings.Fields(columns[1]), shows: columns[3]}
		p.copied, p.dir = copiedAndDir(columns[0])
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

// docker stands in for Docker's command: it builds nothing, and pushes it nowhere. It goes on for a second after what it prints, which old
// versions of pulumi-docker for Go lose if a command ends.
const docker = `#!/bin/sh
case "$1" in
version) echo '{"Client":{"Version":"20.10.0"},"Server":{"Version":"20.10.0"}}' ;;
image) echo sha256:0 && sleep 1 ;;
esac
`

// place is where programs run. bin has husk by the name of Pulumi's command, docker, and aws.
type place struct{ husk, in, modules, bin string }

func main() {
	if filepath.Base(os.Args[0]) == awsCommand {
		if err := kms(os.Args[1:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
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

// subject is a program or an example, and the result that it must have.
type subject struct {
	dir, shows, refusal, needs string
	// run runs it below a directory.
	run func(ctx context.Context, root string) error
}

func run(ctx context.Context, at place, only string) error {
	deployed, err := parse(programs)
	if err != nil {
		return err
	}
	driven, err := parseExamples(automation)
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
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for name, program := range map[string]string{"pulumi": at.husk, awsCommand: self} {
		if err := os.Symlink(program, filepath.Join(work, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(work, "docker"), []byte(docker), 0o755); err != nil {
		return err
	}
	at.bin = work
	var all []subject
	for _, p := range deployed {
		all = append(all, subject{dir: p.dir, shows: p.shows, refusal: p.refusal, run: func(ctx context.Context, root string) error { return at.deploy(ctx, p, root) }})
	}
	for _, e := range driven {
		all = append(all, subject{dir: e.dir, shows: e.shows, needs: e.needs, refusal: e.refusal, run: func(ctx context.Context, root string) error { return at.drive(ctx, e, root) }})
	}
	fmt.Println("| program | shows | result |\n| --- | --- | --- |")
	var ran, refused, needing, wrong int
	for i, s := range all {
		if !strings.Contains(s.dir, only) {
			continue
		}
		if s.needs != "" {
			needing++
			fmt.Printf("| `%s` | %s | needs %s |\n", s.dir, s.shows, s.needs)
			continue
		}
		err := within(ctx, filepath.Join(work, fmt.Sprint(i)), s.run)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		result := "runs"
		switch {
		case err == nil && s.refusal == "":
			ran++
		case err != nil && s.refusal != "" && strings.Contains(err.Error(), s.refusal):
			refused++
			result = "refused: " + s.refusal
		case err == nil:
			wrong++
			result = "**runs**"
		default:
			wrong++
			result = "**fails**"
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.dir, err)
		}
		fmt.Printf("| `%s` | %s | %s |\n", s.dir, s.shows, result)
	}
	fmt.Printf("\n%d run, %d are refused, and %d need what is not here.\n", ran, refused, needing)
	if wrong > 0 {
		return fmt.Errorf("%d programs are not as programs.txt and automation.txt say", wrong)
	}
	return nil
}

// within runs a subject for half an hour at most, in which a slow machine builds programs in Go.
func within(ctx context.Context, root string, run func(ctx context.Context, root string) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	return run(ctx, root)
}

// command returns a command in a directory, with husk by the name of Pulumi's command. It and all that it starts end with the context.
func (at place) command(ctx context.Context, dir string, environment []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "env", args...) // which finds the program in the PATH that it gets
	cmd.Dir = dir
	path := []string{at.bin, filepath.Join(at.in, "venv", "bin"), filepath.Join(at.in, "node_modules", ".bin"), os.Getenv("PATH")}
	cmd.Env = slices.Concat(os.Environ(), []string{
		"PWD=" + dir, "PATH=" + strings.Join(path, ":"), "PULUMI_CONFIG_PASSPHRASE=passphrase", "PULUMI_NODEJS_TRANSPILE_ONLY=true", "GOFLAGS=-mod=mod",
	}, environment)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// runs runs a command. The error has its output.
func runs(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// translate translates TypeScript if the package says that tsc does that.
func (at place) translate(ctx context.Context, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil || !bytes.Contains(text, []byte(`"build": "tsc"`)) {
		return nil // the others have no package, or are translated as they begin
	}
	return runs(at.command(ctx, dir, nil, "tsc", "--skipLibCheck"))
}

// deploy deploys a program, deploys it again, which must change nothing, and destroys what it made.
func (at place) deploy(ctx context.Context, p program, root string) error {
	if err := os.CopyFS(root, os.DirFS(filepath.Join(at.in, p.copied))); err != nil {
		return err
	}
	dir := filepath.Join(root, strings.TrimPrefix(p.dir, p.copied))
	if err := at.complete(p, dir); err != nil {
		return err
	}
	pulumi := func(args ...string) error {
		return runs(at.command(ctx, dir, nil, append(append([]string{"pulumi"}, args...), "--non-interactive")...))
	}
	if err := at.translate(ctx, dir); err != nil {
		return err
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
