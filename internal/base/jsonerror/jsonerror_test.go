package jsonerror_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/jsonerror"
)

type inner struct {
	Names []string       `json:"names"`
	Size  *int8          `json:"size"`
	Whole uint           `json:"whole"`
	On    bool           `json:"on"`
	Rest  map[string]any `json:"rest"`
}

type document struct {
	inner
	Parts []inner `json:"parts"`
}

func TestErrorsAreInWordsOfJSON(t *testing.T) {
	for text, want := range map[string]string{
		``:                                 "it is empty",
		" \n":                              "it is empty",
		`{"names": [`:                      "it ends too early: a bracket, a brace, or a quote is not closed",
		`{"names": ["`:                     "it ends too early: a bracket, a brace, or a quote is not closed",
		"{\n  \"é\": !}":                   "line 2, column 8: invalid character '!' looking for beginning of value",
		"{\n\n!":                           "line 3, column 1: invalid character '!' looking for beginning of object key string",
		`[]`:                               "line 1, column 1: it is an array, and is to be an object",
		`"x"`:                              "line 1, column 3: it is a string, and is to be an object",
		`{"names": 3}`:                     `line 1, column 11: "names" is a number, and is to be an array`,
		`{"names": [true]}`:                `line 1, column 15: "names" is a boolean, and is to be a string`,
		"{\"parts\": [{},\n{\"on\": {}}]}": `line 2, column 8: "on" is an object, and is to be a boolean`,
		`{"rest": "x"}`:                    `line 1, column 12: "rest" is a string, and is to be an object`,
		`{"size": "x"}`:                    `line 1, column 12: "size" is a string, and is to be a number`,
		`{"size": 300}`:                    `line 1, column 12: "size" cannot be 300`,
		`{"whole": 1.5}`:                   `line 1, column 13: "whole" cannot be 1.5`,
		`{"nams": []}`:                     `there is no member "nams" here`,
	} {
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.DisallowUnknownFields()
		var d document
		err := decoder.Decode(&d)
		require.Error(t, err)
		explained := jsonerror.Explain([]byte(text), err)
		require.ErrorIs(t, explained, err)
		require.EqualError(t, explained, want, text)
		if err = json.Unmarshal([]byte(text), &d); err != nil {
			require.EqualError(t, jsonerror.Explain([]byte(text), err), explained.Error())
		}
	}
	other := errors.New("other")
	require.Equal(t, other, jsonerror.Explain(nil, other))
	require.NoError(t, jsonerror.Explain(nil, nil))
}
