// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain discards the default logger's records. Tests of records pass a logger.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}
