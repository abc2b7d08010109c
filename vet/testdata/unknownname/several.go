// SPDX-License-Identifier: Apache-2.0

package unknownname

import "flag"

func values() (string, string, string) { return "spans", "querry", "" }

// A call whose arguments are the results of another.
var several = flag.String(values())

func init() { _, _ = spansOf(several) }

func spansOf(spec *string) (any, error) { return extended.Parse(*several) }
