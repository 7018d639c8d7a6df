package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const (
	// awsCommand is the name by which this program stands in for AWS's command.
	awsCommand = "aws"
	// kmsLog is the variable with the path of a file that gets a line for each operation.
	kmsLog = "KMS_LOG"
)

// kms answers as AWS's command does for the only key of AWS's KMS: the ID is in KMS_KEY, and the region in AWS_REGION.
func kms(args []string, in io.Reader, out io.Writer) error {
	options := map[string]string{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		options[name] = value
	}
	key, region := os.Getenv("KMS_KEY"), os.Getenv("AWS_REGION")
	if len(args) < 2 || args[0] != "kms" {
		return errors.New("the stand-in knows kms encrypt and kms decrypt")
	}
	if options["--key-id"] != key || options["--region"] != region {
		return fmt.Errorf("an error occurred (NotFoundException): key '%s' does not exist in %s", options["--key-id"], options["--region"])
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	secret := sha256.Sum256([]byte(region + "/" + key))
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return err
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	answer := map[string][]byte{}
	switch {
	case args[1] == "encrypt" && options["--plaintext"] == "fileb:///dev/stdin":
		answer["CiphertextBlob"] = gcm.Seal(nil, nil, text, nil)
	case args[1] == "decrypt" && options["--ciphertext-blob"] == "fileb:///dev/stdin":
		if answer["Plaintext"], err = gcm.Open(nil, nil, text, nil); err != nil {
			return errors.New("an error occurred (InvalidCiphertextException)")
		}
	default:
		return fmt.Errorf("the stand-in knows kms encrypt and kms decrypt, of standard input, and not %q", args)
	}
	log, err := os.OpenFile(os.Getenv(kmsLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(log, args[1])
	return errors.Join(err, log.Close(), json.NewEncoder(out).Encode(answer))
}

// asked returns an error unless the log of the stand-in has both operations.
func asked(log string) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return fmt.Errorf("the key service was not asked: %w", err)
	}
	operations := strings.Fields(string(text))
	if !slices.Contains(operations, "encrypt") || !slices.Contains(operations, "decrypt") {
		return fmt.Errorf("the key service was asked to %s, and not to encrypt and decrypt", strings.Join(operations, ", "))
	}
	return nil
}
