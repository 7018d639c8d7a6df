// Package provider makes a directory with a page and a certificate for a web server. It has only
// components, with children of the packages local and tls.
package provider

import "github.com/husk-dev/husk/guest-sdk/guest"

// New returns the provider, which holds nothing and can be used any number of times.
func New() guest.Provider {
	return guest.Provider{
		Name:        "site",
		Version:     "0.1.0",
		DisplayName: "Site",
		Description: "Web sites, made of files and certificates.",
		Keywords:    []string{"site", "component"},
		License:     "Apache-2.0",
		Repository:  "https://github.com/husk-dev/husk",
		Components: []guest.Component{
			guest.ComponentOf("site:index:Certificate", Certificate{},
				guest.Doc("A private key and a certificate that is signed with it.")),
			guest.ComponentOf("site:index:Site", Site{}, guest.Doc("A directory that a web server can serve.")).
				With(guest.MethodOf("read", read, guest.Doc("The content of a file of the site."))),
		},
	}
}
