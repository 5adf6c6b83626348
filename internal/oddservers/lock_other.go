//go:build !unix

package oddservers

import "errors"

func lock(string) (release func(), err error) { return nil, errors.ErrUnsupported }
