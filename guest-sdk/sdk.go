// Package guestsdk has the source of the SDKs for providers in other languages than Go.
package guestsdk

import (
	"embed"
	"io/fs"

	"github.com/husk-dev/husk/internal/base/packed"
)

// archive has the files of the SDKs that a provider or program gets a copy of. A test holds it to them.
//
//go:embed sources.zip.gz
var archive []byte

// In returns the files of the SDK for a language, which is named as its directory: c, or rust. There are none for a language whose
// SDK is a package that its author installs.
func In(language string) fs.FS {
	sources := packed.Open(archive)
	if _, err := fs.Stat(sources, language); err != nil {
		return embed.FS{}
	}
	files, err := fs.Sub(sources, language)
	if err != nil {
		panic(err) // a name that is no path
	}
	return files
}
