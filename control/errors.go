// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/internal/spec"
)

// The reasons for which a change is refused. A spec that is refused is a
// [*spangate.ParseError], which has the names that are not registered, or [ErrSpec].
var (
	// ErrControlled is a second controller of one registry.
	ErrControlled = plan.ErrControlled
	// ErrClosed is a change to a controller that has been closed, or that [New] did not make.
	ErrClosed = errors.New("closed")
	// ErrOwner is an owner, or a name of an author, that is empty or invisible where it must not
	// be, too long, or not a line of text.
	ErrOwner = errors.New("bad owner")
	// ErrWhy is a reason that is too long or not a line of text.
	ErrWhy = errors.New("bad reason")
	// ErrTTL is a time to live that is not more than 0, or more than is allowed.
	ErrTTL = errors.New("bad time to live")
	// ErrNoEffect is a lease that can do nothing: it neither adds nor quiets a group, and
	// keeps no pending name.
	ErrNoEffect = errors.New("lease without effect")
	// ErrDetail is a Share, Match or Revoke of a lease that it can't have, or that does not go with
	// another of its fields.
	ErrDetail = errors.New("bad detail")
	// ErrTooManyLeases is a lease for which there is no room, by number ([MaxLeases]) or by size
	// ([MaxLeasesLen]).
	ErrTooManyLeases = errors.New("too many leases")
	// ErrNoLease is a lease that never was or has ended.
	ErrNoLease = errors.New("no such lease")

	// errStale is a request whose If-Match is not the current generation.
	errStale = errors.New("the state is no longer of the generation in If-Match; get it again, and decide again")
)

// opQuiet is the Op of an [Error] about the Quiet of a [LeaseRequest].
const opQuiet = "quiet"

// Error says why something was refused; nothing was changed. It unwraps to its reason, such
// as [ErrTTL]. The zero Error has no reason.
type Error struct {
	// Op is what was refused: an operation, as in "new" or "lease", or the value of a field, as
	// in "owner" or "spec".
	Op string
	// Input is the value at fault, as given; it may be empty.
	Input string
	// Err is the reason, with its particulars.
	Err error
}

var _ error = (*Error)(nil)

// Error names the operation, the input, the reason and what to do.
func (e *Error) Error() string {
	s := "spangate/control: " + e.Op
	if e.Input != "" {
		s += " " + strconv.Quote(spec.Head(e.Input))
	}
	return fmt.Sprintf("%s: %v", s, e.Err) // the zero Error has no reason
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// because returns an error that wraps reason and explains it.
func because(reason error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{reason}, args...)...)
}
