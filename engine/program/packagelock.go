package program

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// locksDir is the directory of the files that Pulumi writes for a package of a program: one says which
// provider the package is made of, and with which parameters.
const locksDir = "sdks"

// packageLocks reads the packages of the files in sdks. One that the project file declares itself is
// left out.
func (d *decoder) packageLocks() {
	dirs := []string{filepath.Join(d.project.Dir, locksDir)}
	if beside := filepath.Join(d.project.ProgramDir, locksDir); beside != dirs[0] {
		dirs = append(dirs, beside)
	}
	for _, dir := range dirs {
		entries, err := d.project.readDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			d.Errorf(&yaml.Node{}, "cannot read the packages of the program: %v", err)
		}
		for _, entry := range entries {
			if !entry.IsDir() && strings.HasSuffix(entry.Name(), ".yaml") {
				d.packageLock(filepath.Join(dir, entry.Name()))
			}
		}
	}
}

// packageLock reads a file such as
//
//	packageDeclarationVersion: 1
//	name: openapi
//	version: 1.2.3
//	parameterization: {name: petstore, version: 3.0.0, value: e30=}
func (d *decoder) packageLock(path string) {
	text, err := d.project.readFile(path)
	if err != nil {
		d.Errorf(&yaml.Node{}, "cannot read a package of the program: %v", err)
		return
	}
	file := d.project.newFile(path, text)
	root, err := source.Parse(file, text)
	if ds, ok := errors.AsType[source.Diagnostics](err); ok {
		d.Add(ds...)
	}
	if err != nil || root.Kind != yaml.MappingNode || field(root, func(key string) bool { return key == "packageDeclarationVersion" }) < 0 {
		return // it is empty, or something else
	}
	l := decoder{Report: &source.Report{File: file}, project: d.project}
	defer func() { d.Add(l.Diagnostics()...) }()
	var p Package
	var version string
	ok := l.Read(root, "the lock of a package",
		l.TextKey("packageDeclarationVersion", &version, "packageDeclarationVersion"),
		l.TextKey("name", &p.Source, "the provider's name"),
		l.versionKey(&p.Version, "the provider's version", semver.ParseTolerant),
		source.On("downloadUrl", func(source.Field) bool { return true }), // providers come from the project file
		l.parameterizationKey("parameterization", &p.Parameters),
		l.parameterizationKey("extension", &p.Extension),
	)
	by := p.Extension
	if by == nil {
		by = p.Parameters
	}
	switch {
	case !ok:
		return
	case version != "1":
		l.Errorf(root, "the lock has version %s, and only version 1 is known", version)
		return
	case p.Source == "":
		l.Errorf(root, "the lock names no provider")
		return
	case p.Parameters != nil && p.Extension != nil:
		l.Errorf(root, "a package is made with a parameterization or an extension, not with both")
		return
	case by != nil && (by.Name == "" || by.Version == ""):
		l.Errorf(root, "a parameterization has a name, a version, and a value")
		return
	}
	p.Name = p.Source
	if by != nil {
		p.Name = by.Name
	}
	if !slices.ContainsFunc(d.project.Packages, func(o Package) bool { return o.Name == p.Name }) {
		d.project.addPackage(p)
	}
}
