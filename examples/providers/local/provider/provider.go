// Package provider manages files and directories. Permission bits are set through package files of the
// SDK, because WASI has none. Errors of the system are reported in words of this package, because
// programs and modules must report the same.
package provider

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// New returns the provider, which holds nothing and can be used any number of times.
func New() guest.Provider {
	return guest.Provider{
		Name:        "local",
		Version:     "0.1.0",
		DisplayName: "Local",
		Description: "Files and directories.",
		Keywords:    []string{"local", "file", "directory"},
		License:     "Apache-2.0",
		Repository:  "https://github.com/husk-dev/husk",
		Requests:    []abi.CapabilityRequest{{Capability: "fs", Reason: "the directories of the files that the program names", Optional: true}},
		Resources: []guest.Resource{
			guest.ResourceOf("local:index/file:File", File{}, guest.Doc("A file with given content."), guest.Identity("path"), guest.DeleteBeforeReplace()),
			guest.ResourceOf("local:index/directory:Directory", Directory{}, guest.Doc("A directory."), guest.Identity("path"), guest.DeleteBeforeReplace()),
		},
		Functions: []guest.Function{
			guest.FunctionOf("local:index/getFile:getFile", getFile, guest.Doc("The content of a file that exists.")),
		},
	}
}
