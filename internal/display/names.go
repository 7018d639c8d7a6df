package display

// ShortType returns a type for people: without a module that repeats the name.
func ShortType(typ string) string { return shortType(typ) }
