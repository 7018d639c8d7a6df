// Package provider makes random values under the names of the Pulumi random package, with crypto/rand
// unless a seed is given. A resource exists only in its state: values are drawn when it is created, and
// every change replaces it.
package provider

import "github.com/husk-dev/husk/guest-sdk/guest"

// New returns the provider, which holds nothing and can be used any number of times.
func New() guest.Provider {
	return guest.Provider{
		Name:        "random",
		Version:     "4.16.0",
		DisplayName: "Random",
		Description: "Random values that stay as they are: names, passwords, numbers, orders.",
		Keywords:    []string{"random", "password", "uuid"},
		License:     "Apache-2.0",
		Repository:  "https://github.com/husk-dev/husk",
		Resources: []guest.Resource{
			guest.ResourceOf("random:index/randomBytes:RandomBytes", Bytes{},
				guest.Doc("Random bytes, to be used as a secret or a key.\n\nThe ID to import one with is its value in base64.")),
			guest.ResourceOf("random:index/randomId:RandomId", ID{},
				guest.Doc("A random number in several notations, to be used in unique names.\n\n"+
					"The ID to import one with is its value in URL-safe base64, behind the prefix and a comma if there is one.")),
			guest.ResourceOf("random:index/randomInteger:RandomInteger", Integer{},
				guest.Doc("A random integer from a range.\n\nThe ID to import one with is `result,min,max` or `result,min,max,seed`.")),
			guest.ResourceOf("random:index/randomPassword:RandomPassword", Password{},
				guest.Doc("A random string that is secret.\n\nThe ID to import one with is the password itself.")),
			guest.ResourceOf("random:index/randomPet:RandomPet", Pet{},
				guest.Doc("The name of a pet, which is random but can be remembered. The resource's ID is the name.")),
			guest.ResourceOf("random:index/randomShuffle:RandomShuffle", Shuffle{},
				guest.Doc("A random order of a list, or a part of it.")),
			guest.ResourceOf("random:index/randomString:RandomString", String{},
				guest.Doc("A random string that is not secret. The resource's ID is the string, which is also the ID to import one with.")),
			guest.ResourceOf("random:index/randomUuid:RandomUuid", UUID{},
				guest.Doc("A random UUID (version 4). The resource's ID is the UUID, which is also the ID to import one with.")),
		},
	}
}

type keepers struct {
	Keepers map[string]string `husk:"keepers,optional" doc:"Any values. When one of them changes, so does the random value."`
}

// recorded returns the response of a refresh: the recorded state. ok is false for an import.
func recorded[I, S any](r guest.ReadRequest[I, S]) (response guest.ReadResponse[I, S], ok bool) {
	if r.Inputs == nil || r.State == nil {
		return response, false
	}
	return guest.ReadResponse[I, S]{Inputs: *r.Inputs, State: *r.State}, true
}
