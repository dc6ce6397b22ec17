//go:build !linux

package render

import (
	"errors"
	"io"
)

// Helper runs a function in a container again and again; containers are Linux.
func Helper([]string, io.Reader, io.Writer) error {
	return errors.New("the container helper runs in Linux containers only")
}
