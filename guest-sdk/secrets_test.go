package guest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
)

type wordsInputs struct {
	Words []string `husk:"words"`
}

type wordsState struct {
	wordsInputs
	Longest string   `husk:"longest"`
	Sorted  []string `husk:"sorted"`
	Joined  string   `husk:"joined"`
}

type words struct{}

func (words) Create(_ context.Context, r guest.CreateRequest[wordsInputs]) (guest.CreateResponse[wordsState], error) {
	list := r.Inputs.Words
	return guest.CreateResponse[wordsState]{ID: "-", State: wordsState{r.Inputs, list[0], []string{list[1], list[0]}, list[0] + list[1]}}, nil
}

// An author's code does not see which inputs are secret, and may well answer a secret
// under another name. Short texts are not looked for: they would be found anywhere.
func TestSecretsUnderOtherNames(t *testing.T) {
	p, err := guest.New(guest.Provider{
		Name: "words", Version: "1.0.0",
		Resources: []guest.Resource{guest.ResourceOf("words:index:Words", words{})},
	})
	require.NoError(t, err)
	response, err := p.Create(t.Context(), abi.CreateRequest{
		Type: "words:index:Words", Name: "n", Inputs: obj("words", []any{secret("a long word"), secret("short")}),
	})
	require.NoError(t, err)
	requireMap(t, obj(
		"words", []any{secret("a long word"), secret("short")},
		"longest", secret("a long word"), "sorted", []any{"short", secret("a long word")}, "joined", "a long wordshort",
	), response.State)
}
