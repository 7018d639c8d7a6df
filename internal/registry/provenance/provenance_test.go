package provenance_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/registry/provenance"
)

func TestFromEnvironment(t *testing.T) {
	for want, environment := range map[string]map[string]string{
		"null": {},
		`{"buildDefinition":{"buildType":"https://github.com/husk-dev/husk/blob/main/docs/publishing.md",
			"externalParameters":{"ref":"refs/tags/v1","repository":"https://github.com/acme/lab"},
			"resolvedDependencies":[{"uri":"git+https://github.com/acme/lab@refs/tags/v1","digest":{"gitCommit":"abc"}}]},
			"runDetails":{"builder":{"id":"https://github.com/acme/lab/.github/workflows/release.yml@refs/tags/v1"},
			"metadata":{"invocationId":"https://github.com/acme/lab/actions/runs/7/attempts/1"}}}`: {
			"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "acme/lab", "GITHUB_SHA": "abc", "GITHUB_REF": "refs/tags/v1",
			"GITHUB_WORKFLOW_REF": "acme/lab/.github/workflows/release.yml@refs/tags/v1", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1",
		},
		`{"buildDefinition":{"buildType":"https://github.com/husk-dev/husk/blob/main/docs/publishing.md",
			"externalParameters":{"ref":"v1","repository":"https://gitlab.com/acme/lab"},
			"resolvedDependencies":[{"uri":"git+https://gitlab.com/acme/lab@v1","digest":{"gitCommit":"abc"}}]},
			"runDetails":{"builder":{"id":"https://gitlab.com/-/runners/9"},"metadata":{"invocationId":"https://gitlab.com/acme/lab/-/jobs/3"}}}`: {
			"GITLAB_CI": "true", "CI_PROJECT_URL": "https://gitlab.com/acme/lab", "CI_COMMIT_SHA": "abc", "CI_COMMIT_REF_NAME": "v1",
			"CI_SERVER_URL": "https://gitlab.com", "CI_RUNNER_ID": "9", "CI_JOB_URL": "https://gitlab.com/acme/lab/-/jobs/3",
		},
	} {
		raw, err := json.Marshal(provenance.FromEnvironment(func(name string) string { return environment[name] }))
		require.NoError(t, err)
		require.JSONEq(t, want, string(raw))
	}
}
