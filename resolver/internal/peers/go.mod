module github.com/variform/variform/resolver/internal/peers

go 1.26.0

require (
	deps.dev/util/resolve v0.0.0-20260727054525-2946ae4a6141
	github.com/crillab/gophersat v1.4.0
	golang.org/x/sys v0.49.0 // indirect
)

require (
	deps.dev/api/v3 v3.0.0-20260225062937-bb3cf65ba738 // indirect
	deps.dev/util/maven v0.0.0-20260727054525-2946ae4a6141 // indirect
	deps.dev/util/pypi v0.0.0-20260727054525-2946ae4a6141 // indirect
	deps.dev/util/semver v0.0.0-20260727054525-2946ae4a6141 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260226221140-a57be14db171 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260226221140-a57be14db171 // indirect
	google.golang.org/grpc v1.81.1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

require (
	github.com/go-air/gini v1.0.4
	github.com/variform/variform v0.0.0
)

replace github.com/variform/variform => ../../..
