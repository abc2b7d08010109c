// SPDX-License-Identifier: Apache-2.0

// Package otelsdk has what a program adds to OpenTelemetry's SDK so that its traces stay whole:
// [EndOpenSpans] is a span processor that ends the spans that are open at shutdown, and
// [SampleOverridden] a sampler that samples the traces with an override. It is a module of its own,
// since a program that only starts spans does not need the SDK. Package gym is for the processes of a
// NeMo Gym job.
package otelsdk
