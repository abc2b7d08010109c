// SPDX-License-Identifier: Apache-2.0

// Command screenshot takes the pictures of the page for docs, or with phone those of a narrow window:
//
//	go run ./internal/test/page/screenshot docs
//	go run ./internal/test/page/screenshot /tmp phone
package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/internal/test/page/browser"
	"github.com/spangate/spangate/internal/test/page/program"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: screenshot DIRECTORY [phone]")
		os.Exit(2)
	}
	if err := run(os.Args[1], len(os.Args) > 2); err != nil {
		fmt.Fprintln(os.Stderr, "screenshot:", err)
		os.Exit(1)
	}
}

// run writes the pictures into dir, in light and dark.
func run(dir string, phone bool) error {
	p, err := example()
	if err != nil {
		return err
	}
	defer p.Close()

	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		return err
	}
	defer os.RemoveAll(profile)
	ctx, stop, err := browser.Start(profile)
	if err != nil {
		return err
	}
	defer stop()
	tab, closeTab, err := browser.Open(ctx)
	if err != nil {
		return err
	}
	defer closeTab()

	name, width, height := "page", int64(1000), int64(1176)
	if phone {
		name, width, height = "page-phone", 360, 1480
	}
	for _, picture := range []struct{ scheme, name string }{{"light", name}, {"dark", name + "-dark"}} {
		err := cmp.Or(
			tab.Size(width, height, chromedp.EmulateScale(1.5)),
			tab.Prefer("prefers-color-scheme", picture.scheme),
			tab.Do(chromedp.Navigate(p.URL), chromedp.WaitVisible("#you")),
		)
		if err != nil {
			return err
		}
		png, err := tab.Screenshot()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, picture.name+".png"), png, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// example starts a program with leases and limits.
func example() (*program.Program, error) {
	p, err := program.Start(
		[]control.HandlerOption{control.Authorize(control.Anyone())},
		control.StartupBaseline(control.Baseline{Spec: "default,layer", Who: "environment", Why: "NEMO_GYM_OTEL_SPAN_GROUPS"}),
		control.Deny("pool"),
	)
	if err != nil {
		return nil, err
	}
	for _, l := range []struct {
		owner, spec, why string
		ttl              time.Duration
	}{
		{"ada", "sandbox", "tools time out on node 7", 5 * time.Minute},
		{"grace", "per_rollout", "", 28*time.Minute + 12*time.Second},
	} {
		if _, err := p.Lease(l.owner, l.spec, l.why, l.ttl); err != nil {
			return nil, err
		}
	}
	return p, nil
}
