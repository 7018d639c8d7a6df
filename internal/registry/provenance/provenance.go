// Package provenance says where a module is built, as the environment of a CI service tells it.
package provenance

// Provenance is the predicate of a statement about a build (https://slsa.dev/spec/v1.0/provenance).
type Provenance struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []Dependency      `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
		Metadata struct {
			InvocationID string `json:"invocationId"`
		} `json:"metadata"`
	} `json:"runDetails"`
}

// Dependency is an input of a build.
type Dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

// buildType says how the parameters are to be understood.
const buildType = "https://github.com/husk-dev/husk/blob/main/docs/publishing.md"

// FromEnvironment returns where a build runs, nil if the variables match no known service. getenv returns a variable of the
// environment.
func FromEnvironment(getenv func(string) string) *Provenance {
	p := &Provenance{}
	var repository, commit, ref string
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		repository, commit, ref = getenv("GITHUB_SERVER_URL")+"/"+getenv("GITHUB_REPOSITORY"), getenv("GITHUB_SHA"), getenv("GITHUB_REF")
		p.RunDetails.Builder.ID = getenv("GITHUB_SERVER_URL") + "/" + getenv("GITHUB_WORKFLOW_REF")
		p.RunDetails.Metadata.InvocationID = repository + "/actions/runs/" + getenv("GITHUB_RUN_ID") + "/attempts/" + getenv("GITHUB_RUN_ATTEMPT")
	case getenv("GITLAB_CI") == "true":
		repository, commit, ref = getenv("CI_PROJECT_URL"), getenv("CI_COMMIT_SHA"), getenv("CI_COMMIT_REF_NAME")
		p.RunDetails.Builder.ID = getenv("CI_SERVER_URL") + "/-/runners/" + getenv("CI_RUNNER_ID")
		p.RunDetails.Metadata.InvocationID = getenv("CI_JOB_URL")
	default:
		return nil
	}
	p.BuildDefinition.BuildType = buildType
	p.BuildDefinition.ExternalParameters = map[string]string{"repository": repository, "ref": ref}
	p.BuildDefinition.ResolvedDependencies = []Dependency{{"git+" + repository + "@" + ref, map[string]string{"gitCommit": commit}}}
	return p
}
