module github.com/spangate/spangate/vet

go 1.26.0

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/spangate/spangate v0.1.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/tools v0.52.0
)
