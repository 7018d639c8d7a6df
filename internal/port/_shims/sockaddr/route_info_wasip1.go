package sockaddr

import "errors"

type routeInfo struct {
	cmds map[string][]string
}

func NewRouteInfo() (routeInfo, error) {
	return routeInfo{}, errors.New("a module sees no routes")
}

func (ri routeInfo) GetDefaultInterfaceName() (string, error) {
	return "", errors.New("a module sees no routes")
}
