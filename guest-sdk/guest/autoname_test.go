package guest_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

type crateInputs struct {
	Label string `husk:"label,autoname=16"`
}

type crate struct{}

func (crate) Create(_ context.Context, r guest.CreateRequest[crateInputs]) (guest.CreateResponse[crateInputs], error) {
	return guest.CreateResponse[crateInputs]{ID: r.Inputs.Label, State: r.Inputs}, nil
}

func TestAutoname(t *testing.T) {
	p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Resources: []guest.Resource{guest.ResourceOf("p:index:Crate", crate{})}})
	require.NoError(t, err)
	old := obj("label", "logs-old")
	for name, test := range map[string]struct {
		program string
		olds    *property.Map
		news    property.Map
		policy  *abi.Autonaming
		want    any
		fails   []abi.CheckFailure
	}{
		"made up":                {program: "logs", want: "logs-7777777"},
		"cut":                    {program: "an-ever-growing-name", want: "an-ever--7777777"},
		"cut between characters": {program: "ÄÖÜäöüßÄÖÜäöü", want: "ÄÖÜäöüßÄ-7777777"},
		"given":                  {program: "logs", news: obj("label", "mine"), olds: &old, want: "mine"},
		"not known":              {program: "logs", news: obj("label", property.Unknown), want: property.Unknown},
		"kept":                   {program: "logs", olds: &old, want: "logs-old"},
		"proposed":               {program: "logs", policy: &abi.Autonaming{ProposedName: "dev-logs"}, want: "dev-logs"},
		"proposed, kept":         {program: "logs", olds: &old, policy: &abi.Autonaming{ProposedName: "dev-logs"}, want: "logs-old"},
		"does not fit":           {program: "logs", policy: &abi.Autonaming{ProposedName: "development-logs-0123"}, want: "logs-7777777"},
		"enforced":               {program: "logs", policy: &abi.Autonaming{ProposedName: "logs", Mode: abi.AutonamingModeEnforce}, want: "logs"},
		"enforced, does not fit": {program: "logs", policy: &abi.Autonaming{ProposedName: "development-logs-0123", Mode: abi.AutonamingModeEnforce},
			fails: []abi.CheckFailure{{Path: "label", Reason: "the name that pulumi:autonaming asks for, development-logs-0123, is longer than 16 characters"}}},
		"disabled": {program: "logs", policy: &abi.Autonaming{Mode: abi.AutonamingModeDisable},
			fails: []abi.CheckFailure{{Path: "label", Reason: "required property is missing, since pulumi:autonaming lets no name be made up; expected string"}}},
		"disabled, given": {program: "logs", news: obj("label", "mine"), policy: &abi.Autonaming{Mode: abi.AutonamingModeDisable}, want: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := p.Check(t.Context(), abi.CheckRequest{
				Type: "p:index:Crate", Name: test.program, Olds: test.olds, News: test.news,
				Autonaming: test.policy, RandomSeed: bytes.Repeat([]byte{0xa7}, 32),
			})
			require.NoError(t, err)
			require.Equal(t, test.fails, response.Failures)
			if test.fails == nil {
				require.Equal(t, obj("label", test.want), response.Inputs)
			}
		})
	}
}

type shortName struct {
	Label string `husk:"label,autoname=8"`
}

type twoNames struct {
	Label string  `husk:"label,autoname"`
	Other *string `husk:"other,autoname"`
}

type numberName struct {
	Label int `husk:"label,autoname"`
}

func TestAutonameRefused(t *testing.T) {
	for want, resource := range map[string]guest.Resource{
		"autoname=8 must be the number of characters that a name may have, 9 or more": guest.ResourceOf("p:index:Crate", pointing[shortName]{}),
		"Other: autoname: only one input of a resource can have it, which is text":    guest.ResourceOf("p:index:Crate", pointing[twoNames]{}),
		"Label: autoname: only one input of a resource can have it, which is text":    guest.ResourceOf("p:index:Crate", pointing[numberName]{}),
	} {
		_, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Resources: []guest.Resource{resource}})
		require.ErrorContains(t, err, want)
	}
	type named struct {
		Label string `husk:"label,autoname"`
	}
	for want, provider := range map[string]guest.Provider{
		"provider p: configuration: label: autoname is for the inputs of resources": {
			Config: guest.ConfigOf(func(context.Context, named) error { return nil }),
		},
		"provider p: function p:index:f: label: autoname is for the inputs of resources": {
			Functions: []guest.Function{guest.FunctionOf("p:index:f", func(context.Context, named) (struct{}, error) { return struct{}{}, nil })},
		},
	} {
		provider.Name, provider.Version = "p", "1.0.0"
		_, err := guest.New(provider)
		require.EqualError(t, err, want)
	}
}
