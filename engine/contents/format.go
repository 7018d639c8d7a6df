package contents

import (
	"strings"

	"github.com/husk-dev/husk/abi/property"
)

// Format is one of the ways to put files into one.
type Format uint8

// The formats.
const (
	notFile Format = iota
	// Tar is a tar file.
	Tar
	// TarGzip is a gzipped tar file.
	TarGzip
	// Zip is a zip file.
	Zip
)

// extensions decide the format, as for Pulumi.
var extensions = [...]struct {
	suffix string
	format Format
}{{".tar", Tar}, {".tgz", TarGzip}, {".tar.gz", TarGzip}, {".zip", Zip}, {".jar", Zip}}

// formatOf is the format of an archive's file, notFile for a directory or literal archive.
func formatOf(a property.Archive) (Format, error) {
	name := a.Path
	switch a.Source {
	case property.SourceAssets:
		return notFile, nil
	case property.SourcePath:
	case property.SourceURI:
		u, err := parseURL(a.URI)
		if err != nil {
			return notFile, err
		}
		name = u.Path
	default:
		return notFile, ErrElided
	}
	for _, e := range extensions {
		if strings.HasSuffix(name, e.suffix) {
			return e.format, nil
		}
	}
	return notFile, nil
}
