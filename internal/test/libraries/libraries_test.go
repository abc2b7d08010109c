// SPDX-License-Identifier: Apache-2.0

package libraries

import "slices"

var libraries = slices.Concat(httpLibraries, grpcLibraries, databaseLibraries, kafkaLibraries)
