package scaffold

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// skipped are directories that belong to a checkout or an installation, and not to a template.
var skipped = []string{".git", "node_modules", "venv", ".venv"}

// InstallCommand returns the command that installs the packages of a program. ok is false if the runtime needs none.
func InstallCommand(runtime string) (command string, ok bool) {
	switch runtime {
	case "nodejs":
		return "npm install", true
	case "python":
		return "pip install -r requirements.txt", true
	}
	return "", false
}

// OfPulumi returns the template of Pulumi in a directory: a project file with files beside it, in which ${PROJECT} and ${DESCRIPTION}
// stand for the project's own. ok is false if the directory has no such file.
func OfPulumi(dir string) (t Template, ok bool, err error) {
	path := filepath.Join(dir, "Pulumi.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return Template{}, false, nil //nolint:nilerr // there is none
	}
	var project struct {
		Runtime  yaml.Node
		Template struct {
			Description string
			Config      map[string]struct {
				Default string
				Secret  bool
			}
		}
	}
	if err := yaml.Unmarshal(text, &project); err != nil {
		return Template{}, false, fmt.Errorf("the template's %s cannot be read: %w", path, err)
	}
	runtime := project.Runtime.Value
	if project.Runtime.Kind == yaml.MappingNode {
		var options struct{ Name string }
		if err := project.Runtime.Decode(&options); err != nil {
			return Template{}, false, fmt.Errorf("the template's %s cannot be read: %w", path, err)
		}
		runtime = options.Name
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return Template{}, false, err
	}
	t = Template{Name: filepath.Base(dir), Title: cmp.Or(project.Template.Description, "A project of Pulumi"), Dir: dir, Projects: []string{"."}}
	if command, ok := InstallCommand(runtime); ok {
		t.Next = []string{command}
	}
	for _, key := range slices.Sorted(maps.Keys(project.Template.Config)) {
		switch c := project.Template.Config[key]; {
		case c.Secret:
			t.Next = append(t.Next, "husk config set --secret "+key)
		case c.Default == "":
			t.Next = append(t.Next, "husk config set "+key)
		default:
			full := key
			if !strings.Contains(key, ":") {
				full = "${PROJECT}:" + key
			}
			t.Config += "  " + full + ": " + strconv.Quote(c.Default) + "\n"
		}
	}
	t.Next = append(t.Next, "husk install", "husk preview")
	return t, true, nil
}

// filesOfPulumi returns the files of a template of Pulumi.
func (t Template) filesOfPulumi(o Options) (out files, err error) {
	fill := strings.NewReplacer("${PROJECT}", o.Name, "${DESCRIPTION}", cmp.Or(o.Description, t.Title))
	in := os.DirFS(t.Dir)
	err = fs.WalkDir(in, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(in, name)
		out = append(out, file{name, []byte(fill.Replace(string(text)))})
		return err
	})
	config := "Pulumi." + o.Stack + ".yaml"
	if own := func(f file) bool { return f.name == config }; t.Config != "" && !slices.ContainsFunc(out, own) {
		out = append(out, file{config, []byte("config:\n" + fill.Replace(t.Config))})
	}
	return out, err
}
