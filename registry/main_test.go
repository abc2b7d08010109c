// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The registry's own records would drown what the tests have to say; those that are about
// records give a logger of their own.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}
