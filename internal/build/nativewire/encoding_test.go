package nativewire

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessages(t *testing.T) {
	for _, sent := range []message{
		{},
		{Kind: cancels, ID: math.MaxUint64},
		{
			Kind: answers, ID: 1, Session: 2, Of: 300, Interface: "a", Name: "", Function: 7, Args: []uint64{0, math.MaxUint64},
			Memory: make([]byte, 1<<17), Result: 1 << 40, Failed: "why",
		},
	} {
		encoded := sent.encode()
		in := bufio.NewReader(bytes.NewReader(append(encoded, (&message{ID: 5}).encode()...)))
		got, err := readMessage(in)
		require.NoError(t, err)
		if len(sent.Memory) == 0 { // there is none, or it is empty
			got.Memory = nil
		}
		require.Equal(t, sent, got)
		got, err = readMessage(in)
		require.NoError(t, err)
		require.EqualValues(t, 5, got.ID)
		_, err = readMessage(in)
		require.ErrorIs(t, err, io.EOF)
		for end := range min(len(encoded), 40) {
			_, err = readMessage(bufio.NewReader(bytes.NewReader(encoded[:end])))
			require.Error(t, err)
		}
	}
	for name, text := range map[string]string{
		"a text that is longer":   "\x0b\x00\x00\x00\x00\x00\x00\x00\x7f\x00\x00\x00",
		"more arguments":          "\x0b\x00\x00\x00\x00\x00\x00\x7f\x00\x00\x00\x00",
		"something behind it":     "\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"a length of gigabytes":   "\xff\xff\xff\xff\xff\x01",
		"a number without an end": "\x02\x80\x80",
	} {
		_, err := readMessage(bufio.NewReader(bytes.NewReader([]byte(text))))
		require.ErrorIs(t, err, errMalformed, name)
	}
}
