package port_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/port"
)

// kennel is a provider of three types in two packages, of which the main package needs the second only for one of them.
var kennel = map[string]string{"go.mod": dogMod, "main.go": `package main

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"

	"example.com/terraform-provider-dog/cats"
)

type dog struct{}

func (dog) Describe() (all string) {
	types := map[string]*schema.Resource{
		"dog_terrier_small": small(),
		"dog_poodle": poodle(), "dog_cat": cats.Cat(),
	}
	for _, name := range []string{"dog_terrier_small", "dog_poodle", "dog_cat"} {
		if r := types[name]; r != nil {
			all += r.Name
		}
	}
	return all
}

func small() *schema.Resource { return &schema.Resource{Name: "terrier"} }

func poodle() *schema.Resource { return &schema.Resource{Name: "poodle"} }

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: func() tfprotov5.ProviderServer { return dog{} }})
}
`, "cats/cats.go": `package cats

import "github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

//go:noinline
func Cat() *schema.Resource { return &schema.Resource{Name: "the whiskers of a cat"} }
`}

// A port with chosen types is linked without the others, and without packages that only those need.
func TestOnlyChosenTypes(t *testing.T) {
	sdk, cache := imitations(t), t.TempDir()
	dir := files(t, kennel)
	var digests []string
	for _, c := range []struct {
		only []string
		says string
		cats bool
	}{
		{nil, "terrierpoodlethe whiskers of a cat", true},
		{[]string{"dog_terrier_*"}, "terrier", false},
		{[]string{"dog_terrier_*", "dog_cat"}, "terrierthe whiskers of a cat", true},
	} {
		built, err := port.Port(t.Context(), dir, port.Options{Dir: cache, SDK: sdk, Only: c.only})
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace("5 provider "+c.says+" old  "+strings.Join(c.only, ",")), described(t, built))
		require.Equal(t, c.only, built.Manifest.Origin.Only)
		if c.only == nil {
			require.Empty(t, built.Types)
		} else {
			require.Equal(t, []string{"dog_cat", "dog_poodle", "dog_terrier_small"}, built.Types, "all, however many are chosen")
		}
		require.Equal(t, c.cats, strings.Contains(string(built.Wasm), "terraform-provider-dog/cats"), "%v", c.only)
		require.NotContains(t, digests, string(built.Wasm))
		digests = append(digests, string(built.Wasm))
	}

	dir = files(t, map[string]string{"go.mod": kennel["go.mod"], "cats/cats.go": kennel["cats/cats.go"],
		"main.go": strings.ReplaceAll(kennel["main.go"], `"dog_cat"`, `"cat_tom"`)})
	built, err := port.Port(t.Context(), dir, port.Options{Dir: cache, SDK: sdk, Only: []string{"dog_*"}})
	require.NoError(t, err)
	require.Equal(t, `5 provider terrierpoodlethe whiskers of a cat old {"prefix":""} dog_*`, described(t, built), "names keep their first word, as in a port of all")
}

// A choice that the provider does not have is refused before anything is built.
func TestOnlyUnknownTypes(t *testing.T) {
	sdk, cache := imitations(t), t.TempDir()
	dir := files(t, kennel)
	for only, says := range map[string]string{
		"dog_terier_*":  `--only dog_terier_*: ` + dir + ` has no type of that name; did you mean "dog_terrier_*"?`,
		"dog_poodel":    `--only dog_poodel: ` + dir + ` has no type of that name; did you mean "dog_poodle"?`,
		"dog_*_big":     `--only dog_*_big: ` + dir + ` has no type of that name`,
		"aws_instance":  `--only aws_instance: ` + dir + ` has no type of that name`,
		"Dog_(terrier)": `--only "Dog_(terrier)": name types as Terraform does, such as google_storage_bucket or google_storage_*`,
	} {
		_, err := port.Port(t.Context(), dir, port.Options{Dir: cache, SDK: sdk, Only: []string{only}})
		require.EqualError(t, err, says)
	}
}
