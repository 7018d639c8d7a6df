package documenttest

import (
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/fakeservice"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

// An operator who knows Terraform ports three published providers and makes an object with each, as docs/tutorial-terraform.md says.
func TestFirstResourceWithATerraformProvider(t *testing.T) {
	nightly.Skip(t)
	text, err := os.ReadFile("../../../../docs/tutorial-terraform.md")
	require.NoError(t, err)
	blocks := codeBlocks(string(text))
	commands := strings.Split(strings.TrimSpace(blocks[1]), "\n")
	require.Len(t, commands, 4)

	n := newNewcomer(t)
	home := n.dir
	// begins writes a project file to a directory of its own, and types the four commands.
	begins := func(project, kind, at, source, key string) (screen string) {
		service := serviceOf(t, kind)
		require.Contains(t, project, "http://localhost:"+at)
		n.dir = filepath.Join(home, kind)
		require.NoError(t, os.Mkdir(n.dir, 0o755))
		project = strings.NewReplacer("localhost:"+at, "localhost:"+service.Port(), "username: guest", "username: "+service.User.Username()).Replace(project)
		require.NoError(t, os.WriteFile(filepath.Join(n.dir, "Husk.yaml"), []byte(project), 0o644))
		for _, command := range commands {
			command = strings.NewReplacer("cyrilgdn/rabbitmq", source, "rabbitmq:password", key).Replace(command)
			var answers [][2]string
			switch {
			case strings.HasPrefix(command, "husk config set"):
				password, _ := service.User.Password()
				answers = [][2]string{{key + ":", password + "\n"}}
			case strings.HasPrefix(command, "husk up"):
				answers = [][2]string{{"Make these changes? [yes/No/details]", "yes\n"}}
			}
			screen = n.types(command, answers...)
		}
		require.Contains(t, n.types("husk up"), "nothing changed, ")
		return screen
	}

	requireShows(t, begins(blocks[0], "broker", "15672", "cyrilgdn/rabbitmq", "rabbitmq:password"), blocks[2])
	for command := range strings.Lines(blocks[3]) {
		require.Contains(t, n.types(command), "rabbitmq:Queue")
	}
	n.types("husk destroy --yes")

	// What goes wrong first.
	right, err := os.ReadFile(filepath.Join(n.dir, "Husk.yaml"))
	require.NoError(t, err)
	fails := func(command, old, new, want string) {
		t.Helper()
		if old != "" {
			n.edit("Husk.yaml", old, new)
		}
		address := regexp.MustCompile(`localhost:\d+`)
		requireShows(t, address.ReplaceAllString(n.types(command+" || true"), "localhost:15672"), want)
		require.NoError(t, os.WriteFile(filepath.Join(n.dir, "Husk.yaml"), right, 0o644))
	}
	grants := regexp.MustCompile(`(?s) +grants:.*?\n +- http:[^\n]*\n`).FindString(string(right))
	require.NotEmpty(t, grants)
	fails("husk up --yes", grants, "", blocks[4])
	fails("husk preview", "durable: true", "auto_delete: true", blocks[7])
	fails("husk preview", "rabbitmq:Queue", "rabbitmq_queue", blocks[8])
	n.types("husk config rm rabbitmq:password")
	fails("husk preview", "", "", blocks[5])
	n.types("husk config set rabbitmq:password wrong")
	fails("husk up --yes", "", "", blocks[6])

	begins(blocks[9], "powerdns", "8081", "pan-net/powerdns", "powerdns:apiKey")
	n.types("husk destroy --yes")
	begins(blocks[10], "gitea", "3000", "go-gitea/gitea", "gitea:token")
	n.types("husk destroy --yes")
}

// serviceOf returns the address of a service on this machine, with its credentials: of the one that HUSK_TEST_BROKER, HUSK_TEST_POWERDNS,
// or HUSK_TEST_GITEA names, or of an imitation.
func serviceOf(t *testing.T, kind string) *url.URL {
	t.Helper()
	text := os.Getenv("HUSK_TEST_" + strings.ToUpper(kind))
	if text == "" {
		server := httptest.NewServer(fakeservice.Services[kind]())
		t.Cleanup(server.Close)
		text = server.URL
	}
	service, err := url.Parse(text)
	require.NoError(t, err)
	if service.User == nil {
		service.User = url.UserPassword(fakeservice.User, fakeservice.Password)
	}
	return service
}

// requireShows fails if a screen, on which long lines are broken, does not have each line of a text.
func requireShows(t *testing.T, screen, text string) {
	t.Helper()
	joined := func(s string) string {
		s = regexp.MustCompile(`(?m) \([0-9.]+s\)$`).ReplaceAllString(s, "") // of a step that took long
		s = strings.Join(strings.Fields(constant(s)), "")
		return regexp.MustCompile(`\d+\.\d+\.\d+`).ReplaceAllString(s, "VERSION") // the newest of the provider
	}
	for line := range strings.Lines(text) {
		require.Contains(t, joined(screen), joined(line), "%s\nis not in\n%s", line, screen)
	}
}
