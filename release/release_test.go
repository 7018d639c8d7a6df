package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

const testVersion = "v0.7.3"

// released returns a directory with a release of this checkout's commit, for this platform.
func released(t *testing.T, key *trust.PrivateKey) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dist")
	require.NoError(t, release(t.Context(), options{
		Version: testVersion, Revision: "HEAD", Dir: dir, Platforms: []string{runtime.GOOS + "/" + runtime.GOARCH}, Key: key, Log: t.Output(),
	}))
	return dir
}

// The files of a release are tried as users do. What the environment says changes nothing.
func TestRelease(t *testing.T) {
	nightly.Skip(t)
	if runtime.GOOS == "windows" {
		t.Skip("the archive is a zip there")
	}
	key, err := trust.GenerateKey()
	require.NoError(t, err)
	again := released(t, &key)
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("GOAMD64", "v2")
	t.Setenv("GOARM64", "v8.1")
	dir := released(t, &key)
	names := filesIn(t, dir)
	require.Equal(t, names, filesIn(t, again))
	for _, name := range names { // the signatures, too: those of Ed25519 are not random
		one, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(again, name))
		require.NoError(t, err)
		require.True(t, string(one) == string(other), "%s differs", name)
	}

	// The checksums are those of the files, and are signed.
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	listed := 0
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		require.Equal(t, want, hex.EncodeToString(sum[:]))
		listed++
	}
	require.Equal(t, len(names)-3, listed)
	if path, err := exec.LookPath("sha256sum"); err == nil {
		command(t, dir, path, "--check", "--strict", "SHA256SUMS")
	}
	if path, err := exec.LookPath("openssl"); err == nil {
		public := filepath.Join(t.TempDir(), "husk.key.pub")
		require.NoError(t, os.WriteFile(public, key.Public().PEM(), 0o644))
		verify := []string{"pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-sigfile", "SHA256SUMS.sig", "-in"}
		require.Contains(t, command(t, dir, path, append(verify, "SHA256SUMS")...), "Verified Successfully")
		cmd := exec.CommandContext(t.Context(), path, append(verify, "SHA256SUMS.sig")...)
		cmd.Dir = dir
		require.Error(t, cmd.Run())
	}
	raw, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS.sigstore.json"))
	require.NoError(t, err)
	bundle, err := trust.ParseBundle(raw)
	require.NoError(t, err)
	sum := sha256.Sum256(sums)
	_, err = (&trust.Verifier{Keys: []trust.PublicKey{key.Public()}}).Verify(bundle, trust.Artifact{Digest: "sha256:" + hex.EncodeToString(sum[:])})
	require.NoError(t, err)

	var bill struct {
		Metadata struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name string }
	}
	text, err := os.ReadFile(filepath.Join(dir, "husk_0.7.3_sbom.cdx.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &bill))
	require.Equal(t, "husk", bill.Metadata.Component.Name)
	require.Contains(t, string(text), "pkg:golang/github.com/tetratelabs/wazero@")
	require.Contains(t, string(text), "pkg:golang/std@"+strings.TrimPrefix(runtime.Version(), "go"))

	base := "husk_0.7.3_" + runtime.GOOS + "_" + runtime.GOARCH
	place := t.TempDir()
	unpack(t, filepath.Join(dir, base+".tar.gz"), place)
	program := filepath.Join(place, base, "husk")
	for _, name := range []string{"LICENSE", "README.md", thirdPartyFile, "completions/husk.bash", "completions/_husk", "completions/husk.fish", "completions/husk.ps1", "man/man1/husk-up.1", "systemd/husk-server.service", "kustomize/server.yaml"} {
		require.FileExists(t, filepath.Join(place, base, name))
	}
	licences, err := os.ReadFile(filepath.Join(place, base, thirdPartyFile))
	require.NoError(t, err)
	for _, of := range []string{"\nGo, LICENSE\n", "\ngithub.com/tetratelabs/wazero v", "Apache License"} {
		require.Contains(t, string(licences), of)
	}
	require.Contains(t, command(t, "", program, "version"), "husk "+testVersion+" (")
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(25_000_000), "what few need belongs into husk-full")
	// The program beside it takes its place, as it is of the same version. Built with -trimpath, it knows no checkout.
	shim := exec.CommandContext(t.Context(), program, "provider", "serve", "missing.wasm")
	said, err := shim.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "missing.wasm")
	require.NotContains(t, string(said), fullName)
	alone := filepath.Join(t.TempDir(), "husk")
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(alone, data, 0o755))
	shim = exec.CommandContext(t.Context(), alone, "provider", "serve", "missing.wasm")
	said, err = shim.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "this needs the program husk-full")
	require.Contains(t, command(t, "", program, "server", "--version"), testVersion)
	require.Contains(t, command(t, "", program, "provider", "verify", filepath.Join(dir, "SHA256SUMS"), "--key", key.Public().String()), "the key ed25519:")
	quickstart(t, program)

	if runtime.GOOS != "linux" {
		return
	}
	deb := filepath.Join(dir, "husk_0.7.3_"+runtime.GOARCH+".deb")
	require.FileExists(t, deb)
	if path, err := exec.LookPath("dpkg-deb"); err == nil {
		root := t.TempDir()
		command(t, "", path, "-x", deb, root)
		installed(t, root)
		require.Equal(t, "0.7.3\n", command(t, "", path, "-f", deb, "Version"))
	}
	for name, args := range map[string][]string{"husk-server": {"--version"}, "husk-worker": {"version"}} {
		program, _ := container(t, filepath.Join(dir, "husk_0.7.3_"+name+"_oci.tar"), runtime.GOARCH)
		require.Contains(t, command(t, "", program, args...), testVersion)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	root := t.TempDir()
	unpack(t, filepath.Join(dir, "husk_0.7.3_"+machine+".apk"), root)
	installed(t, root)
	rpm := filepath.Join(dir, "husk-0.7.3-1."+machine+".rpm")
	require.FileExists(t, rpm)
	if path, err := exec.LookPath("rpm"); err == nil {
		listed := command(t, "", path, "-qlp", rpm)
		require.Contains(t, listed, "/usr/bin/husk\n")
		require.Contains(t, listed, "/usr/bin/husk-full\n")
		require.Contains(t, listed, "/usr/share/man/man1/husk.1.gz\n")
	}
}

// installed checks what a package has.
func installed(t *testing.T, root string) {
	t.Helper()
	require.Contains(t, command(t, "", filepath.Join(root, "usr/bin/husk"), "version"), testVersion)
	require.Contains(t, command(t, "", filepath.Join(root, "usr/bin", serverName), "--version"), testVersion)
	require.FileExists(t, filepath.Join(root, "usr/lib/systemd/system/husk-worker.service"))
	for _, name := range []string{"man/man1/husk.1.gz", "bash-completion/completions/husk", "doc/husk/copyright", "doc/husk/" + thirdPartyFile} {
		require.FileExists(t, filepath.Join(root, "usr/share", name))
	}
}

// quickstart deploys the quickstart of the checkout with a program.
func quickstart(t *testing.T, program string) {
	t.Helper()
	top, err := filepath.Abs("..")
	require.NoError(t, err)
	state := t.TempDir()
	environment := append(os.Environ(), "HUSK_BACKEND_URL=file://"+filepath.ToSlash(state), "HUSK_CONFIG_PASSPHRASE=test")
	for _, args := range [][]string{{"up", "--yes"}, {"up", "--yes"}, {"destroy", "--yes"}} {
		cmd := exec.CommandContext(t.Context(), program, append(args, "-C", filepath.Join(top, "examples", "quickstart"))...)
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.NotEmpty(t, names)
	return names
}

func unpack(t *testing.T, archive, to string) {
	t.Helper()
	f, err := os.Open(archive)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		path := filepath.Join(to, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, h.FileInfo().Mode()))
	}
}

// The archives for Windows are made as the others are.
func TestArchivesAreReproducible(t *testing.T) {
	made := time.Date(2026, 5, 4, 3, 2, 0, 0, time.UTC)
	all := []content{{"husk.exe", 0o755, []byte("program")}, {"man/man1/husk.1", 0o644, []byte("page")}}
	zipped := func() []byte {
		var b bytes.Buffer
		require.NoError(t, writeZip(&b, "husk_1", all, made))
		return b.Bytes()
	}
	one := zipped()
	require.Equal(t, one, zipped())
	r, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
	require.NoError(t, err)
	require.Len(t, r.File, len(all))
	for i, f := range r.File {
		require.Equal(t, "husk_1/"+all[i].name, f.Name)
		require.Equal(t, all[i].mode, f.Mode())
		require.True(t, made.Equal(f.Modified))
		opened, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(opened)
		require.NoError(t, err)
		require.Equal(t, all[i].data, data)
	}
	var first, second bytes.Buffer
	require.NoError(t, writeTar(&first, "husk_1", all, made))
	require.NoError(t, writeTar(&second, "husk_1", all, made))
	require.Equal(t, first.Bytes(), second.Bytes())
	place := t.TempDir()
	archive := filepath.Join(place, "husk_1.tar.gz")
	require.NoError(t, os.WriteFile(archive, first.Bytes(), 0o644))
	unpack(t, archive, place)
	for _, c := range all {
		data, err := os.ReadFile(filepath.Join(place, "husk_1", filepath.FromSlash(c.name)))
		require.NoError(t, err)
		require.Equal(t, c.data, data)
	}
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestWrongOptions(t *testing.T) {
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "file"), nil, 0o644))
	for want, o := range map[string]options{
		`"1.2" is not a version such as v1.2.0`: {Version: "1.2"},
		"is not empty":                          {Version: "v1.2.0", Dir: full},
		`there is no platform "plan9/arm"`:      {Version: "v1.2.0", Dir: filepath.Join(full, "new"), Platforms: []string{"plan9/arm"}},
	} {
		require.ErrorContains(t, release(t.Context(), o), want)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(curve)
	require.NoError(t, err)
	other, err := trust.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
	require.NoError(t, err)
	dir := filepath.Join(full, "new")
	require.ErrorContains(t, release(t.Context(), options{Version: "v1.2.0", Dir: dir, Key: &other}), "a key of Ed25519")
	require.ErrorContains(t, release(t.Context(), options{Version: "v1.2.0", Dir: dir, Revision: "nothing"}), `there is no commit "nothing"`)
	require.NoDirExists(t, dir)
	require.ErrorContains(t, run(t.Context(), options{}, "", nil), "usage:")
	require.ErrorContains(t, run(t.Context(), options{Version: "v1.2.0", Dir: "x"}, "missing.key", nil), "reading the private key")
}

// A version that has a tag is released from its commit only.
func TestATagElsewhere(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		with := []string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"}
		return strings.TrimSpace(command(t, dir, "git", append(with, args...)...))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	git("tag", "guest-sdk/pulumi/v1.2.0")
	first := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "two")
	second := git("rev-parse", "HEAD")
	tree := filepath.Join(t.TempDir(), "tree")
	git("worktree", "add", "-q", tree, second)
	t.Chdir(tree)
	_, err := findSource(t.Context(), "v1.2.0", "HEAD")
	require.ErrorContains(t, err, "the tag guest-sdk/pulumi/v1.2.0 is at commit "+first+", not at "+second)
	src, err := findSource(t.Context(), "v1.2.0", first)
	require.NoError(t, err)
	require.Equal(t, first, src.commit)
	require.FileExists(t, filepath.Join(src.repository, ".git", "HEAD"))
	_, err = findSource(t.Context(), "v1.3.0", "HEAD")
	require.NoError(t, err)
}

// Programs with a module that has no licence are not released.
func TestAModuleWithoutLicence(t *testing.T) {
	cache := t.TempDir()
	dir := filepath.Join(cache, "example.com", "!acme@v1.0.0")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	deps := []*debug.Module{{Path: "example.com/Acme", Version: "v1.0.0"}}
	_, err := thirdParties(t.Context(), deps, cache)
	require.ErrorContains(t, err, "example.com/Acme v1.0.0 has no licence")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Licence.txt"), []byte("Do as you like.\n"), 0o644))
	text, err := thirdParties(t.Context(), deps, cache)
	require.NoError(t, err)
	require.Contains(t, string(text), "example.com/Acme v1.0.0, Licence.txt\n")
	require.Contains(t, string(text), "Do as you like.\n")
}
