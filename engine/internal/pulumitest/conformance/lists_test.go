package conformance

// What the tests of both lists have in common.
const (
	arithmetic = "operators such as + and =="
	calls      = "calls of methods of resources"
	hooks      = "hooks"
	captured   = "it looks at calls within the process of the tests, and Husk starts providers as processes"
	downloads  = "providers come from the project file: pluginDownloadURL is not read, nor recorded"
	events     = "it looks at the diagnostics of Pulumi's own engine, word for word"
	inputs     = "it looks at the inputs in the events of Pulumi's own engine"
	generator  = "Pulumi's generator makes no program of it, or one that throws"
	byteTexts  = "texts are UTF-8: byte strings are not offered"
	network    = "it fetches from the network"
)

// unsaid are the tests whose programs YAML cannot say, with what it lacks.
var unsaid = map[string]string{
	"l1-builtin-can":                             "the function can",
	"l1-builtin-min-max":                         "the functions min and max",
	"l1-builtin-object":                          "the functions entries and lookup",
	"l1-builtin-try":                             "the function try",
	"l1-component-sourceless":                    "components beside a program",
	"l1-config-secret":                           arithmetic,
	"l1-config-types-object":                     arithmetic,
	"l1-config-types-optional":                   "configuration that may be missing",
	"l1-config-types-primitive":                  arithmetic,
	"l1-expand-final":                            "the functions min and max",
	"l1-for-expression":                          "loops",
	"l2-builtin-object":                          "the functions entries and lookup",
	"l2-component-call-plain":                    calls,
	"l2-component-call-simple":                   calls,
	"l2-component-property-deps":                 calls,
	"l2-config-default-from-invoke":              "computed defaults of configuration",
	"l2-failed-create-recover-continue-on-error": "the function recover",
	"l2-index-mod":                               calls,
	"l2-invoke-multi-argument":                   "arguments of functions without their names",
	"l2-module-format":                           calls,
	"l2-name-conflicts":                          arithmetic,
	"l2-primitive-ref-optional":                  "conditions",
	"l2-provider-call":                           calls,
	"l2-provider-call-explicit":                  calls,
	"l2-resource-elide-unknowns":                 arithmetic,
	"l2-resource-hook-after-failure":             hooks,
	"l2-resource-hook-ignore-errors":             hooks,
	"l2-resource-hook-on-error":                  hooks,
	"l2-resource-hook-panic":                     hooks,
	"l2-resource-option-hooks":                   hooks,
	"l2-resource-optional":                       "conditions",
}

// different are the tests that do not pass, with the reason.
var different = map[string]string{
	"l2-failed-create":                       events,
	"l2-failed-create-continue-on-error":     events,
	"l2-namespaced-provider":                 "it counts a resource more than the program registers",
	"l2-provider-grpc-config":                captured,
	"l2-provider-grpc-config-schema-secret":  captured,
	"l2-provider-grpc-config-secret":         captured,
	"l2-raw-string-bytes":                    byteTexts,
	"l2-resource-asset-archive":              network,
	"l2-resource-config":                     downloads,
	"l2-resource-option-plugin-download-url": downloads,
	"l2-resource-primitive-defaults":         "defaults of the schema are left to the provider, as by Pulumi's runtime, whose own list has this test, too",
}

// unseen are the tests that look at the outputs in the events of Pulumi's own engine during previews alone. Their updates are judged.
var unseen = map[string]bool{
	"l2-invoke-depends-on-component": true,
	"l2-resource-schema-secret":      true,
}

// differentInNode are the tests that do not pass as programs for Node.js, with the reason.
var differentInNode = map[string]string{
	"l1-expand-final":                            generator,
	"l2-failed-create":                           events,
	"l2-failed-create-continue-on-error":         events,
	"l2-failed-create-recover-continue-on-error": events,
	"l2-provider-grpc-config":                    captured,
	"l2-provider-grpc-config-schema-secret":      captured,
	"l2-provider-grpc-config-secret":             captured,
	"l2-raw-string-bytes":                        byteTexts,
	"l2-resource-asset-archive":                  network,
	"l2-resource-config":                         downloads,
	"l2-resource-elide-unknowns":                 inputs,
	"l2-resource-option-plugin-download-url":     downloads,
	"l3-deferred-outputs":                        generator,
}

// often are the tests that run as programs for Node.js with every change: YAML cannot say them, or says less.
var often = []string{
	"l2-component-program-resource-ref", "l2-invoke-options-depends-on", "l2-provider-call", "l2-provider-call-explicit",
	"l2-resource-hook-on-error", "l2-resource-option-version", "l3-component-invoke",
}
