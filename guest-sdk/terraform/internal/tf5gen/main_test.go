package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	want, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	have, err := filepath.Glob("../../tf5/*.go")
	if err != nil || len(have) != len(want)+1 {
		t.Fatalf("tf5 has %d files, and %d are generated: %v", len(have), len(want), err)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join("../../tf5", name))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("tf5/%s is not as tf5gen makes it; run go generate in guest-sdk/terraform: %v", name, err)
		}
	}
}
