package difftest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/host"
)

// Options are what makes questions to a provider sensible.
type Options struct {
	// Grants are those of the module.
	Grants host.Grants
	// Native and Module configure the provider in the program and in the module.
	Native, Module property.Map
	// Adapt leaves out of the answers of both what only one of the languages has; nil leaves out nothing.
	Adapt func(abi.Provider) abi.Provider
	// Samples are right inputs, by the token of their resource or function.
	Samples map[string]property.Map
	// Words are likely values of the properties of a name.
	Words map[string][]any
	// IDs are those of imports: of others, libraries for URLs make different requests.
	IDs []string
	// Begin empties what both manage.
	Begin func()
}

// Compare asks a provider and the module that load loads, which was built of another language, the same questions.
func Compare(t *testing.T, declared guest.Provider, load func(host.Config) *host.Module, o Options) {
	w := worldOf(t, newTwins(t, declared, load, o))
	w.samples, w.words, w.ids, w.begin = o.Samples, o.Words, o.IDs, o.Begin
	w.confine = func(inputs property.Map) property.Map { return inputs }
	w.more = map[string]func(*rapid.T){"list": func(t *rapid.T) {
		r := w.drawType(t)
		ask(w.twins, t, "list "+r.Token, abi.ListRequest{Token: r.Token}, abi.Provider.List)
	}}
	w.live()
	require.Greater(t, w.asked, 1000)
}
