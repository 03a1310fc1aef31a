module github.com/toolhost/toolhost/internal/test/others

go 1.26.0

require (
	github.com/google/go-containerregistry v0.22.1
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
)

require golang.org/x/text v0.14.0 // indirect
