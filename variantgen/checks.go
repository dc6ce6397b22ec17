package variantgen

import (
	"errors"

	"github.com/variform/variform/api"
)

// Checks of computed entries; constants were checked by package api.

func checkLabel(k, v string) error      { return api.CheckLabel(k, v) }
func checkAnnotation(k, _ string) error { return api.CheckAnnotation(k) }
func checkContext(k, _ string) error    { return api.CheckContextKey(k) }

func checkKey(k, _ string) error {
	if k == "" {
		return errors.New("the key is empty")
	}
	return nil
}
