package provider

import "github.com/husk-dev/husk/guest-sdk/guest"

type failures []guest.CheckFailure

func (f *failures) add(path, reason string) {
	*f = append(*f, guest.CheckFailure{Path: path, Reason: reason})
}

// text checks a property that holds PEM, if it is known.
func text[T any](f *failures, path, value string, known bool, parse func(string) (T, error)) (parsed T, ok bool) {
	if !known {
		return parsed, false
	}
	parsed, err := parse(value)
	if err != nil {
		f.add(path, err.Error())
	}
	return parsed, err == nil
}
