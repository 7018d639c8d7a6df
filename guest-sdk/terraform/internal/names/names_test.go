package names_test

import (
	"testing"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/names"
)

func TestCamel(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "name": "name", "byte_length": "byteLength", "b64_std": "b64Std", "foo__dot__bar": "fooDotBar",
		"_leading": "_leading", "last_": "last_", "ip_v4_address": "ipV4Address", "a_1_b": "a1B",
	} {
		if got := names.Camel(name); got != want {
			t.Errorf("Camel(%q) = %q, want %q", name, got, want)
		}
	}
	if got := names.Pascal("random_pet"); got != "RandomPet" {
		t.Errorf("Pascal: %q", got)
	}
}

func TestSnakeReversesCamel(t *testing.T) {
	for _, name := range []string{"name", "byte_length", "min_special", "max_items_one"} {
		if got := names.Snake(names.Camel(name)); got != name {
			t.Errorf("Snake(Camel(%q)) = %q", name, got)
		}
	}
}

func TestPlural(t *testing.T) {
	for name, want := range map[string]string{
		"input": "inputs", "result": "results", "tag": "tags", "security_group": "security_groups",
		"policy": "policies", "key": "keys", "query": "queries", "address": "addresses", "box": "boxes", "switch": "switches",
		"status": "statuses", "alias": "aliases", "index": "indices", "child": "children", "user_person": "user_people",
		"metadata": "metadata" + "s", "media": "media", "series": "series", "news": "news", "analysis": "analyses",
		"shelf": "shelves", "knife": "knives", "proof": "proofs", "virus": "viri", "bus": "buses", "medium": "media",
		"foot": "feet", "left_foot": "left_foots", "quiz": "quizzes", "axis": "axes", "matrix": "matrices", "hive": "hives",
	} {
		if got := names.Plural(name); got != want {
			t.Errorf("Plural(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSingular(t *testing.T) {
	for name, want := range map[string]string{
		"inputs": "input", "certificates": "certificate", "security_groups": "security_group", "policies": "policy", "keys": "key",
		"addresses": "address", "boxes": "box", "switches": "switch", "statuses": "status", "aliases": "alias", "indices": "index",
		"children": "child", "user_people": "user_person", "shelves": "shelf", "analyses": "analysis", "feet": "foot",
		"input": "input", "status": "status", "address": "address", "series": "series", "ingress": "ingress",
		"subject": "subject", "basis": "basis", "rules": "rule", "uses": "use", "images": "image", "devices": "device",
	} {
		if got := names.Singular(name); got != want {
			t.Errorf("Singular(%q) = %q, want %q", name, got, want)
		}
	}
}
