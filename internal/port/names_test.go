package port

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What people type for a provider names a module, and the repository at its tag.
func TestNamesOfProviders(t *testing.T) {
	for text, want := range map[string]string{
		"hashicorp/time":                                 "github.com/hashicorp/terraform-provider-time latest",
		"hashicorp/time@0.14.2":                          "github.com/hashicorp/terraform-provider-time v0.14.2",
		"registry.terraform.io/hashicorp/time@v0.14.2":   "github.com/hashicorp/terraform-provider-time v0.14.2",
		"registry.opentofu.org/hashicorp/time@latest":    "github.com/hashicorp/terraform-provider-time latest",
		"Mongey/kafka@0.7.1":                             "github.com/Mongey/terraform-provider-kafka v0.7.1",
		"aws":                                            "github.com/hashicorp/terraform-provider-aws latest",
		"pulumi/random@3.6.0":                            "github.com/hashicorp/terraform-provider-random/v3 v3.6.0, github.com/hashicorp/terraform-provider-random v3.6.0",
		"pulumi/pulumi-gcp":                              "github.com/hashicorp/terraform-provider-google-beta latest",
		"gitlabhq/gitlab@1.0.0":                          "gitlab.com/gitlab-org/terraform-provider-gitlab v1.0.0",
		"example.com/acme/provider":                      "example.com/acme/provider latest",
		"example.com/acme/provider/v2@v2.1.0/cmd/acme":   "example.com/acme/provider/v2 v2.1.0",
		"github.com/coder/terraform-provider-coder@main": "github.com/coder/terraform-provider-coder main",
	} {
		r, err := parseReference(text)
		require.NoError(t, err, text)
		var all []string
		for _, path := range r.paths() {
			all = append(all, path+" "+r.version)
		}
		require.Equal(t, want, strings.Join(all, ", "), text)
	}
	for text, want := range map[string][3]string{
		"https://example.com/acme@v1.2.0":                       {"https://example.com/acme", "", "v1.2.0"},
		"git+https://example.com/acme.git//provider@v1.2.0":     {"https://example.com/acme.git", "provider", "v1.2.0"},
		"git::https://example.com/acme.git?ref=provider/v1.2.0": {"https://example.com/acme.git", "", "provider/v1.2.0"},
		"hashicorp/time@0.14.2":                                 {"https://github.com/hashicorp/terraform-provider-time", "", "v0.14.2"},
	} {
		r, err := parseReference(text)
		require.NoError(t, err, text)
		require.Equal(t, want, [3]string{r.repository.URL, r.repository.Dir, r.repository.Ref}, text)
		require.True(t, strings.HasPrefix(r.version, "v"), text)
	}
	for text, want := range map[string]string{
		"awz":                                 `there is no directory awz, and no provider is known by the name awz; did you mean "aws"?`,
		"pulumi/pulumi-command":               "no provider for Terraform is known of which Pulumi's package command is made\nport its own provider by its repository, such as github.com/pulumi/pulumi-command, or list Pulumi's plugin of it: native: true",
		"hashicorp/time@":                     "leave out the @ for the newest",
		"registry.terraform.io/time":          "has the form registry.terraform.io/NAMESPACE/NAME@VERSION",
		"a b/c":                               "is neither a directory nor the name of a provider",
		"example.com/x y":                     "is neither a directory nor a provider",
		"hashicorp/time@v1.0.0/../..":         "is not in the module",
		"https://example.com/acme":            "names no tag: add one, such as @v1.2.0",
		"https://a:b@example.com/acme@v1.0.0": "has a user name or password",
	} {
		_, err := parseReference(text)
		require.ErrorContains(t, err, want, text)
	}
}
