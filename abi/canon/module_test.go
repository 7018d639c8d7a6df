package canon_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/canon"
)

func provided(worlds ...canon.World) map[string]canon.Signature {
	exports := map[string]canon.Signature{"_initialize": {}}
	for _, w := range worlds {
		for _, e := range w.ExportTable() {
			exports[e.Name] = e.Signature
		}
	}
	return exports
}

// inVersion adds the exports of providers in another version of the contract.
func inVersion(exports map[string]canon.Signature, version string) {
	for name, signature := range maps.Clone(exports) {
		exports[strings.Replace(name, "@"+canon.Version+"#", "@"+version+"#", 1)] = signature
	}
}

func TestCheckExports(t *testing.T) {
	const check = "husk:provider/provider@0.2.0#check"
	for name, test := range map[string]struct {
		change func(exports map[string]canon.Signature)
		want   string
	}{
		"a provider": {func(map[string]canon.Signature) {}, ""},
		"no provider": {
			func(e map[string]canon.Signature) { clear(e) },
			"the module is not a provider: it exports no interface husk:provider/provider (nor is it a policy pack or a program)"},
		"a provider and a policy pack": {
			func(e map[string]canon.Signature) { maps.Copy(e, provided(canon.WorldPolicy)) },
			"the module is two of provider, policy pack, and program at once: build two modules"},
		"a policy pack and a program": {
			func(e map[string]canon.Signature) {
				clear(e)
				maps.Copy(e, provided(canon.WorldPolicy, canon.WorldProgram))
			},
			"the module is two of provider, policy pack, and program at once: build two modules"},
		"a policy pack of another version": {
			func(e map[string]canon.Signature) {
				clear(e)
				e["husk:policy/policy@0.2.0#analyze"] = canon.Signature{}
			},
			"the module speaks version 0.2.0 of husk:policy, this host version 0.1.0: use a build of the policy pack for version 0.1.0"},
		"a function of a policy pack less": {
			func(e map[string]canon.Signature) {
				clear(e)
				maps.Copy(e, provided(canon.WorldPolicy))
				delete(e, "husk:policy/policy@0.1.0#analyze-stack")
			},
			"the module does not export husk:policy/policy@0.1.0#analyze-stack"},
		"another version": {
			func(e map[string]canon.Signature) {
				clear(e)
				e["husk:provider/provider@0.3.0#check"] = canon.Signature{}
			},
			"the module speaks version 0.3.0 of husk:provider, this host version 0.2.0: use a build of the provider for version 0.2.0"},
		"this and another version": {
			func(e map[string]canon.Signature) { e["husk:provider/provider@0.3.0#check"] = canon.Signature{} }, ""},
		"this and the first version": {
			func(e map[string]canon.Signature) { e["husk:provider/provider@0.1.0#check"] = canon.Signature{} }, ""},
		"two other versions, of which the newest counts": {
			func(e map[string]canon.Signature) {
				clear(e)
				e["husk:provider/provider@0.3.0#check"] = canon.Signature{}
				e["husk:provider/provider@0.4.0#check"] = canon.Signature{}
			},
			"the module speaks version 0.4.0 of husk:provider, this host version 0.2.0: use a build of the provider for version 0.2.0"},
		"all of this and of another version": {
			func(e map[string]canon.Signature) { inVersion(e, "0.3.0") }, ""},
		"all of the first version and not of this one": {
			func(e map[string]canon.Signature) {
				inVersion(e, "0.1.0")
				delete(e, check)
			},
			"the module does not export " + check},
		"a function less": {
			func(e map[string]canon.Signature) { delete(e, check) },
			"the module does not export " + check},
		"no release function": {
			func(e map[string]canon.Signature) { delete(e, "cabi_post_"+check) },
			"the module does not export cabi_post_" + check},
		"no allocator": {
			func(e map[string]canon.Signature) { delete(e, "cabi_realloc") },
			"the module does not export cabi_realloc"},
		"another type": {
			func(e map[string]canon.Signature) {
				e[check] = canon.Signature{Params: []canon.ValueType{canon.I64, canon.F64}, Results: []canon.ValueType{canon.I32}}
			},
			check + " has the type (i64, f64) -> (i32) in the module, but must have (i32) -> (i32)"},
	} {
		t.Run(name, func(t *testing.T) {
			exports := provided(canon.WorldProvider)
			test.change(exports)
			for range 16 { // which each see the map in another order
				_, err := canon.CheckExports(exports)
				if test.want == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, test.want)
				}
			}
		})
	}
}

func TestExportsTellTheWorld(t *testing.T) {
	for _, world := range []canon.World{canon.WorldProvider, canon.WorldPolicy, canon.WorldProgram} {
		got, err := canon.CheckExports(provided(world))
		require.NoError(t, err)
		require.Equal(t, world, got)
	}
}

func TestCheckImport(t *testing.T) {
	write := canon.Signature{Params: []canon.ValueType{canon.I32, canon.I32, canon.I32, canon.I32, canon.I32, canon.I32}}
	for _, test := range []struct {
		module, name string
		signature    canon.Signature
		want         string
	}{
		{"husk:provider/log@0.2.0", "write", write, ""},
		{"husk:provider/log@0.1.0", "write", write, ""},
		{"husk:provider/log@0.3.0", "write", write,
			"the module speaks version 0.3.0 of husk:provider, this host version 0.2.0: use a build of the provider for version 0.2.0"},
		{"husk:provider/log", "write", write,
			"the module imports husk:provider/log write, which is not part of husk:provider 0.2.0"},
		{"husk:provider/log@0.2.0", "read", write,
			"the module imports husk:provider/log@0.2.0 read, which is not part of husk:provider 0.2.0"},
		{"husk:provider/shell@0.2.0", "run", write,
			"the module imports husk:provider/shell@0.2.0 run, which is not part of husk:provider 0.2.0"},
		{"husk:provider/provider@0.2.0", "check", write,
			"the module imports husk:provider/provider@0.2.0 check, which is not part of husk:provider 0.2.0"},
		{"husk:provider/log@0.2.0", "write", canon.Signature{},
			"husk:provider/log@0.2.0 write has the type () -> () in the module, but must have (i32, i32, i32, i32, i32, i32) -> ()"},
	} {
		err := canon.CheckImport(test.module, test.name, test.signature)
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.want)
	}
}

// TestSignatures compares the core types of all functions with those that the WIT
// package's own implementation of the canonical ABI derives.
func TestSignatures(t *testing.T) {
	exports, imports := provided(canon.WorldProvider, canon.WorldPolicy, canon.WorldProgram), canon.ImportTable()
	functions := witFunctions(t)
	count := 0
	for iface, list := range functions {
		for _, f := range list {
			if pkg := map[string]string{"provider": "husk:provider", "policy": "husk:policy", "program": "husk:program"}[iface]; pkg != "" {
				version := map[string]string{"provider": "0.2.0", "policy": "0.1.0", "program": "0.1.0"}[iface]
				require.Equal(t, coreSignature(f, true).String(), exports[pkg+"/"+iface+"@"+version+"#"+f.Name].String(), f.Name)
				continue
			}
			i := importNamed(t, iface, f.Name)
			require.Equal(t, coreSignature(f, false).String(), i.Signature.String(), iface+"."+f.Name)
			count++
		}
	}
	require.Len(t, imports, count)
}
