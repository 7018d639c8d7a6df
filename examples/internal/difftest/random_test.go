package difftest

import (
	"testing"

	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	random "github.com/husk-dev/husk/examples/providers/random/provider"
	"github.com/husk-dev/husk/host"
)

func TestRandom(t *testing.T) {
	w := newWorld(t, random.New(), "../../providers/random", host.Grants{})
	w.words = map[string][]any{
		"length": {1, 2, 8, 24, 200}, "byteLength": {1, 8, 33}, "min": {-5, 0, 7}, "max": {7, 9, 1 << 40},
		"minLower": {0, 1, 3}, "minUpper": {0, 2}, "minNumeric": {0, 1}, "minSpecial": {0, 1, 300},
		"overrideSpecial": {"!", "_-é", ""}, "separator": {"-", "", "ü"}, "seed": {"", "a", "12345"},
		"resultCount": {0, 1, 3, 10},
	}
	w.ids = []string{
		"none", "AQID", "prefix,AQID", "7,1,9", "7,1,9,seed", "3d1ab6a0-8b36-4f59-8f1a-0d9a9d3c1f10", "a-b",
	}
	length := pt.MapOf(pt.Object{"length": 12})
	w.samples = map[string]property.Map{
		"random:index/randomBytes:RandomBytes":       length,
		"random:index/randomId:RandomId":             pt.MapOf(pt.Object{"byteLength": 8}),
		"random:index/randomInteger:RandomInteger":   pt.MapOf(pt.Object{"min": 1, "max": 100}),
		"random:index/randomPassword:RandomPassword": length,
		"random:index/randomShuffle:RandomShuffle":   pt.MapOf(pt.Object{"inputs": pt.List{"a", "b", "c", "d"}}),
		"random:index/randomString:RandomString":     length,
	}
	w.costly = []string{"random:index/randomPassword:RandomPassword"} // hashed with bcrypt
	w.live()
}
