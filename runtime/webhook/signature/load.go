package signature

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/outboxgen/outboxgen/runtime/webhook/internal/env"
)

// FilePrefix begins a reference to a secret in a file: file:/run/secrets/billing.
const FilePrefix = "file:"

// Load reads secrets, in order, from references:
//
//   - "${VAR}": the value of the environment variable, which may itself be a
//     file: reference;
//   - "file:PATH": the file's content without the white space around it; the
//     path may have variables in it;
//   - else the secret itself.
//
// Everything that is wrong is in the error, one line a fault, with the
// reference's index and, where it is not the secret itself, its text. No
// secret is in it.
func Load(references []string) ([]Secret, error) {
	secrets := make([]Secret, 0, len(references))
	var faults []error
	for i, reference := range references {
		secret, err := load(reference)
		if err != nil {
			where := fmt.Sprintf("secrets[%d]", i)
			if env.IsVariable(reference) || strings.HasPrefix(reference, FilePrefix) {
				where += " " + reference
			}
			faults = append(faults, fmt.Errorf("%s: %w", where, err))
			continue
		}
		secrets = append(secrets, secret)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return secrets, nil
}

func load(reference string) (Secret, error) {
	text, unset, err := env.Expand(reference, os.LookupEnv)
	if err != nil {
		return Secret{}, err
	}
	if len(unset) > 0 {
		return Secret{}, fmt.Errorf("environment variable not set: %s", strings.Join(unset, ", "))
	}
	if path, ok := strings.CutPrefix(text, FilePrefix); ok {
		content, err := os.ReadFile(path)
		if err != nil {
			return Secret{}, fmt.Errorf("read the secret's file: %w", err)
		}
		text = strings.TrimSpace(string(content))
	}
	return ParseSecret(text)
}
