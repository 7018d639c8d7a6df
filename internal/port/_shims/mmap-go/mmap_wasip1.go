package mmap

import "errors"

var errNoMapping = errors.New("WebAssembly cannot map files into memory")

func mmap(int, uintptr, uintptr, uintptr, int64) ([]byte, error) { return nil, errNoMapping }

func (m MMap) flush() error  { return errNoMapping }
func (m MMap) lock() error   { return errNoMapping }
func (m MMap) unlock() error { return errNoMapping }
func (m *MMap) unmap() error { return errNoMapping }
