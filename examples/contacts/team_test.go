package contacts_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/examples/contacts/provider"
	"github.com/husk-dev/husk/examples/internal/contactstest"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// A team is a contact for each name.
func TestTeam(t *testing.T) {
	secret, object := property.Secret, property.Object
	note, other := property.String("correct horse"), string(urn.New("dev", "test", "", "a:b:C", "other"))
	for name, test := range map[string]struct {
		preview    bool
		inputs     pt.Object
		failing    string
		registered []string
		state      pt.Object
		err        string
	}{
		"three": {inputs: pt.Object{"names": pt.List{"Ann", "Bob", "Eve"}, "domain": "example.org", "note": note}, registered: []string{
			`contacts:index:Team team in "": ` + object(pt.MapOf(pt.Object{"names": pt.List{"Ann", "Bob", "Eve"}, "domain": "example.org", "note": secret(note)})).String(),
			`contacts:index:Contact team-Ann in "team": ` + object(pt.MapOf(pt.Object{"name": "Ann@example.org", "password": secret(note)})).String(),
			`contacts:index:Contact team-Bob in "team": ` + object(pt.MapOf(pt.Object{"name": "Bob@example.org", "password": secret(note)})).String() + ", depends on team-Ann",
			`contacts:index:Contact team-Eve in "team": ` + object(pt.MapOf(pt.Object{"name": "Eve@example.org", "password": secret(note)})).String() + ", depends on team-Ann",
			"outputs of team: " + object(pt.MapOf(pt.Object{"ids": pt.List{"id of team-Ann", "id of team-Bob", "id of team-Eve"}, "count": 3, "domain": "example.org"})).String(),
		}, state: pt.Object{"ids": pt.List{"id of team-Ann", "id of team-Bob", "id of team-Eve"}, "count": 3, "domain": "example.org"}},
		"none": {inputs: pt.Object{"names": pt.List{}, "domain": secret(property.String("example.org"))}, registered: []string{
			`contacts:index:Team team in "": ` + object(pt.MapOf(pt.Object{"names": pt.List{}, "domain": secret(property.String("example.org"))})).String(),
			"outputs of team: " + object(pt.MapOf(pt.Object{"ids": pt.List{}, "count": 0, "domain": secret(property.String("example.org"))})).String(),
		}, state: pt.Object{"ids": pt.List{}, "count": 0, "domain": secret(property.String("example.org"))}},
		"a domain of a resource": {preview: true, inputs: pt.Object{"names": pt.List{"Ann"}, "domain": property.OutputOf(property.Output{Value: property.Unknown, Secret: true, Dependencies: []string{other}})}, registered: []string{
			`contacts:index:Team team in "": ` + object(pt.MapOf(pt.Object{"names": pt.List{"Ann"}, "domain": secret(property.Unknown)})).String() + ", domain from [" + other + "]",
			`contacts:index:Contact team-Ann in "team": ` + object(pt.MapOf(pt.Object{"name": secret(property.Unknown)})).String() + ", name from [" + other + "]",
			"outputs of team: " + object(pt.MapOf(pt.Object{"ids": pt.List{property.Unknown}, "count": 1, "domain": secret(property.Unknown)})).String(),
		}, state: pt.Object{"ids": pt.List{property.Unknown}, "count": 1, "domain": secret(property.Unknown)}},
		"names that are not known": {preview: true, inputs: pt.Object{"names": property.Unknown, "domain": "example.org"}, registered: []string{
			`contacts:index:Team team in "": ` + object(pt.MapOf(pt.Object{"names": property.Unknown, "domain": "example.org"})).String(),
			"outputs of team: " + object(pt.MapOf(pt.Object{"ids": property.Unknown, "count": property.Unknown, "domain": property.Unknown})).String(),
		}, state: pt.Object{"ids": property.Unknown, "count": property.Unknown, "domain": property.Unknown}},
		"a name twice": {inputs: pt.Object{"names": pt.List{"Ann", "Ann"}, "domain": "example.org"}, registered: []string{
			`contacts:index:Team team in "": ` + object(pt.MapOf(pt.Object{"names": pt.List{"Ann", "Ann"}, "domain": "example.org"})).String(),
		}, err: "names[1]: Ann is in the team already"},
		"the first one fails": {inputs: pt.Object{"names": pt.List{"Ann", "Bob"}, "domain": "example.org"}, failing: "team-Ann", registered: []string{
			`contacts:index:Team team in "": ` + object(pt.MapOf(pt.Object{"names": pt.List{"Ann", "Bob"}, "domain": "example.org"})).String(),
			`contacts:index:Contact team-Ann in "team": ` + object(pt.MapOf(pt.Object{"name": "Ann@example.org"})).String(),
		}, err: "contacts:index:Contact team-Ann: the service is down"},
		"secret names": {inputs: pt.Object{"names": pt.List{secret(property.String("Ann"))}, "domain": "example.org"}, err: "names[0]: the provider cannot keep this input secret"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := guest.New(provider.New())
			require.NoError(t, err)
			m := &contactstest.Monitor{Preview: test.preview, Failing: test.failing, Random: rand.New(rand.NewPCG(1, 2))}
			response, err := p.Construct(abi.WithMonitor(t.Context(), m), abi.ConstructRequest{
				Type: contactstest.Team, Name: "team", Inputs: pt.MapOf(test.inputs), Context: abi.RunContext{DryRun: test.preview},
			})
			var registered []string
			for _, r := range m.Registered {
				registered = append(registered, r.Describe())
			}
			require.Equal(t, test.registered, registered)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, object(pt.MapOf(test.state)), object(response.State))
		})
	}
}

// Generated teams are made as those of the provider in Go.
func TestTeamsOfTheTwin(t *testing.T) {
	inEach(t, func(t *testing.T, open contactstest.Opener) { contactstest.Teams(t, open) })
}

func TestTeamDeployed(t *testing.T) {
	t.Run("go", func(t *testing.T) {
		contactstest.Deployed(t, func(t testing.TB, _ string) abi.Provider {
			p, err := guest.New(provider.New())
			require.NoError(t, err)
			return p
		})
	})
	for _, l := range languages {
		t.Run(l, func(t *testing.T) { contactstest.Deployed(t, contactstest.LoaderOf(load(t, l))) })
	}
}
