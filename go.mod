module github.com/spangate/spangate

go 1.26.0

require (
	github.com/bits-and-blooms/bitset v1.29.0
	github.com/stretchr/testify v1.12.1
	go.opentelemetry.io/otel v1.47.0
	go.opentelemetry.io/otel/metric v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
	go.uber.org/goleak v1.3.0
	go.yaml.in/yaml/v3 v3.0.5
	golang.org/x/sys v0.50.0
	pgregory.net/rapid v1.3.0
)

require github.com/cespare/xxhash/v2 v2.3.0 // indirect
