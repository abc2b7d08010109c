// SPDX-License-Identifier: Apache-2.0

// Package browser drives Chromium, and records requests, violations of the content security
// policy, exceptions and what is written to the console.
package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// ErrMissing means that Chromium is not installed.
var ErrMissing = errors.New("chromium is not installed: the tests of the page need it; apt-get install chromium-headless-shell, or chromium")

// Start starts Chromium with an empty profile in dir. Pass the context to Open; the function ends
// the browser.
func Start(dir string) (context.Context, context.CancelFunc, error) {
	path, err := exec.LookPath("chromium-headless-shell") // Chromium without windows, at half the cost
	if err != nil {
		path, err = exec.LookPath("chromium")
	}
	if err != nil {
		return nil, nil, ErrMissing
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.UserDataDir(dir),
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-sandbox", os.Geteuid() == 0), // Chromium refuses to run as root in one
	)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return ctx, func() { cancel(); stop() }, nil
}
