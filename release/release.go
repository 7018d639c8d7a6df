package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // the formats of packages
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	modzip "golang.org/x/mod/zip"

	"github.com/husk-dev/husk/host/trust"
)

const modulePath = "github.com/husk-dev/husk"

// allPlatforms are the platforms of a release.
var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// taggedModules are the folders of the modules that users get by the version of Husk: the whole, the SDKs that ports need, and
// the generator of SDKs. Each has a tag of its own.
var taggedModules = []string{"", "cmd/husk-gen-sdk/", "guest-sdk/pulumi/", "guest-sdk/terraform/"}

// packageFormats are the formats of the packages for Linux.
var packageFormats = []string{"apk", "deb", "rpm"}

type options struct {
	// Version is a semantic version with v before it.
	Version string
	// Revision is the commit.
	Revision string
	// Dir is the directory for the files.
	Dir       string
	Platforms []string
	// Key signs the checksums; nil for no signature.
	Key *trust.PrivateKey
	Log io.Writer
}

// content is a file of an archive.
type content struct {
	name string
	mode fs.FileMode
	data []byte
}

// release makes all files.
func release(ctx context.Context, o options) error {
	if !semver.IsValid(o.Version) || semver.Canonical(o.Version) != o.Version {
		return fmt.Errorf("%q is not a version such as v1.2.0", o.Version)
	}
	if entries, err := os.ReadDir(o.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", o.Dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, p := range o.Platforms {
		if !slices.Contains(allPlatforms, p) {
			return fmt.Errorf("there is no platform %q: %s", p, strings.Join(allPlatforms, ", "))
		}
	}
	if o.Key != nil {
		if _, err := signRaw(*o.Key, nil); err != nil {
			return err
		}
	}
	src, err := findSource(ctx, o.Version, o.Revision)
	if err != nil {
		return err
	}
	made := src.made
	work, err := os.MkdirTemp("", "husk-release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	proxy := filepath.Join(work, "proxy")
	if err := serveModule(src, o.Version, proxy); err != nil {
		return err
	}
	native := runtime.GOOS + "/" + runtime.GOARCH // which writes the completions and man pages
	targets := o.Platforms
	if !slices.Contains(targets, native) {
		targets = append(slices.Clone(targets), native)
	}
	programs, err := build(ctx, o, targets, work, proxy, "cmd/husk")
	if err != nil {
		return err
	}
	fulls, err := build(ctx, o, o.Platforms, work, proxy, "cmd/husk/"+fullName)
	if err != nil {
		return err
	}
	servers, err := buildServers(ctx, src, o, work, proxy)
	if err != nil {
		return err
	}
	var released []string
	for _, platform := range o.Platforms {
		released = append(released, programs[platform], fulls[platform], servers[platform])
	}
	deps, goVersion, err := dependencies(released)
	if err != nil {
		return err
	}
	shared, err := documents(ctx, src, programs[native], work)
	if err != nil {
		return err
	}
	licences, err := thirdParties(ctx, deps, filepath.Join(work, "modules"))
	if err != nil {
		return err
	}
	shared = append(shared, content{thirdPartyFile, 0o644, licences})
	slices.SortFunc(shared, func(a, b content) int { return cmp.Compare(a.name, b.name) })
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	base := "husk_" + strings.TrimPrefix(o.Version, "v")
	var contained []platformContents
	for _, platform := range o.Platforms {
		system, processor, _ := strings.Cut(platform, "/")
		program, err := os.ReadFile(programs[platform])
		if err != nil {
			return err
		}
		server, err := os.ReadFile(servers[platform])
		if err != nil {
			return err
		}
		suffix := ""
		if system == "windows" {
			suffix = ".exe"
		}
		full, err := os.ReadFile(fulls[platform])
		if err != nil {
			return err
		}
		all := append([]content{{"husk" + suffix, 0o755, program}, {fullName + suffix, 0o755, full}, {serverName + suffix, 0o755, server}}, shared...)
		archive := base + "_" + system + "_" + processor
		if system == "windows" {
			err = write(filepath.Join(o.Dir, archive+".zip"), func(w io.Writer) error { return writeZip(w, archive, all, made) })
		} else {
			err = write(filepath.Join(o.Dir, archive+".tar.gz"), func(w io.Writer) error { return writeTar(w, archive, all, made) })
		}
		if err == nil && system == "linux" {
			contained = append(contained, platformContents{processor, all})
			err = writePackages(o, processor, all, made, filepath.Join(work, "package-"+processor))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if len(contained) > 0 {
		for _, im := range images {
			file := filepath.Join(o.Dir, base+"_"+im.name+"_oci.tar")
			if err := write(file, func(w io.Writer) error { return writeImage(w, im, o.Version, contained, made) }); err != nil {
				return fmt.Errorf("the image %s: %w", im.name, err)
			}
		}
	}
	if err := writeBill(o, filepath.Join(o.Dir, base+"_sbom.cdx.json"), deps, goVersion, made); err != nil {
		return err
	}
	if err := writeChecksums(o); err != nil {
		return err
	}
	fmt.Fprintf(o.Log, "made %s of commit %s in %s\nits tags, which users need for go install and husk provider port:\n", o.Version, src.commit, o.Dir)
	for _, folder := range taggedModules {
		fmt.Fprintf(o.Log, "  git tag %s%s %s\n", folder, o.Version, src.commit)
	}
	return nil
}

// source is the commit that is released.
type source struct {
	repository string // the directory with .git
	commit     string
	made       time.Time // when it was committed
}

// findSource returns a commit of the repository that this runs in. The version may not have a tag at another one.
func findSource(ctx context.Context, version, revision string) (source, error) {
	git := func(args ...string) (string, error) {
		out, err := output(ctx, "", nil, "git", args...)
		return strings.TrimSpace(out), err
	}
	common, err := git("rev-parse", "--path-format=absolute", "--git-common-dir") // the repository's directory, if this is a worktree
	if err != nil {
		return source{}, err
	}
	commit, err := git("rev-parse", "--verify", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return source{}, fmt.Errorf("there is no commit %q: %w", revision, err)
	}
	for _, folder := range taggedModules {
		tag := folder + version
		if at, err := git("rev-parse", "--verify", "--quiet", "refs/tags/"+tag+"^{commit}"); err == nil && at != commit {
			return source{}, fmt.Errorf("the tag %s is at commit %s, not at %s: name that commit with -revision, or another version", tag, at, commit)
		}
	}
	seconds, err := git("log", "-1", "--format=%ct", commit)
	if err != nil {
		return source{}, err
	}
	stamp, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, err
	}
	return source{filepath.Dir(common), commit, time.Unix(stamp, 0).UTC()}, nil
}

// serveModule writes the module as a proxy serves it (https://go.dev/ref/mod#goproxy-protocol).
func serveModule(src source, version, proxy string) error {
	dir := filepath.Join(proxy, filepath.FromSlash(modulePath), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	zipped := filepath.Join(dir, version+".zip")
	if err := write(zipped, func(w io.Writer) error {
		return modzip.CreateFromVCS(w, module.Version{Path: modulePath, Version: version}, src.repository, src.commit, "")
	}); err != nil {
		return fmt.Errorf("packing the module: %w", err)
	}
	r, err := zip.OpenReader(zipped)
	if err != nil {
		return err
	}
	defer r.Close()
	mod, err := fs.ReadFile(r, modulePath+"@"+version+"/go.mod")
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": src.made})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{version + ".mod": mod, version + ".info": info, "list": []byte(version + "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// proxied returns the environment in which the go command gets the module from a directory. It keeps the user's settings of where
// modules come from, and drops settings that would change the programs.
func proxied(ctx context.Context, proxy string) ([]string, error) {
	text, err := output(ctx, "", nil, "go", "env", "-json", "GOPROXY", "GOMODCACHE", "GOSUMDB", "GONOSUMDB", "GOTOOLCHAIN")
	if err != nil {
		return nil, err
	}
	var user map[string]string
	if err := json.Unmarshal([]byte(text), &user); err != nil {
		return nil, err
	}
	fetched := filepath.ToSlash(filepath.Join(user["GOMODCACHE"], "cache", "download")) // which need not be fetched again
	return []string{
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + fetched + "," + user["GOPROXY"],
		"GOSUMDB=" + user["GOSUMDB"], "GONOSUMDB=" + strings.Trim(user["GONOSUMDB"]+","+modulePath, ","), "GOTOOLCHAIN=" + user["GOTOOLCHAIN"],
		"GONOPROXY=none", "GOENV=off", "GOWORK=off", "GOFLAGS=-modcacherw", "GOBIN=", "CGO_ENABLED=0", "GOAMD64=", "GOARM64=", "GOEXPERIMENT=", "GOFIPS140=",
	}, nil
}

// build installs the program of a package for each platform, and returns where. The modules that it is made of lie in the folder
// modules.
func build(ctx context.Context, o options, platforms []string, work, proxy, program string) (map[string]string, error) {
	environment, err := proxied(ctx, proxy)
	if err != nil {
		return nil, err
	}
	// The module lies in a cache of its own, because the next one of the version may be another.
	own := filepath.Join(work, "modules")
	programs := make(map[string]string)
	for _, platform := range platforms {
		system, processor, _ := strings.Cut(platform, "/")
		fmt.Fprintf(o.Log, "building %s for %s\n", path.Base(program), platform)
		place := filepath.Join(work, path.Base(program)+"-"+system+"-"+processor)
		with := append(slices.Clone(environment), "GOOS="+system, "GOARCH="+processor, "GOPATH="+place, "GOMODCACHE="+own)
		if _, err := output(ctx, work, with, "go", "install", "-trimpath", "-ldflags=-s -w", modulePath+"/"+program+"@"+o.Version); err != nil {
			return nil, err
		}
		found, err := filepath.Glob(filepath.Join(place, "bin", "*"))
		if err != nil || len(found) != 1 {
			return nil, fmt.Errorf("go install made no program for %s", platform)
		}
		if info, err := os.Stat(found[0]); err == nil && info.IsDir() { // for another platform than this
			if found, err = filepath.Glob(filepath.Join(found[0], "*")); err != nil || len(found) != 1 {
				return nil, fmt.Errorf("go install made no program for %s", platform)
			}
		}
		programs[platform] = found[0]
	}
	return programs, nil
}

// fullName is the program that takes the place of husk for the parts that husk leaves out.
const fullName = "husk-full"

// serverName is the program that husk server starts. It is a module of its own.
const serverName = "husk-server"

// buildServers builds the server for each platform from the source of the commit, and returns where. It is not installed from
// the proxy, because its module is the one that lies beside the rest of Husk.
func buildServers(ctx context.Context, src source, o options, work, proxy string) (map[string]string, error) {
	environment, err := proxied(ctx, proxy)
	if err != nil {
		return nil, err
	}
	const folder = "cmd/" + serverName
	main := filepath.Join(work, "source")
	for _, part := range []struct{ path, folder, dir string }{
		{modulePath, "", main}, {modulePath + "/" + folder, folder, filepath.Join(main, filepath.FromSlash(folder))},
	} {
		zipped := filepath.Join(work, path.Base(part.path)+".zip")
		m := module.Version{Path: part.path, Version: o.Version}
		if err := write(zipped, func(w io.Writer) error { return modzip.CreateFromVCS(w, m, src.repository, src.commit, part.folder) }); err != nil {
			return nil, fmt.Errorf("packing %s: %w", part.path, err)
		}
		if err := modzip.Unzip(part.dir, m, zipped); err != nil {
			return nil, err
		}
	}
	programs := make(map[string]string)
	for _, platform := range o.Platforms {
		system, processor, _ := strings.Cut(platform, "/")
		fmt.Fprintf(o.Log, "building the server for %s\n", platform)
		programs[platform] = filepath.Join(work, serverName+"-"+system+"-"+processor)
		with := append(slices.Clone(environment), "GOOS="+system, "GOARCH="+processor, "GOMODCACHE="+filepath.Join(work, "modules"))
		args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.released=" + o.Version, "-o", programs[platform], "."}
		if _, err := output(ctx, filepath.Join(main, filepath.FromSlash(folder)), with, "go", args...); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// dependencies returns the modules that are in any of the programs, by path, and the release of Go that built them.
func dependencies(programs []string) (deps []*debug.Module, goVersion string, err error) {
	found := make(map[string]*debug.Module)
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, "", err
		}
		goVersion = info.GoVersion
		for _, d := range info.Deps {
			if d.Path == modulePath {
				continue // the server's, which is released with it
			}
			if d.Replace != nil { // go install refuses this
				return nil, "", fmt.Errorf("%s is replaced", d.Path)
			}
			if known := found[d.Path]; known == nil || semver.Compare(known.Version, d.Version) < 0 {
				found[d.Path] = d
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		deps = append(deps, found[name])
	}
	return deps, goVersion, nil
}

// thirdPartyFile has the licences of the program's modules, which must be passed on with it.
const thirdPartyFile = "THIRD_PARTY_LICENSES"

// licenceName matches the files with licences and notices.
var licenceName = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([._-].*)?$`)

// thirdParties returns the licences of Go and of the modules in a cache of modules.
func thirdParties(ctx context.Context, deps []*debug.Module, cache string) ([]byte, error) {
	root, err := output(ctx, "", nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("Husk is licensed as LICENSE says. The programs have parts of others, whose licences follow.\n")
	add := func(title, dir string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		some := false
		for _, e := range entries {
			if !e.Type().IsRegular() || !licenceName.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			some = true
			fmt.Fprintf(&b, "\n%s\n%s, %s\n%[1]s\n\n%[4]s\n", strings.Repeat("=", 80), title, e.Name(), bytes.TrimSpace(text))
		}
		if !some {
			return fmt.Errorf("%s has no licence, so a program with it cannot be released", title)
		}
		return nil
	}
	if err := add("Go", strings.TrimSpace(root)); err != nil {
		return nil, err
	}
	for _, d := range deps {
		name, err := module.EscapePath(d.Path)
		if err != nil {
			return nil, err
		}
		version, err := module.EscapeVersion(d.Version)
		if err != nil {
			return nil, err
		}
		if err := add(d.Path+" "+d.Version, filepath.Join(cache, filepath.FromSlash(name)+"@"+version)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// deployFolder has the files that install servers and workers.
const deployFolder = "cmd/" + serverName + "/deploy/"

// documents returns Husk's files in the archives beside the program, made by a program that runs here.
func documents(ctx context.Context, src source, program, work string) ([]content, error) {
	var all []content
	listed, err := output(ctx, src.repository, nil, "git", "ls-tree", "-r", "--name-only", src.commit, deployFolder)
	if err != nil {
		return nil, err
	}
	for _, name := range append([]string{"LICENSE", "README.md"}, strings.Fields(listed)...) {
		text, err := output(ctx, src.repository, nil, "git", "show", src.commit+":"+name)
		if err != nil {
			return nil, err
		}
		all = append(all, content{strings.TrimPrefix(name, deployFolder), 0o644, []byte(text)})
	}
	for shell, name := range map[string]string{"bash": "husk.bash", "zsh": "_husk", "fish": "husk.fish", "powershell": "husk.ps1"} {
		text, err := output(ctx, work, nil, program, "completion", shell)
		if err != nil {
			return nil, err
		}
		all = append(all, content{"completions/" + name, 0o644, []byte(text)})
	}
	man := filepath.Join(work, "man")
	if _, err := output(ctx, work, nil, program, "man", man); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(man)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(man, page.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, content{"man/man1/" + page.Name(), 0o644, text})
	}
	return all, nil
}

// output runs a program, and returns its output.
func output(ctx context.Context, dir string, environment []string, name string, args ...string) (string, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environment...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, failed.String())
	}
	return string(out), nil
}

// write writes a file.
func write(name string, do func(io.Writer) error) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return do(f)
}

func writeTar(w io.Writer, base string, all []content, made time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(compressed)
	for _, c := range all {
		header := &tar.Header{Name: path.Join(base, c.name), Mode: int64(c.mode), Size: int64(len(c.data)), ModTime: made, Format: tar.FormatPAX}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(c.data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), compressed.Close())
}

func writeZip(w io.Writer, base string, all []content, made time.Time) error {
	z := zip.NewWriter(w)
	for _, c := range all {
		header := &zip.FileHeader{Name: path.Join(base, c.name), Method: zip.Deflate, Modified: made}
		header.SetMode(c.mode)
		f, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := f.Write(c.data); err != nil {
			return err
		}
	}
	return z.Close()
}

// place returns where packages put a file of an archive, empty for nowhere. Man pages are compressed, as distributions have them.
func place(name string) string {
	switch {
	case name == "husk", name == fullName, name == serverName:
		return "/usr/bin/" + name
	case name == "completions/husk.bash":
		return "/usr/share/bash-completion/completions/husk"
	case name == "completions/_husk":
		return "/usr/share/zsh/site-functions/_husk"
	case name == "completions/husk.fish":
		return "/usr/share/fish/vendor_completions.d/husk.fish"
	case name == "systemd/husk.conf":
		return "/usr/lib/sysusers.d/husk.conf"
	case strings.HasPrefix(name, "systemd/"):
		return "/usr/lib/systemd/system/" + path.Base(name)
	case strings.HasPrefix(name, "kustomize/"), strings.HasPrefix(name, "prometheus/"), strings.HasPrefix(name, "proxy/"):
		return "/usr/share/doc/husk/" + name
	case strings.HasPrefix(name, "man/"):
		return "/usr/share/" + name + ".gz"
	case name == "LICENSE":
		return "/usr/share/doc/husk/copyright"
	case name == "README.md", name == thirdPartyFile:
		return "/usr/share/doc/husk/" + name
	}
	return ""
}

func writePackages(o options, processor string, all []content, made time.Time, work string) error {
	var list files.Contents
	for _, c := range all {
		to := place(c.name)
		if to == "" {
			continue
		}
		data := c.data
		if strings.HasSuffix(to, ".gz") {
			var b bytes.Buffer
			z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
			if err != nil {
				return err
			}
			if _, err := z.Write(data); err != nil {
				return err
			}
			if err := z.Close(); err != nil {
				return err
			}
			data = b.Bytes()
		}
		from := filepath.Join(work, filepath.FromSlash(c.name))
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(from, data, c.mode); err != nil {
			return err
		}
		list = append(list, &files.Content{
			Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: c.mode, MTime: made},
		})
	}
	for _, format := range packageFormats {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "husk", Arch: processor, Platform: "linux", Version: o.Version, Section: "admin", Maintainer: "Husk <https://" + modulePath + ">",
			Description: "Runs infrastructure providers as sandboxed WebAssembly modules", Homepage: "https://" + modulePath, License: "Apache-2.0", MTime: made,
			Overridables: nfpm.Overridables{Contents: slices.Clone(list), RPM: nfpm.RPM{BuildHost: "husk"}},
		})
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		if err := write(filepath.Join(o.Dir, packager.ConventionalFileName(info)), func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return err
		}
	}
	return nil
}

// writeBill writes what the programs are made of, as CycloneDX.
func writeBill(o options, to string, deps []*debug.Module, goVersion string, made time.Time) error {
	purl := func(path, version string) string { return "pkg:golang/" + path + "@" + version }
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{
		Timestamp: made.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: purl(modulePath, o.Version), Type: cyclonedx.ComponentTypeApplication, Name: "husk", Version: o.Version, PackageURL: purl(modulePath, o.Version),
			Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		},
	}
	library := strings.TrimPrefix(goVersion, "go")
	components := []cyclonedx.Component{{
		BOMRef: purl("std", library), Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: library, PackageURL: purl("std", library),
	}}
	for _, d := range deps {
		components = append(components, cyclonedx.Component{
			BOMRef: purl(d.Path, d.Version), Type: cyclonedx.ComponentTypeLibrary, Name: d.Path, Version: d.Version, PackageURL: purl(d.Path, d.Version),
		})
	}
	bill.Components = &components
	return write(to, func(w io.Writer) error {
		e := cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON)
		e.SetPretty(true)
		return e.Encode(bill)
	})
}

// writeChecksums writes SHA256SUMS, as sha256sum reads it, and its signature in two forms: the bundle that Husk verifies, and
// the plain one that OpenSSL does, for those who have no Husk yet.
func writeChecksums(o options) error {
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries { // which are sorted
		data, err := os.ReadFile(filepath.Join(o.Dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	const name = "SHA256SUMS"
	if err := os.WriteFile(filepath.Join(o.Dir, name), b.Bytes(), 0o644); err != nil {
		return err
	}
	if o.Key == nil {
		return nil
	}
	statement, err := trust.NewStatement(trust.PredicateSign, struct{}{}, map[string]string{name: digestOf(b.Bytes())})
	if err != nil {
		return err
	}
	bundle, err := trust.Sign(*o.Key, statement)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, name+".sigstore.json"), bundle, 0o644); err != nil {
		return err
	}
	plain, err := signRaw(*o.Key, b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Dir, name+".sig"), plain, 0o644)
}

// signRaw returns the signature of Ed25519 of a text.
func signRaw(key trust.PrivateKey, text []byte) ([]byte, error) {
	encoded, err := key.PEM(nil)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(encoded)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	ed, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("a release is signed with a key of Ed25519: husk provider keygen makes one")
	}
	return ed25519.Sign(ed, text), nil
}
