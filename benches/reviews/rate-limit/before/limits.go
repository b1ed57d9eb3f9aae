// Package limits bounds what users may do.
package limits

import "time"

const (
	calls  = 60
	window = time.Minute
)

// count is what one user did since a moment.
type count struct {
	since time.Time
	calls int
}
