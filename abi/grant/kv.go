package grant

var kvCapability = Capability{
	Name: NameKV, Flags: []string{"kv"},
	fulfils: func(s Set, _ string) bool { return s.KV != nil },
	add: func(s *Set, _ Text, p Place) (err error) {
		s.KV, err = p.Store()
		return err
	},
}
