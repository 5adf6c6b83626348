//go:build !unix

package cli

import "errors"

func lock(string) (release func(), err error) { return nil, errors.ErrUnsupported }
