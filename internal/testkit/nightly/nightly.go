// Package nightly lists what .ci/nightly checks and .ci/run does not, because it takes long and finds something seldom, and
// skips tests of that list. Each entry has a short form, which runs with every change. CONTRIBUTING.md shows the list to
// readers; a test compares them.
package nightly

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Variable is the environment variable that has tests run what waits for .ci/nightly, if it is 1.
const Variable = "HUSK_TEST_NIGHTLY"

// OwnStep is the [Check.Short] of a test that .ci/run has in a step of its own: go test ./... is without it, because it must
// end in half the time of all that .ci/run does.
const OwnStep = "the same, in a step of `.ci/run` of its own"

// Check is a check that waits for .ci/nightly.
type Check struct {
	// Name is the name of a test, with the folder of its package (internal/port:TestEachShimBuilds), of a script for the command
	// (script/portedtime), or of a step of .ci/nightly.
	Name string
	// Reason says why it does not run with every change.
	Reason string
	// Short says what runs with every change in its place.
	Short string
}

// Checks are all that wait.
var Checks = []Check{
	{"the model of the engine, with other seeds each time", "hours of scenarios; it finds something once in thousands", "3,000 scenarios, the same each time"},
	{"walks of the command over every backend, with other seeds each time", "hours of commands; it finds something once in thousands", "`TestWalk` as it is: 150 commands over files, the same each time, and 50 with full disks"},
	{"race detector, for all packages", "compiles everything again, and runs it ten times slower", "the packages of `.ci/concurrent --most` and what runs at once in `host`, with `-short`"},
	{"a fleet of workers that are killed all the time", "3 minutes with 20 workers for each database", "`TestFleet` as it is: 10 seconds with 8 workers"},
	{"fuzzing", "other inputs each time, minutes for each of about 100 targets", "the committed inputs, which are tests"},
	{"static builds for other platforms", "compiles everything for each platform", "`.ci/platforms.go` type-checks `husk` for the same platforms"},
	{"arm64, emulated, with a deployment", "an emulator compiles three providers", "`.ci/platforms.go` type-checks `husk` for arm64"},
	{"a platform without a compiler, with addresses of 32 bits", "compiles the host and Go's library for it", "`.ci/platforms.go` type-checks `husk` for it, and tests of `host` take the interpreter on this machine"},
	{"every module of the repository", "compiles benchmarks, generated SDKs, the registry of the CNCF, a JavaScript engine for this machine and one as a module, CPython as a module, and the providers that tests port as their authors would", "all modules but `bench/*`, `cmd/husk-gen-sdk` (the script `gensdk` asks an imitation of it), `internal/registry/distributiontest` (`internal/registry` is tested with a registry in process), `examples/providers/pulumi-nodejs` (`programtest` deploys with it), `examples/contacts/typescript/test` (`internal/build/jsbuild` links a bundle, and the providers in C and Rust are the same), `examples/contacts/python/test` (`examples/contacts` asks the provider in a process of Python), and `testdata/ported/*` (tests port these)"},
	{"tests with all that waits", "what the rows below say", "`go test ./...`"},
	{"MinIO's server", "compiles a large server, and tries each version of its behaviour", "the same suites with an S3 server in process, and with MinIO where it is installed"},
	{"internal/build/netoverlay:TestReleases", "downloads the release of Go before this one, and compiles its library", "this release of Go"},
	{"internal/port:TestEachShimBuilds", "fetches and compiles each version that a shim is for", "the newest version of the small ones"},
	{"internal/port:TestModulesForLinux", "fetches and compiles modules that are written for Linux", "the small ones"},
	{"internal/port/porttest:TestTheSDKOfARelease", "compiles `husk` and its modules again, as a release has them", "ports with the SDK of the checkout"},
	{"internal/port/porttest:TestAProviderOnThePluginFramework", "compiles a module of 30 MB", "`ported.txtar` and `guest-sdk/terraform/test:TestModules`, with a port of the same provider"},
	{"internal/port/porttest:TestOtherKindsForTerraform", "compiles two SDKs of Terraform as modules", "the provider on the plugin framework; `guest-sdk/terraform/test` has those of the other SDKs without a port"},
	{"internal/port/porttest:TestPortsOfOneType", "compiles both SDKs of Terraform as modules", "`internal/port:TestOnlyChosenTypes`, with imitations of them"},
	{"internal/port/porttest:TestAProviderOnTheFirstPluginSDK", "compiles a third SDK of Terraform as a module", "the provider on the plugin framework"},
	{"internal/port/porttest:TestAProviderOnAnOldSDKOfPulumi", "compiles Pulumi's SDK as a module, 45 MB", "`guest-sdk/pulumi` tests the adapter without a port, and `internal/port` the parts that a port replaces"},
	{"internal/pulumi/pulumiprogram/programtest:TestOthersTargetsPlansAndPolicies", "five runs of programs in Python and Go each", "`TestNodeTargetsPlansAndPolicies`, and `TestPython` and `TestGo`"},
	{"internal/pulumi/pulumiprogram/programtest:TestOthersStackReferences", "runs of programs in Python and Go", "`TestNodeStackReference`"},
	{"internal/pulumi/pulumiprogram/programtest:TestComponentsInNode", "each run compiles TypeScript", "`TestComponentsInYAML`, with the same components"},
	{"cmd/husk/internal/automationtest:TestPython", "fetches the Automation API with pip", "the same for Node.js, and the script `pulumi`, which runs the same commands"},
	{"cmd/husk/internal/automationtest:TestGo", "compiles the Automation API", "as `TestPython` there"},
	{"cmd/husk/internal/processtest:TestInterruptsOfPrograms", "fetches Pulumi's SDKs with npm and pip", OwnStep},
	{"examples/providers/postgresql/provider:TestConformance", "creates and drops hundreds of databases", OwnStep},
	{"examples:TestConformance", "10 seeds", "one seed"},
	{"examples/contacts:TestRoster", "compiles the program in Go as a module", "the one in Rust, and the script `program`"},
	{"cmd/husk-server:TestSixtyStrangersFindNothing", "a process for each stranger's project", "all with their processes confined, and each third without"},
	{"cmd/husk-server:TestTheTableOfStrangersAtAWorker", "two processes for each of 500 projects", "each key in each third way, and each way with each third key, confined or not in turn"},
	{"cmd/husk/internal/root:TestStrangersFindNothing", "15 commands for each of 500 projects", "`preview` and another command in turn, for each project"},
	{"engine/internal/pulumitest/conformance:TestConformanceInNode", "170 programs for Node.js, each in a process of its own for each run", "seven of them, and in YAML all that YAML can say"},
	{"script/ported", "compiles a module of 30 MB", OwnStep},
	{"script/portedtfstate", "compiles a module of 30 MB", "`tfstate.txtar`, whose states are of the lab"},
	{"internal/port/porttest:TestAProviderMadeWithPulumiGoProvider", "compiles a module of 68 MB", "as `TestAProviderOnAnOldSDKOfPulumi`"},
	{"guest-sdk/terraform/test:TestPublishedProviders", "fetches and compiles providers, and compares them with their processes", "the providers in `testdata/ported`, compared in the same way"},
	{"bench/reach:TestLives", "fetches and compiles 19 providers, and deploys with each", "`ported.txtar`, with a port of `testdata/ported/framework`"},
	{"release:TestRelease", "compiles `husk` and the server twice, with other flags than all else", "its archives and options without that; `.ci/platforms.go` type-checks what is released"},
	{"script/portedproviders", "fetches and compiles two providers", "`ported.txtar`, with a port of `testdata/ported/framework`"},
	{"script/portedgopulumi", "compiles a module of 68 MB", "as `TestAProviderOnAnOldSDKOfPulumi`"},
	{"script/portedtime", "fetches and compiles a provider", "`ported.txtar`"},
	{"script/portedrestapi", "fetches and compiles a provider", "`ported.txtar`"},
	{"script/portedrabbitmq", "fetches and compiles a provider", "`ported.txtar`"},
	{"script/portedexoscale", "fetches and compiles a provider", "`ported.txtar`"},
	{"cmd/husk/internal/documenttest:TestFirstResourceWithATerraformProvider", "fetches and compiles three providers", "`TestDocuments` reads the project files; `TestFirstHourOfAnOperator` types the same commands with other providers"},
}

// Enabled reports whether all that waits shall run.
func Enabled() bool { return os.Getenv(Variable) == "1" && !testing.Short() }

// Skip skips a test that waits for .ci/nightly. It must be among [Checks].
func Skip(t testing.TB) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if !slices.ContainsFunc(Checks, func(c Check) bool { return strings.HasSuffix(c.Name, ":"+name) }) {
		t.Fatalf("%s is not in the list of internal/testkit/nightly", name)
	}
	if !Enabled() {
		t.Skipf("waits for .ci/nightly: %s=1 runs it", Variable)
	}
}
