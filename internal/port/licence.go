package port

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile matches the names of files with licences.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-.].*)?$`)

func isLicence(name string) bool { return licenceFile.MatchString(name) }

// licenceTexts are phrases of licences with their SPDX identifiers. The first that a text has counts: some
// licences name others. White space counts as one space; commas and case do not count.
var licenceTexts = []struct{ id, phrase string }{
	{"BUSL-1.1", "business source license 1.1"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MPL-2.0", "mozilla public license v. 2.0"},
	{"Apache-2.0", "apache license version 2.0"},
	{"AGPL-3.0", "gnu affero general public license version 3"},
	{"LGPL-3.0", "gnu lesser general public license version 3"},
	{"LGPL-2.1", "gnu lesser general public license version 2.1"},
	{"GPL-3.0", "gnu general public license version 3"},
	{"GPL-2.0", "gnu general public license version 2"},
	{"MIT", "permission is hereby granted free of charge to any person obtaining a copy"},
	{"BSD-3-Clause", "neither the name of"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright notice"},
	{"ISC", "permission to use copy modify and/or distribute this software for any purpose"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
	{"EPL-2.0", "eclipse public license - v 2.0"},
}

// unknownLicence is the identifier of a licence whose text is not known.
const unknownLicence = "NOASSERTION"

// licencesIn returns the SPDX identifiers of the licences in the files of a directory, sorted.
func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() || !isLicence(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found = append(found, licenceOf(string(text)))
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// licenceOf returns the SPDX identifier of a licence's text.
func licenceOf(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(text, ",", " "))), " ")
	for _, l := range licenceTexts {
		if strings.Contains(text, l.phrase) {
			return l.id
		}
	}
	return unknownLicence
}
