// SPDX-License-Identifier: Apache-2.0

package transparent

import (
	"context"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"

	"example.com/app/transparent/careful"
	"example.com/app/transparent/library"
)

const bitLibrary spangate.Mask = 1

var rules = otelgate.Rules{
	{Scope: "example.com/app/transparent/library", Group: bitLibrary, Transparent: true}, // want `package example.com/app/transparent/library ends spans that it fetches from the context`
	{Scope: "example.com/app/transparent/lib*", Group: bitLibrary, Transparent: true},    // want `while this rule is off, it ends its caller's span; remove Transparent`
	{Scope: "example.com/app/transparent/library", Group: bitLibrary},
	{Scope: "example.com/app/transparent/careful", Group: bitLibrary, Transparent: true},
	{Scope: "*", Group: bitLibrary, Transparent: true},
}

func views(ctx context.Context, provider *otelgate.TracerProvider) {
	library.New(provider.Transparent()) // want `while this view is off, it ends its caller's span; pass the provider itself`
	view := provider.Transparent()
	library.New(view) // want `while this view is off`
	library.New(provider)
	careful.Call(ctx, view)
}
