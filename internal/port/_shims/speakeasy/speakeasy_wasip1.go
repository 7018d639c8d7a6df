package speakeasy

import "errors"

func getPassword() (string, error) {
	return "", errors.New("a module has no terminal to read a password from")
}
