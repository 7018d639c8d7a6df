package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The documents of the project become pages, and all of their links lead somewhere.
func TestSite(t *testing.T) {
	out := t.TempDir()
	n, err := write(filepath.Join("..", ".."), out)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(out, "*.html"))
	if err != nil || len(pages) != n || n < 25 {
		t.Fatalf("%d pages of %d: %v", len(pages), n, err)
	}
	for _, file := range pages {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), "aria-current") != 1 {
			t.Errorf("%s is not once in the navigation", file)
		}
		for _, wrong := range []string{`src="http`, `.md"`, `href="../`} {
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, wrong) && !strings.Contains(line, source) {
					t.Errorf("%s has %s", file, line)
				}
			}
		}
	}
	// Each command has a page, which links of the other ones lead to.
	for name, want := range map[string]string{
		"husk-up.html": "<h1", "commands.html": `href="husk-up.html"`, "husk-state-move.html": `href="commands.html"`,
	} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s: %v", name, want, err)
		}
	}
	script, err := os.ReadFile(filepath.Join(out, "site.js"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(script), "const sections = "), ";\n")
	var sections []section
	if err := json.Unmarshal([]byte(first), &sections); err != nil || len(sections) < 150 {
		t.Fatalf("the search has %d sections: %v", len(sections), err)
	}
}

// What is wrong in a document is an error that names it.
func TestWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"# A\n[x](#none)\n":             "README.md: README.md has no heading #none",
		"# A\n[x](docs/none.md)\n":      "README.md: there is no docs/none.md",
		"# A\n![x](none.png)\n":         "README.md: there is no none.png",
		"text\n":                        "README.md has no title",
		"# A\n[x](docs/a.md#b)\n":       "README.md: docs/a.md has no heading #b",
		"# A\n[x](docs/a.md#a)\n":       "",
		"# A\n[x](https://example.org)": "",
	} {
		root := t.TempDir()
		groups = []group{{"All", []string{"README.md", "docs/a.md"}}}
		if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"README.md": text, "docs/a.md": "# A\n"} {
			if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := write(root, t.TempDir())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
		if err := os.WriteFile(filepath.Join(root, "docs", "b.md"), []byte("# B\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := write(root, t.TempDir()); want == "" && (err == nil || !strings.Contains(err.Error(), "docs/b.md is in none of the groups")) {
			t.Errorf("a page that is not listed: %v", err)
		}
	}
}
