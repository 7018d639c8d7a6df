// Package guestsdk has the source of the SDKs for providers in other languages than Go.
package guestsdk

import (
	"embed"
	"io/fs"
)

//go:embed c/husk.c c/husk.h rust/Cargo.toml rust/src
var sources embed.FS

// In returns the files of the SDK for a language, which is named as its directory: c, or rust. There are none for a language whose
// SDK is a package that its author installs.
func In(language string) fs.FS {
	if _, err := fs.Stat(sources, language); err != nil {
		return embed.FS{}
	}
	files, err := fs.Sub(sources, language)
	if err != nil {
		panic(err) // a name that is no path
	}
	return files
}
