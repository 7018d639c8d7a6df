package test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"
	"github.com/husk-dev/husk/testdata/ported/framework/shelf"
	"github.com/husk-dev/husk/testdata/ported/sdkv2/closet"
)

var seven = bytes.Repeat([]byte{0xa7}, 32)

// unnamed checks a resource that the program calls logs.
func (u *under) unnamed(news property.Map, olds *property.Map, policy *abi.Autonaming) abi.CheckResponse {
	u.t.Helper()
	response, err := u.Check(u.ctx(), abi.CheckRequest{Type: u.token, Name: "logs", News: news, Olds: olds, Autonaming: policy, RandomSeed: seven})
	require.NoError(u.t, err)
	return response
}

// Terraform requires the name of both resources.
func TestNamesAreMadeUpAsByPulumisBridge(t *testing.T) {
	for sdk, resources := range map[string]func(*testing.T) *under{
		"framework": func(t *testing.T) *under { return boxes(t, terraform.Mapping{}) }, "SDKv2": racks,
	} {
		t.Run(sdk, func(t *testing.T) {
			u := resources(t)
			handshake, err := u.Handshake(u.ctx(), abi.HandshakeRequest{Features: abi.AllFeatures})
			require.NoError(t, err)
			require.NotZero(t, handshake.Features&abi.FeaturesAutonaming)
			r := u.pkg().Resource(u.token)
			require.False(t, r.Inputs.Property("name").Required)
			require.True(t, r.Inputs.Property("name").Computed)
			require.True(t, r.Outputs.Property("name").Required)

			old := object("name", "logs-old")
			for name, test := range map[string]struct {
				olds   *property.Map
				news   property.Map
				policy *abi.Autonaming
				want   any
				fails  []abi.CheckFailure
			}{
				"made up":   {want: "logs-7777777"},
				"given":     {news: object("name", "mine"), olds: &old, want: "mine"},
				"not known": {news: object("name", property.Unknown), want: property.Unknown},
				"kept":      {olds: &old, want: "logs-old"},
				"proposed":  {policy: &abi.Autonaming{ProposedName: "dev-logs"}, want: "dev-logs"},
				"enforced":  {policy: &abi.Autonaming{ProposedName: "dev-logs", Mode: abi.AutonamingModeEnforce}, want: "dev-logs"},
				"disabled": {policy: &abi.Autonaming{Mode: abi.AutonamingModeDisable},
					fails: []abi.CheckFailure{{Path: "name", Reason: "required property is missing, since pulumi:autonaming lets no name be made up; expected string"}}},
			} {
				checked := u.unnamed(test.news, test.olds, test.policy)
				require.Equal(t, test.fails, checked.Failures, name)
				if test.fails == nil {
					require.True(t, object("name", test.want).Equal(checked.Inputs), "%s: %s", name, property.Object(checked.Inputs))
				}
			}

			inputs := u.unnamed(object(), nil, nil).Inputs
			id, state := u.create(inputs)
			require.Contains(t, id, "-logs-7777777")
			require.Empty(t, u.changes(state, inputs, u.unnamed(object(), &inputs, nil).Inputs), "an update keeps the name")
		})
	}
}

func TestAMappingSaysWhichNamesAreMadeUp(t *testing.T) {
	with := func(m terraform.Mapping) *under {
		p, err := tf5.Provider("closet", "2.0.0", closet.New().GRPCProvider(), m)
		require.NoError(t, err)
		return &under{Provider: p, t: t, token: rackToken, log: &log{}}
	}
	mapped := func(names map[string]terraform.Autoname) *under {
		return with(terraform.Mapping{Resources: map[string]terraform.Resource{"closet_rack": {Autoname: names}}})
	}
	u := mapped(map[string]terraform.Autoname{"name": {MaxLength: 10, Separator: new("_")}, "password": {}})
	made := u.unnamed(object(), nil, nil).Inputs
	require.True(t, object("name", "lo_7777777", "password", property.Secret(text("logs-7777777"))).Equal(made), "%s", property.Object(made))
	requireAt(t, text("logs"), u.unnamed(object(), nil, &abi.Autonaming{ProposedName: "logs"}).Inputs, "name")
	require.Equal(t, []abi.CheckFailure{{Path: "name", Reason: "the name that pulumi:autonaming asks for, development, is longer than 10 characters"}},
		u.unnamed(object(), nil, &abi.Autonaming{ProposedName: "development", Mode: abi.AutonamingModeEnforce}).Failures)

	for _, u := range []*under{mapped(map[string]terraform.Autoname{"name": {Off: true}}), with(terraform.Mapping{Autoname: &terraform.Autoname{Off: true}})} {
		require.True(t, u.pkg().Resource(rackToken).Inputs.Property("name").Required)
		require.Equal(t, []abi.CheckFailure{{Path: "name", Reason: "required property is missing; expected string"}}, u.unnamed(object(), nil, nil).Failures)
	}

	u = with(terraform.Mapping{Autoname: &terraform.Autoname{MaxLength: 10, Separator: new(""), Lower: true}})
	requireAt(t, text("log7777777"), u.unnamed(object(), nil, nil).Inputs, "name")
	requireAt(t, text("devlogs"), u.unnamed(object(), nil, &abi.Autonaming{ProposedName: "DevLogs"}).Inputs, "name")
	// The mapping is for a version in which it is a text.
	u = with(terraform.Mapping{Optional: true, Resources: map[string]terraform.Resource{"closet_rack": {Autoname: map[string]terraform.Autoname{"shelf": {}}}}})
	requireAt(t, text("logs-7777777"), u.unnamed(object(), nil, nil).Inputs, "name")
}

func TestAWrongMappingOfNamesIsRefused(t *testing.T) {
	for want, names := range map[string]map[string]terraform.Autoname{
		"the resource shelf_box: the mapping has names made up for size, which is not a text that programs set":       {"size": {}},
		"the resource shelf_box: the mapping has names made up for key, which is not a text that programs set":        {"key": {}},
		"the resource shelf_box: the mapping has names made up for nome, which is not a text that programs set":       {"nome": {Off: true}},
		"the resource shelf_box: the mapping allows 8 characters for name, and names that are made up have 9 or more": {"name": {MaxLength: 8}},
	} {
		_, err := provider(t, shelf.NewWorld(), terraform.Mapping{Resources: map[string]terraform.Resource{"shelf_box": {Autoname: names}}}).GetSchema(t.Context(), abi.GetSchemaRequest{})
		require.ErrorContains(t, err, want)
	}
}
